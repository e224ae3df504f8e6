#include "probes/spec.h"

namespace podwright::probes {

std::string expand(const std::string& text, const std::map<std::string, std::string>& env) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] != '$' || at + 1 == text.size()) {
      result += text[at++];
      continue;
    }
    const char second = text[at + 1];
    const std::size_t close = second == '(' ? text.find(')', at + 2) : std::string::npos;
    if (close == std::string::npos) {
      // "$$" is an escaped "$"; anything else, an open parenthesis without its other half too, stands for itself.
      result += second == '$' ? "$" : std::string{'$', second};
      at += 2;
      continue;
    }
    const auto found = env.find(text.substr(at + 2, close - at - 2));
    result += found == env.end() ? text.substr(at, close + 1 - at) : found->second;
    at = close + 1;
  }
  return result;
}

}  // namespace podwright::probes
