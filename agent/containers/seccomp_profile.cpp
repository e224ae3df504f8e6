#include "agent/containers/seccomp_profile.h"

#include <fcntl.h>
#include <seccomp.h>
#include <unistd.h>

#include <charconv>
#include <map>
#include <memory>

#include "api/document.h"
#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::containers {
namespace {

using api::Node;
using Kind = Node::Kind;

const std::map<std::string, uint32_t, std::less<>>& actions() {
  static const std::map<std::string, uint32_t, std::less<>> kActions = {
      {"SCMP_ACT_KILL", SCMP_ACT_KILL},
      {"SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS},
      {"SCMP_ACT_KILL_THREAD", SCMP_ACT_KILL_THREAD},
      {"SCMP_ACT_TRAP", SCMP_ACT_TRAP},
      {"SCMP_ACT_ERRNO", SCMP_ACT_ERRNO(1)},
      {"SCMP_ACT_TRACE", SCMP_ACT_TRACE(1)},
      {"SCMP_ACT_ALLOW", SCMP_ACT_ALLOW},
      {"SCMP_ACT_LOG", SCMP_ACT_LOG},
      {"SCMP_ACT_NOTIFY", SCMP_ACT_NOTIFY}};
  return kActions;
}

const std::map<std::string, scmp_compare, std::less<>>& operators() {
  static const std::map<std::string, scmp_compare, std::less<>> kOperators = {
      {"SCMP_CMP_NE", SCMP_CMP_NE},
      {"SCMP_CMP_LT", SCMP_CMP_LT},
      {"SCMP_CMP_LE", SCMP_CMP_LE},
      {"SCMP_CMP_EQ", SCMP_CMP_EQ},
      {"SCMP_CMP_GE", SCMP_CMP_GE},
      {"SCMP_CMP_GT", SCMP_CMP_GT},
      {"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ}};
  return kOperators;
}

const std::map<std::string, uint32_t, std::less<>>& architectures() {
  static const std::map<std::string, uint32_t, std::less<>> kArchitectures = {
      {"SCMP_ARCH_X86", SCMP_ARCH_X86},
      {"SCMP_ARCH_X86_64", SCMP_ARCH_X86_64},
      {"SCMP_ARCH_X32", SCMP_ARCH_X32},
      {"SCMP_ARCH_ARM", SCMP_ARCH_ARM},
      {"SCMP_ARCH_AARCH64", SCMP_ARCH_AARCH64},
      {"SCMP_ARCH_MIPS", SCMP_ARCH_MIPS},
      {"SCMP_ARCH_MIPS64", SCMP_ARCH_MIPS64},
      {"SCMP_ARCH_MIPS64N32", SCMP_ARCH_MIPS64N32},
      {"SCMP_ARCH_MIPSEL", SCMP_ARCH_MIPSEL},
      {"SCMP_ARCH_MIPSEL64", SCMP_ARCH_MIPSEL64},
      {"SCMP_ARCH_MIPSEL64N32", SCMP_ARCH_MIPSEL64N32},
      {"SCMP_ARCH_PPC", SCMP_ARCH_PPC},
      {"SCMP_ARCH_PPC64", SCMP_ARCH_PPC64},
      {"SCMP_ARCH_PPC64LE", SCMP_ARCH_PPC64LE},
      {"SCMP_ARCH_S390", SCMP_ARCH_S390},
      {"SCMP_ARCH_S390X", SCMP_ARCH_S390X},
      {"SCMP_ARCH_PARISC", SCMP_ARCH_PARISC},
      {"SCMP_ARCH_PARISC64", SCMP_ARCH_PARISC64},
      {"SCMP_ARCH_RISCV64", SCMP_ARCH_RISCV64}};
  return kArchitectures;
}

class Checker {
 public:
  std::vector<std::string> check(const Node& profile) {
    if (!profile.is_map()) {
      tell(profile, "", "a profile is a JSON object");
      return std::move(problems_);
    }
    const Node* fallback = profile.find("defaultAction");
    if (fallback == nullptr) {
      tell(profile, "defaultAction", "missing; name the action of system calls that no rule names");
      return std::move(problems_);
    }
    const auto action = action_of(*fallback, "defaultAction");
    check_architectures(profile);
    // SCMP_ACT_NOTIFY cannot be a default of libseccomp's; the runtime refuses it too.
    filter_.reset(action ? seccomp_init(*action) : nullptr);
    if (action && !filter_) tell(*fallback, "defaultAction", "libseccomp does not take this action as a default");
    const Node* rules = profile.find("syscalls");
    if (rules != nullptr && rules->kind != Kind::kNull) {
      if (rules->kind != Kind::kList) {
        tell(*rules, "syscalls", "expected a list");
      } else {
        for (std::size_t i = 0; i < rules->items.size(); ++i)
          check_rule(rules->items[i], fmt::format("syscalls[{}]", i), action);
      }
    }
    if (problems_.empty()) compile(profile);
    return std::move(problems_);
  }

 private:
  struct Release {
    void operator()(void* filter) const { seccomp_release(filter); }
  };

  void tell(const Node& node, const std::string& path, const std::string& what) {
    const std::string where = node.line > 0 ? fmt::format("line {}: ", node.line) : "";
    problems_.push_back(where + (path.empty() ? what : path + ": " + what));
  }

  std::optional<uint32_t> action_of(const Node& node, const std::string& path) {
    const auto found = node.kind == Kind::kString ? actions().find(node.text) : actions().end();
    if (found != actions().end()) return found->second;
    tell(node, path, fmt::format("no such action: {}", node.text));
    return std::nullopt;
  }

  void check_architectures(const Node& profile) {
    const auto check_one = [this](const Node& node, const std::string& path) {
      if (node.kind == Kind::kString && architectures().contains(node.text)) return;
      tell(node, path, fmt::format("no such architecture: {}", node.text));
    };
    if (const Node* list = profile.find("architectures"); list != nullptr) {
      for (std::size_t i = 0; i < list->items.size(); ++i)
        check_one(list->items[i], fmt::format("architectures[{}]", i));
    }
    if (const Node* maps = profile.find("archMap"); maps != nullptr) {
      for (std::size_t i = 0; i < maps->items.size(); ++i) {
        const std::string path = fmt::format("archMap[{}]", i);
        if (const Node* main = maps->items[i].find("architecture"); main != nullptr)
          check_one(*main, path + ".architecture");
        const Node* subs = maps->items[i].find("subArchitectures");
        for (std::size_t k = 0; subs != nullptr && k < subs->items.size(); ++k) {
          check_one(subs->items[k], fmt::format("{}.subArchitectures[{}]", path, k));
        }
      }
    }
  }

  std::optional<uint64_t> number(const Node* node, const std::string& path, uint64_t most) {
    if (node == nullptr) return 0;
    uint64_t value = 0;
    const char* end = node->text.data() + node->text.size();
    const auto [stop, error] = std::from_chars(node->text.data(), end, value);
    if (node->kind == Kind::kNumber && error == std::errc() && stop == end && value <= most) return value;
    tell(*node, path, fmt::format("expected a number from 0 to {}", most));
    return std::nullopt;
  }

  void check_rule(const Node& rule, const std::string& path, std::optional<uint32_t> fallback) {
    const Node* action_node = rule.find("action");
    if (action_node == nullptr) {
      tell(rule, path + ".action", "missing");
      return;
    }
    auto action = action_of(*action_node, path + ".action");
    if (const Node* code = rule.find("errnoRet"); code != nullptr && code->kind != Kind::kNull) {
      const auto value = number(code, path + ".errnoRet", 4095);
      if (action && value && action_node->text == "SCMP_ACT_ERRNO")
        action = SCMP_ACT_ERRNO(static_cast<uint32_t>(*value));
    }
    std::vector<scmp_arg_cmp> conditions;
    if (const Node* args = rule.find("args"); args != nullptr) {
      for (std::size_t i = 0; i < args->items.size(); ++i) {
        const Node& arg = args->items[i];
        const std::string where = fmt::format("{}.args[{}]", path, i);
        const auto index = number(arg.find("index"), where + ".index", 5);
        const auto value = number(arg.find("value"), where + ".value", UINT64_MAX);
        const auto two = number(arg.find("valueTwo"), where + ".valueTwo", UINT64_MAX);
        const Node* op = arg.find("op");
        const auto found = op == nullptr ? operators().end() : operators().find(op->text);
        if (found == operators().end()) {
          tell(arg, where + ".op", op == nullptr ? "missing" : fmt::format("no such operator: {}", op->text));
          continue;
        }
        if (index && value && two) {
          conditions.push_back({static_cast<unsigned>(*index), found->second, *value, *two});
        }
      }
    }
    std::vector<std::pair<const Node*, std::string>> names;
    if (const Node* name = rule.find("name"); name != nullptr) names.emplace_back(name, path + ".name");
    if (const Node* list = rule.find("names"); list != nullptr) {
      for (std::size_t i = 0; i < list->items.size(); ++i)
        names.emplace_back(&list->items[i], fmt::format("{}.names[{}]", path, i));
    }
    if (names.empty()) tell(rule, path + ".names", "missing");
    for (const auto& [node, where] : names) {
      const int number =
          node->kind == Kind::kString ? seccomp_syscall_resolve_name(node->text.c_str()) : __NR_SCMP_ERROR;
      if (number == __NR_SCMP_ERROR) {
        tell(*node, where, fmt::format("no such system call: {}", node->text));
        continue;
      }
      // A rule that says what holds anyway is allowed in profiles and refused by the library.
      if (!filter_ || !action || action == fallback) continue;
      const int added = seccomp_rule_add_array(filter_.get(), *action, number, static_cast<unsigned>(conditions.size()),
                                               conditions.data());
      if (added != 0 && added != -EEXIST) {
        tell(*node, where, fmt::format("libseccomp refuses the rule: {}", errno_name(-added)));
      }
    }
  }

  // The filter is really made: what the kernel could not take shows here.
  void compile(const Node& profile) {
    if (!filter_) return;
    const int sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (sink < 0) return;
    const int result = seccomp_export_bpf(filter_.get(), sink);
    close(sink);
    if (result != 0) tell(profile, "", fmt::format("the filter cannot be compiled: {}", errno_name(-result)));
  }

  std::vector<std::string> problems_;
  std::unique_ptr<void, Release> filter_;
};

}  // namespace

std::vector<std::string> check_seccomp_profile(std::string_view text) {
  const auto profile = api::parse_json(text);
  if (!profile.ok()) return {text_of(profile.status())};
  return Checker().check(*profile);
}

absl::Status check_seccomp_file(Tree& tree, const std::string& root, const std::string& name) {
  const auto text = tree.read_beneath(root, name, limits::kDocumentBytes);
  if (!text.ok()) return annotate(text.status(), "seccomp profile {}", name);
  const auto problems = check_seccomp_profile(*text);
  if (problems.empty()) return absl::OkStatus();
  std::string all;
  for (const auto& problem : problems) all += (all.empty() ? "" : "; ") + problem;
  return make_status(absl::StatusCode::kInvalidArgument, "seccomp profile {}: {}", join_path(root, name), all);
}

}  // namespace podwright::containers
