// The agent's log. One line for each state change at the default level, so that the log is the story of a pod; more
// with -v, as klog has it: 2 decisions with their reason, 4 every step's begin and end, 6 calls with sizes, 8 bodies
// with secrets masked. A message is a fixed string; what varies goes into fields.
//
//   log_info(pod, "pulled image", {{"image", ref}, {"duration_ms", ms}});
//   log_v(4, pod, "step begins", {{"step", name}});
//
// Lines go through a bounded ring to one writer thread; when it is full the oldest are dropped, counted and reported.
// Text has klog's header (I1201 03:06:00.000000 pid file.cpp:12] "message" key="value"), JSON klog's keys. Any thread
// may log.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time/time.h"

namespace podwright {

// One key and its value, already text. Numbers and booleans are written without quotes.
struct LogField {
  std::string key;
  std::string value;
  bool quoted = true;

  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  LogField(std::string_view k, bool v) : key(k), value(v ? "true" : "false"), quoted(false) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  LogField(std::string_view k, T v) : key(k), value(fmt::format("{}", v)), quoted(false) {}
  LogField(std::string_view k, Duration v) : key(k), value(to_text(v)) {}
  template <class T>
    requires(fmt::is_formattable<T>::value && !std::is_arithmetic_v<T> && !std::is_convertible_v<T, std::string_view>)
  LogField(std::string_view k, const T& v) : key(k), value(fmt::format("{}", v)) {}
};

// Who a line is about: the keys that come first (pod, uid, container, sandbox_id, plugin, source ...). Cheap to copy.
class LogSubject {
 public:
  LogSubject() = default;
  LogSubject(std::initializer_list<LogField> fields) : fields_(std::make_shared<std::vector<LogField>>(fields)) {}

  // The same subject with one key more.
  LogSubject with(LogField field) const;

  const std::vector<LogField>& fields() const;

 private:
  std::shared_ptr<const std::vector<LogField>> fields_;
};

enum class LogSeverity { kInfo, kWarning, kError, kFatal };
enum class LogFormat { kText, kJson };

// A finished line on its way to the writer.
struct LogLine {
  LogSeverity severity = LogSeverity::kInfo;
  int verbosity = 0;
  WallTime time;
  std::string file;
  uint32_t line = 0;
  std::string message;
  LogSubject subject;
  std::vector<LogField> fields;
};

std::string to_text_line(const LogLine& line, int pid);
std::string to_json_line(const LogLine& line);

void log_info(const LogSubject& who, std::string_view message, std::initializer_list<LogField> fields = {},
              std::source_location where = std::source_location::current());
void log_warning(const LogSubject& who, std::string_view message, std::initializer_list<LogField> fields = {},
                 std::source_location where = std::source_location::current());
void log_error(const LogSubject& who, std::string_view message, std::initializer_list<LogField> fields = {},
               std::source_location where = std::source_location::current());
// Written only where the verbosity of the file (-v, --vmodule) is at least `level`.
void log_v(int level, const LogSubject& who, std::string_view message, std::initializer_list<LogField> fields = {},
           std::source_location where = std::source_location::current());

// Whether log_v(level, ...) in this file would write: a guard for lines that are costly to make.
bool log_enabled(int level, std::source_location where = std::source_location::current());

// Writes the line, flushes the log and aborts.
[[noreturn]] void log_fatal(const LogSubject& who, std::string_view message,
                            std::initializer_list<LogField> fields = {},
                            std::source_location where = std::source_location::current());

// The process-wide settings; each may change while running.
void set_log_verbosity(int level);
int log_verbosity();
// klog's --vmodule: "pod_worker=6,http_*=4", matched against file names without their ending. False where malformed.
bool set_log_vmodule(std::string_view patterns);
void set_log_format(LogFormat format);
// Where times come from; null (the start) means the machine's wall clock. For the simulation.
void set_log_clock(const Clock* clock);
// Where lines go instead of stderr; null restores it. Called on the writer thread, or on the caller's while no writer
// runs. For tests, the journal and the debug page.
void set_log_output(std::function<void(const LogLine&, const std::string& text)> output);
// Without a writer, lines are written by the caller at once (tests, the command line); the agent starts one.
void start_log_writer();
// Writes what is in the ring; ends the writer.
void stop_log_writer();
// Waits until what was logged so far is written.
void flush_log();
// Lines dropped so far because the ring was full.
uint64_t dropped_log_lines();
// Since when the writer has been busy with one line; nothing where it is idle. For the health check `log`.
std::optional<Instant> log_writer_stuck_since();

}  // namespace podwright
