#include "base/log/log.h"

#include <fnmatch.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace podwright {
namespace {

// Lines that wait for the writer. 16 Ki lines of some 200 bytes stay below 4 MiB.
constexpr std::size_t kRingLines = 16 << 10;

struct VModule {
  std::string pattern;
  int level;
};

struct State {
  std::atomic<int> verbosity{0};
  std::atomic<LogFormat> format{LogFormat::kText};
  std::atomic<const Clock*> clock{nullptr};
  std::shared_ptr<const std::vector<VModule>> vmodule;  // replaced whole (std::atomic_load/store)
  std::atomic<bool> has_vmodule{false};
  std::atomic<int> pid{0};

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<LogLine> ring;                                        // guarded by mutex
  std::function<void(const LogLine&, const std::string&)> output;  // guarded by mutex
  bool writer_runs = false;                                        // guarded by mutex
  bool stopping = false;                                           // guarded by mutex
  bool writing = false;                                            // guarded by mutex
  std::atomic<uint64_t> dropped{0};
  uint64_t reported = 0;  // guarded by mutex
  std::atomic<int64_t> busy_since{0};
  std::thread writer;
};

State& state() {
  static State* const kState = new State();  // never destroyed: other threads may log until the very end
  return *kState;
}

std::string base_name(const char* path) {
  const std::string_view view(path);
  const auto slash = view.rfind('/');
  return std::string(slash == std::string_view::npos ? view : view.substr(slash + 1));
}

int verbosity_for(const std::source_location& where) {
  State& s = state();
  if (!s.has_vmodule.load(std::memory_order_relaxed)) return s.verbosity.load(std::memory_order_relaxed);
  const auto modules = std::atomic_load(&s.vmodule);
  std::string stem = base_name(where.file_name());
  stem = stem.substr(0, stem.find('.'));
  for (const auto& module : *modules) {
    if (fnmatch(module.pattern.c_str(), stem.c_str(), 0) == 0) return module.level;
  }
  return s.verbosity.load(std::memory_order_relaxed);
}

void write_out(const LogLine& line, const std::function<void(const LogLine&, const std::string&)>& output) {
  State& s = state();
  if (s.pid.load() == 0) s.pid = getpid();
  std::string text = s.format.load() == LogFormat::kJson ? to_json_line(line) : to_text_line(line, s.pid.load());
  if (output) {
    output(line, text);
    return;
  }
  text += '\n';
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(STDERR_FILENO, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // stderr is gone: there is nobody left to tell
    done += static_cast<std::size_t>(wrote);
  }
}

void serve() {
  State& s = state();
  std::unique_lock lock(s.mutex);
  while (true) {
    s.changed.wait(lock, [&s] { return s.stopping || !s.ring.empty(); });
    if (s.ring.empty()) return;
    std::deque<LogLine> batch;
    batch.swap(s.ring);
    const auto output = s.output;
    s.writing = true;
    const uint64_t dropped = s.dropped.load() - s.reported;
    s.reported += dropped;
    lock.unlock();
    if (dropped > 0) {
      LogLine note;
      note.severity = LogSeverity::kWarning;
      note.time = SystemClock().wall();
      note.file = "log.cpp";
      note.line = __LINE__;
      note.message = "log lines dropped, the writer could not keep up";
      note.fields.emplace_back("lines", dropped);
      write_out(note, output);
    }
    for (const auto& line : batch) {
      s.busy_since = SystemClock().now().time_since_epoch().count();
      write_out(line, output);
    }
    s.busy_since = 0;
    lock.lock();
    s.writing = false;
    s.changed.notify_all();
  }
}

void emit(LogSeverity severity, int level, const LogSubject& who, std::string_view message,
          std::initializer_list<LogField> fields, const std::source_location& where) {
  State& s = state();
  LogLine line;
  line.severity = severity;
  line.verbosity = level;
  const Clock* clock = s.clock.load();
  line.time = clock != nullptr ? clock->wall() : SystemClock().wall();
  line.file = base_name(where.file_name());
  line.line = where.line();
  line.message = message;
  line.subject = who;
  line.fields = fields;
  std::unique_lock lock(s.mutex);
  if (!s.writer_runs) {
    const auto output = s.output;
    write_out(line, output);
    return;
  }
  if (s.ring.size() >= kRingLines) {
    s.ring.pop_front();
    ++s.dropped;
  }
  s.ring.push_back(std::move(line));
  s.changed.notify_all();
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

tm utc_parts(WallTime time, int64_t* micros) {
  const int64_t us = std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count();
  const time_t seconds = us / 1'000'000 - (us % 1'000'000 < 0 ? 1 : 0);
  *micros = us - int64_t{seconds} * 1'000'000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

LogSubject LogSubject::with(LogField field) const {
  auto fields = fields_ ? std::make_shared<std::vector<LogField>>(*fields_) : std::make_shared<std::vector<LogField>>();
  fields->push_back(std::move(field));
  LogSubject more;
  more.fields_ = std::move(fields);
  return more;
}

const std::vector<LogField>& LogSubject::fields() const {
  static const std::vector<LogField> kNone;
  return fields_ ? *fields_ : kNone;
}

std::string to_text_line(const LogLine& line, int pid) {
  int64_t micros = 0;
  const tm parts = utc_parts(line.time, &micros);
  static constexpr char kLetters[] = {'I', 'W', 'E', 'F'};
  std::string out = fmt::format("{}{:02}{:02} {:02}:{:02}:{:02}.{:06} {:7} {}:{}] ",
                                kLetters[static_cast<int>(line.severity)], parts.tm_mon + 1, parts.tm_mday,
                                parts.tm_hour, parts.tm_min, parts.tm_sec, micros, pid, line.file, line.line);
  append_quoted(out, line.message);
  const auto append = [&out](const LogField& field) {
    out += ' ';
    out += field.key;
    out += '=';
    if (field.quoted) {
      append_quoted(out, field.value);
    } else {
      out += field.value;
    }
  };
  for (const auto& field : line.subject.fields()) append(field);
  for (const auto& field : line.fields) append(field);
  return out;
}

std::string to_json_line(const LogLine& line) {
  const int64_t us = std::chrono::floor<std::chrono::microseconds>(line.time.time_since_epoch()).count();
  std::string out = fmt::format("{{\"ts\":{}.{:03}", us / 1000, us % 1000);
  out += ",\"caller\":";
  append_quoted(out, fmt::format("{}:{}", line.file, line.line));
  out += ",\"msg\":";
  append_quoted(out, line.message);
  if (line.severity == LogSeverity::kInfo) {
    out += fmt::format(",\"v\":{}", line.verbosity);
  } else if (line.severity == LogSeverity::kWarning) {
    out += ",\"v\":0,\"severity\":\"warning\"";
  } else {
    out += line.severity == LogSeverity::kError ? ",\"severity\":\"error\"" : ",\"severity\":\"fatal\"";
  }
  const auto append = [&out](const LogField& field) {
    out += ',';
    append_quoted(out, field.key);
    out += ':';
    if (field.quoted) {
      append_quoted(out, field.value);
    } else {
      out += field.value;
    }
  };
  for (const auto& field : line.subject.fields()) append(field);
  for (const auto& field : line.fields) append(field);
  out += '}';
  return out;
}

void log_info(const LogSubject& who, std::string_view message, std::initializer_list<LogField> fields,
              std::source_location where) {
  emit(LogSeverity::kInfo, 0, who, message, fields, where);
}

void log_warning(const LogSubject& who, std::string_view message, std::initializer_list<LogField> fields,
                 std::source_location where) {
  emit(LogSeverity::kWarning, 0, who, message, fields, where);
}

void log_error(const LogSubject& who, std::string_view message, std::initializer_list<LogField> fields,
               std::source_location where) {
  emit(LogSeverity::kError, 0, who, message, fields, where);
}

void log_v(int level, const LogSubject& who, std::string_view message, std::initializer_list<LogField> fields,
           std::source_location where) {
  if (!log_enabled(level, where)) return;
  emit(LogSeverity::kInfo, level, who, message, fields, where);
}

bool log_enabled(int level, std::source_location where) {
  return verbosity_for(where) >= level;
}

void log_fatal(const LogSubject& who, std::string_view message, std::initializer_list<LogField> fields,
               std::source_location where) {
  emit(LogSeverity::kFatal, 0, who, message, fields, where);
  flush_log();
  std::abort();
}

void set_log_verbosity(int level) {
  state().verbosity = level;
}
int log_verbosity() {
  return state().verbosity;
}

bool set_log_vmodule(std::string_view patterns) {
  auto modules = std::make_shared<std::vector<VModule>>();
  while (!patterns.empty()) {
    const auto comma = patterns.find(',');
    const std::string_view one = patterns.substr(0, comma);
    patterns = comma == std::string_view::npos ? std::string_view() : patterns.substr(comma + 1);
    if (one.empty()) continue;
    const auto equals = one.find('=');
    if (equals == 0 || equals == std::string_view::npos || equals + 1 == one.size()) return false;
    int level = 0;
    for (const char c : one.substr(equals + 1)) {
      if (c < '0' || c > '9' || level > 1000) return false;
      level = level * 10 + (c - '0');
    }
    modules->push_back({std::string(one.substr(0, equals)), level});
  }
  const bool any = !modules->empty();
  std::atomic_store(&state().vmodule, std::shared_ptr<const std::vector<VModule>>(std::move(modules)));
  state().has_vmodule = any;
  return true;
}

void set_log_format(LogFormat format) {
  state().format = format;
}
void set_log_clock(const Clock* clock) {
  state().clock = clock;
}

void set_log_output(std::function<void(const LogLine&, const std::string&)> output) {
  const std::lock_guard lock(state().mutex);
  state().output = std::move(output);
}

void start_log_writer() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.writer_runs) return;
  s.writer_runs = true;
  s.stopping = false;
  s.writer = std::thread(serve);
}

void stop_log_writer() {
  State& s = state();
  {
    const std::lock_guard lock(s.mutex);
    if (!s.writer_runs) return;
    s.stopping = true;
    s.changed.notify_all();
  }
  s.writer.join();
  const std::lock_guard lock(s.mutex);
  s.writer_runs = false;
}

void flush_log() {
  State& s = state();
  std::unique_lock lock(s.mutex);
  if (!s.writer_runs) return;
  s.changed.wait(lock, [&s] { return s.ring.empty() && !s.writing; });
}

uint64_t dropped_log_lines() {
  return state().dropped;
}

std::optional<Instant> log_writer_stuck_since() {
  const int64_t since = state().busy_since;
  if (since == 0) return std::nullopt;
  return Instant(Duration(since));
}

}  // namespace podwright
