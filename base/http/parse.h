// The parsers of HTTP/1.1 messages from outside, in pieces as they come; Beast's parser below. Each is bounded, and
// each is fuzzed.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "base/http/message.h"

namespace podwright {

class RequestParser {
 public:
  // ResourceExhausted is the error where one of the two is exceeded.
  RequestParser(uint32_t header_limit, std::size_t body_limit);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Takes what it can from the front of `buffer`. True once the request is whole; what follows it stays in `buffer`.
  absl::StatusOr<bool> feed(std::string& buffer);

  bool got_some() const;
  bool header_done() const;
  bool expects_continue() const;
  bool keep_alive() const;
  // Which bound was exceeded, after a ResourceExhausted.
  bool header_too_large() const;
  // Once whole. Path and query are not filled yet: parse_target() does.
  HttpRequest take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// An answer. Of its body the first `keep` bytes are kept; up to `drain` more are read and dropped.
class ResponseParser {
 public:
  ResponseParser(uint32_t header_limit, std::size_t keep, std::size_t drain, bool to_head);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  // True once the answer is whole, or more of its body came than is kept and dropped. Answers 1xx are skipped.
  absl::StatusOr<bool> feed(std::string& buffer);
  // The peer's end. True where that ends the answer rightly (a body without a length).
  absl::StatusOr<bool> feed_end();

  bool got_some() const;
  bool header_done() const;
  // Nothing more is going to be kept: what still comes is only drained.
  bool body_full() const;
  bool truncated() const;
  int status() const;
  const Headers& headers() const;
  const std::string& body() const;

 private:
  struct Impl;
  void restart();
  std::unique_ptr<Impl> impl_;
  uint32_t header_limit_;
  std::size_t keep_;
  std::size_t drain_;
  bool to_head_;
  int skipped_ = 0;
};

}  // namespace podwright
