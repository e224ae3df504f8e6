#include "base/http/message.h"

#include <doctest/doctest.h>

#include "base/http/parse.h"
#include "base/http/url.h"

using namespace podwright;

TEST_CASE("a target's path and query are decoded") {
  const auto target = parse_target("/pods/a%2Fb?follow&tail=5&x=a+b%26");

  REQUIRE(target.ok());
  CHECK(target->path == "/pods/a/b");
  CHECK(target->query ==
        std::vector<std::pair<std::string, std::string>>{{"follow", ""}, {"tail", "5"}, {"x", "a b&"}});
}

TEST_CASE("targets that are malformed or leave the root are refused") {
  for (const char* wrong : {"", "pods", "/%zz", "/%2", "/a/../../etc", "/%2e%2e/x", "/a%00", "http://x/"}) {
    CAPTURE(wrong);
    CHECK(absl::IsInvalidArgument(parse_target(wrong).status()));
  }
}

TEST_CASE("headers compare without case and keep their order") {
  Headers headers{{"A", "1"}, {"connection", "keep-alive, Upgrade"}, {"a", "2"}};

  CHECK(headers.get("a") == "1");
  CHECK(headers.all("A") == std::vector<std::string>{"1", "2"});
  CHECK(headers.has_token("Connection", "upgrade"));
  headers.set("a", "3");
  CHECK(headers.all("A") == std::vector<std::string>{"3"});
}

TEST_CASE("a header with a line break is left out") {
  CHECK(to_wire("GET / HTTP/1.1", Headers{{"A", "x\r\nB: y"}, {"C", "z"}}) == "GET / HTTP/1.1\r\nC: z\r\n\r\n");
}

TEST_CASE("a request comes in pieces of any size") {
  const std::string wire =
      "POST /a?b=c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET";
  for (std::size_t size = 1; size <= wire.size(); ++size) {
    CAPTURE(size);
    RequestParser parser(1000, 1000);
    std::string buffer;
    bool whole = false;
    std::size_t at = 0;
    for (; at < wire.size() && !whole; at += size) {
      buffer += wire.substr(at, size);
      const auto done = parser.feed(buffer);
      REQUIRE(done.ok());
      whole = *done;
    }
    REQUIRE(whole);
    const HttpRequest request = parser.take();
    CHECK(request.method == "POST");
    CHECK(request.target == "/a?b=c");
    CHECK(request.body == "abcde");
    CHECK(buffer + wire.substr(std::min(at, wire.size())) == "GET");
  }
}

TEST_CASE("headers and bodies beyond their bounds are refused") {
  RequestParser small_header(64, 100);
  std::string buffer = "GET / HTTP/1.1\r\nA: " + std::string(100, 'a');
  CHECK(absl::IsResourceExhausted(small_header.feed(buffer).status()));
  CHECK(small_header.header_too_large());

  RequestParser small_body(1000, 10);
  buffer = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n";
  CHECK(absl::IsResourceExhausted(small_body.feed(buffer).status()));
  CHECK_FALSE(small_body.header_too_large());

  RequestParser chunks(1000, 10);
  buffer = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n";
  CHECK(absl::IsResourceExhausted(chunks.feed(buffer).status()));
}

TEST_CASE("of an answer the first bytes are kept, more are dropped") {
  ResponseParser parser(1000, 4, 3, false);
  std::string buffer = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabcdef";

  CHECK_FALSE(*parser.feed(buffer));
  CHECK(parser.status() == 200);
  CHECK(parser.body() == "abcd");
  CHECK(parser.body_full());
  buffer += "gh";
  CHECK(*parser.feed(buffer));
  CHECK(parser.truncated());
}

TEST_CASE("the peer's end ends a body without a length only") {
  ResponseParser open(1000, 100, 0, false);
  std::string buffer = "HTTP/1.0 200 OK\r\n\r\nabc";
  CHECK_FALSE(*open.feed(buffer));
  CHECK(*open.feed_end());
  CHECK(open.body() == "abc");

  ResponseParser cut(1000, 100, 0, false);
  buffer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc";
  CHECK_FALSE(*cut.feed(buffer));
  CHECK(cut.feed_end().status().message() == "unexpected EOF");
}

TEST_CASE("URLs are read and references resolved") {
  const auto url = parse_url("https://[::1]:8443/a/b?c=d#e");
  REQUIRE(url.ok());
  CHECK(url->host == "::1");
  CHECK(url->port == 8443);
  CHECK(url->target == "/a/b?c=d");
  CHECK(url->authority() == "[::1]:8443");
  CHECK(resolve_reference(*url, "../x")->text() == "https://[::1]:8443/x");
  CHECK(resolve_reference(*url, "?y")->target == "/a/b?y");
  CHECK(resolve_reference(*url, "//web/z")->text() == "https://web/z");
  CHECK(resolve_reference(*url, "http://other")->port == 80);
  CHECK_FALSE(parse_url("ftp://x/").ok());
  CHECK_FALSE(parse_url("http://user@x/").ok());
}
