#include "base/log/log.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace podwright;

namespace {

LogLine a_line() {
  LogLine line;
  line.time = WallTime(Duration(1'767'225'600'000'000'000) + 1500us);
  line.file = "pod_worker.cpp";
  line.line = 12;
  line.message = "pulled image";
  line.subject = LogSubject{{"pod", "default/web"}};
  line.fields = {{"image", "box:\"1\""}, {"duration_ms", 1.5}, {"ok", true}};
  return line;
}

}  // namespace

TEST_CASE("a text line has klog's header") {
  CHECK(to_text_line(a_line(), 42) ==
        "I0101 00:00:00.001500      42 pod_worker.cpp:12] \"pulled image\" pod=\"default/web\" image=\"box:\\\"1\\\"\" "
        "duration_ms=1.5 ok=true");
}

TEST_CASE("a JSON line has klog's keys") {
  CHECK(to_json_line(a_line()) ==
        "{\"ts\":1767225600001.500,\"caller\":\"pod_worker.cpp:12\",\"msg\":\"pulled image\",\"v\":0,"
        "\"pod\":\"default/web\",\"image\":\"box:\\\"1\\\"\",\"duration_ms\":1.5,\"ok\":true}");
}

TEST_CASE("verbosity can be raised for one file alone") {
  set_log_verbosity(2);
  CHECK(set_log_vmodule("log_*=6,other=1"));
  CHECK(log_enabled(6));
  CHECK(set_log_vmodule("other=9"));
  CHECK_FALSE(log_enabled(3));
  CHECK(log_enabled(2));
  CHECK_FALSE(set_log_vmodule("no-level"));
  CHECK_FALSE(set_log_vmodule("x=abc"));
  CHECK(set_log_vmodule(""));
  set_log_verbosity(0);
}

TEST_CASE("a writer that cannot keep up drops the oldest lines and says how many") {
  std::mutex gate;
  std::vector<std::string> written;
  gate.lock();
  set_log_output([&](const LogLine& line, const std::string&) {
    const std::lock_guard wait(gate);
    written.push_back(line.message);
  });
  start_log_writer();

  const LogSubject nobody;
  for (int i = 0; i < 20'000; ++i) log_info(nobody, i == 19'999 ? "last" : "line");
  CHECK(dropped_log_lines() > 0);
  gate.unlock();
  stop_log_writer();
  set_log_output(nullptr);

  CHECK(written.size() < 20'000);
  CHECK(written.back() == "last");
  CHECK(std::count(written.begin(), written.end(), "log lines dropped, the writer could not keep up") >= 1);
}
