#include <doctest/doctest.h>

#include <memory>

#include "agent/server/log_cursor.h"
#include "base/limits.h"
#include "base/status/annotate.h"
#include "tests/agent/server/memory_logs.h"

using namespace podwright;
using namespace podwright::server;

namespace {

std::unique_ptr<LogCursor> open(MemoryLogs& logs, LogOptions options = {}) {
  auto cursor = LogCursor::open(logs, "d", "0.log", options);
  REQUIRE_MESSAGE(cursor.ok(), cursor.status().ToString());
  return *std::move(cursor);
}

std::string all_of(LogCursor& cursor) {
  std::string all;
  while (true) {
    const auto some = cursor.read();
    REQUIRE(some.ok());
    if (some->empty()) return all;
    all += *some;
  }
}

std::string numbers(int from, int to) {
  std::string all;
  for (int i = from; i < to; ++i) all += fmt::format("{}\n", i);
  return all;
}

}  // namespace

TEST_CASE("lines of the CRI form are told from others") {
  const auto line = parse_cri_line("2026-01-01T00:00:00.5Z stderr P some text ");
  REQUIRE(line);
  CHECK(line->time == "2026-01-01T00:00:00.5Z");
  CHECK(line->is_stderr);
  CHECK(line->partial);
  CHECK(line->text == "some text ");
  CHECK(parse_cri_line("2026-01-01T00:00:00Z stdout F")->text.empty());
  CHECK(parse_cri_line("2026-01-01T00:00:00Z stdout P:more x")->partial);
  for (const char* bad : {"", "x", "2026 stdout", "2026 stdin F x", "2026 stdout Q x", " stdout F x"}) {
    CHECK_FALSE(parse_cri_line(bad));
  }
}

TEST_CASE("times are read with any fraction and offset") {
  const auto base = parse_rfc3339("2026-12-01T05:18:03Z");
  REQUIRE(base);
  CHECK(to_rfc3339(*base) == "2026-12-01T05:18:03Z");
  CHECK(*parse_rfc3339("2026-12-01T06:18:03.000000001+01:00") == *base + Duration(1));
  CHECK(*parse_rfc3339("2026-12-01T00:18:03.5-05:00") == *base + 500ms);
  for (const char* bad :
       {"", "2026-12-01", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-12-01T24:00:00Z", "2026-12-01T05:18:03",
        "2026-12-01T05:18:03.Z", "2026-12-01t05:18:03Z", "9999-12-01T00:00:00Z"}) {
    CHECK_FALSE(parse_rfc3339(bad));
  }
}

TEST_CASE("pieces of a line are joined, and each line has one time") {
  LogLinePrinter printer({.timestamps = true});
  std::string out;

  printer.print("T1 stdout P ab", out);
  printer.print("T2 stdout F cd", out);
  printer.print("T3 stderr F e", out);
  printer.print("not of the form", out);

  CHECK(out == "T1 abcd\nT3 e\nnot of the form\n");
}

TEST_CASE("lines before the asked time are left out, whole") {
  LogLinePrinter printer({.since = parse_rfc3339("2026-01-01T00:00:01Z")});
  std::string out;

  printer.print("2026-01-01T00:00:00Z stdout P old", out);
  printer.print("2026-01-01T00:00:02Z stdout F er", out);
  printer.print("2026-01-01T00:00:02Z stdout F new", out);

  CHECK(out == "new\n");
}

TEST_CASE("a log is read over all its files, oldest first") {
  MemoryLogs logs;
  for (int i = 0; i < 10; ++i) logs.line(i);
  logs.rotate("1");
  for (int i = 10; i < 20; ++i) logs.line(i);
  logs.rotate("2");
  logs.compress("1");
  for (int i = 20; i < 30; ++i) logs.line(i);

  CHECK(all_of(*open(logs)) == numbers(0, 30));
  for (const int tail : {0, 1, 9, 10, 11, 20, 25, 30, 99}) {
    CAPTURE(tail);
    CHECK(all_of(*open(logs, {.tail_lines = tail})) == numbers(std::max(0, 30 - tail), 30));
  }
  CHECK(all_of(*open(logs, {.since = parse_rfc3339("2026-01-01T00:00:00.000000015Z")})) == numbers(15, 30));
  CHECK(all_of(*open(logs, {.limit_bytes = 5})) == "0\n1\n2");
}

TEST_CASE("the tail counts joined lines, over blocks") {
  MemoryLogs logs;
  for (int i = 0; i < 20000; ++i) logs.line(i, i % 2 == 0 ? "P" : "F");

  for (const bool compressed : {false, true}) {
    logs.file("0.log").compressed = compressed;
    for (const int tail : {1, 2, 700, 9999, 10000, 10001}) {
      CAPTURE(tail);
      const std::string text = all_of(*open(logs, {.tail_lines = tail}));
      CHECK(std::count(text.begin(), text.end(), '\n') == std::min(tail, 10000));
      CHECK(text.ends_with("1999819999\n"));
    }
  }
}

TEST_CASE("a follower gets every line once, in order, over rotations") {
  MemoryLogs logs;
  logs.line(0);
  const auto cursor = open(logs, {.follow = true});
  std::string seen = all_of(*cursor);

  SUBCASE("one at a time") {
    for (int i = 1; i < 50; ++i) {
      logs.line(i);
      if (i % 7 == 0) logs.rotate(fmt::format("{:03}", i));
      seen += all_of(*cursor);
    }
    CHECK(seen == numbers(0, 50));
  }
  SUBCASE("two between two reads") {
    for (int i = 1; i < 10; ++i) logs.line(i);
    logs.rotate("1");
    for (int i = 10; i < 20; ++i) logs.line(i);
    logs.rotate("2");
    for (int i = 20; i < 30; ++i) logs.line(i);
    seen += all_of(*cursor);
    CHECK(seen == numbers(0, 30));
  }
  SUBCASE("the held file was compressed meanwhile") {
    logs.line(1);
    logs.rotate("1");
    logs.line(2);
    logs.rotate("2");
    logs.compress("1");
    logs.line(3);
    seen += all_of(*cursor);
    CHECK(seen == numbers(0, 4));
  }
  SUBCASE("a file that was deleted before it was read is told of") {
    logs.rotate("1");
    logs.line(1);
    logs.rotate("2");
    logs.line(2);
    logs.files.erase("0.log.1");
    logs.files.erase("0.log.2");
    seen += all_of(*cursor);
    CHECK(seen == "0\npodwright: lines are missing here: the log was rotated more often than files are kept\n2\n");
  }
  SUBCASE("a line is given out only once it is complete") {
    logs.file("0.log").bytes += "2026-01-01T00:00:00.000000001Z stdout F 1";
    CHECK(all_of(*cursor).empty());
    logs.file("0.log").bytes += "\n";
    CHECK(all_of(*cursor) == "1\n");
  }
  SUBCASE("the old file is read until the new one is used") {
    logs.rotate("1");
    CHECK(all_of(*cursor).empty());
    logs.file("0.log.1").bytes += "2026-01-01T00:00:00.000000001Z stdout F 1\n";
    CHECK(all_of(*cursor) == "1\n");
    logs.line(2);
    CHECK(all_of(*cursor) == "2\n");
  }
}

TEST_CASE("a line beyond the bound is cut, and said to be") {
  MemoryLogs logs;
  logs.file("0.log").bytes = "2026-01-01T00:00:00Z stdout F " + std::string(3 << 20, 'x') + "\n";
  logs.line(1);

  const std::string text = all_of(*open(logs));

  CHECK(text.size() < limits::kLogLineBytes + 200);
  CHECK(text.ends_with("xx\npodwright: a line longer than 1 MiB was cut here\n1\n"));
}

TEST_CASE("a container without any log file is told of") {
  MemoryLogs logs;

  CHECK(absl::IsNotFound(LogCursor::open(logs, "d", "0.log", {}).status()));
}
