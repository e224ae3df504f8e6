#include "base/http/parse.h"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/verb.hpp>

#include "base/status/annotate.h"

namespace podwright {

namespace {

namespace beast_http = boost::beast::http;
using beast_view = boost::beast::string_view;
using beast_error = boost::beast::error_code;

std::string text(beast_view view) {
  return std::string(view.data(), view.size());
}

// What both directions have in common: headers and a body whose kept part is bounded.
template <bool is_request>
class Collector : public beast_http::basic_parser<is_request> {
 public:
  std::string method, target;
  int status = 0;
  int minor_version = 1;
  Headers headers;
  std::string body;
  std::size_t keep = 0;
  std::size_t dropped = 0;

 protected:
  void on_request_impl(beast_http::verb, beast_view verb, beast_view where, int version, beast_error&) override {
    method = text(verb);
    target = text(where);
    minor_version = version % 10;
  }
  void on_response_impl(int code, beast_view, int version, beast_error&) override {
    status = code;
    minor_version = version % 10;
  }
  void on_field_impl(beast_http::field, beast_view name, beast_view value, beast_error&) override {
    headers.add(text(name), text(value));
  }
  void on_header_impl(beast_error&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, beast_error&) override {}
  std::size_t on_body_impl(beast_view bytes, beast_error&) override {
    const std::size_t room = keep - std::min(keep, body.size());
    const std::size_t taken = std::min(room, bytes.size());
    body.append(bytes.data(), taken);
    dropped += bytes.size() - taken;
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, beast_view, beast_error&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast_view bytes, beast_error& error) override {
    return on_body_impl(bytes, error);
  }
  void on_finish_impl(beast_error&) override {}
};

absl::Status parse_error(const beast_error& error) {
  const std::string words = fmt::format("malformed HTTP message: {}", error.message());
  if (error == beast_http::error::header_limit || error == beast_http::error::body_limit) {
    return absl::ResourceExhaustedError(fmt::format("HTTP message too large: {}", error.message()));
  }
  return absl::InvalidArgumentError(words);
}

// Feeds until the message is whole or the buffer gives no more. The error of the last put, or nothing.
template <class Parser>
beast_error feed_all(Parser& parser, std::string& buffer) {
  beast_error error;
  while (!buffer.empty() && !parser.is_done()) {
    const std::size_t used = parser.put(boost::asio::const_buffer(buffer.data(), buffer.size()), error);
    buffer.erase(0, used);
    if (error == beast_http::error::need_more) {
      error = {};
      if (used == 0) break;
      continue;
    }
    if (error || used == 0) break;
  }
  return error;
}

}  // namespace

struct RequestParser::Impl {
  Collector<true> parser;
  bool header_too_large = false;
};

RequestParser::RequestParser(uint32_t header_limit, std::size_t body_limit) : impl_(std::make_unique<Impl>()) {
  impl_->parser.eager(true);
  impl_->parser.header_limit(header_limit);
  impl_->parser.body_limit(body_limit);
  impl_->parser.keep = body_limit;
}
RequestParser::~RequestParser() = default;

absl::StatusOr<bool> RequestParser::feed(std::string& buffer) {
  const beast_error error = feed_all(impl_->parser, buffer);
  if (error) {
    impl_->header_too_large = error == beast_http::error::header_limit;
    return parse_error(error);
  }
  return impl_->parser.is_done();
}

bool RequestParser::got_some() const {
  return impl_->parser.got_some();
}
bool RequestParser::header_done() const {
  return impl_->parser.is_header_done();
}
bool RequestParser::expects_continue() const {
  return impl_->parser.headers.has_token("Expect", "100-continue");
}
bool RequestParser::keep_alive() const {
  return impl_->parser.keep_alive();
}
bool RequestParser::header_too_large() const {
  return impl_->header_too_large;
}

HttpRequest RequestParser::take() {
  auto& parser = impl_->parser;
  HttpRequest request;
  request.method = std::move(parser.method);
  request.target = std::move(parser.target);
  request.headers = std::move(parser.headers);
  request.body = std::move(parser.body);
  request.minor_version = parser.minor_version;
  return request;
}

struct ResponseParser::Impl {
  Collector<false> parser;
};

ResponseParser::ResponseParser(uint32_t header_limit, std::size_t keep, std::size_t drain, bool to_head)
    : header_limit_(header_limit), keep_(keep), drain_(drain), to_head_(to_head) {
  restart();
}
ResponseParser::~ResponseParser() = default;

void ResponseParser::restart() {
  impl_ = std::make_unique<Impl>();
  auto& parser = impl_->parser;
  parser.eager(true);
  parser.header_limit(header_limit_);
  parser.body_limit(boost::none);
  parser.keep = keep_;
  if (to_head_) parser.skip(true);
}

absl::StatusOr<bool> ResponseParser::feed(std::string& buffer) {
  while (true) {
    const beast_error error = feed_all(impl_->parser, buffer);
    if (error) return parse_error(error);
    const int code = impl_->parser.status;
    if (impl_->parser.is_done() && code >= 100 && code < 200 && code != 101) {
      // Source: Go's transport takes at most five.
      if (++skipped_ > 5) return absl::InvalidArgumentError("malformed HTTP message: too many 1xx answers");
      restart();
      continue;
    }
    if (impl_->parser.dropped > drain_) return true;
    return impl_->parser.is_done();
  }
}

absl::StatusOr<bool> ResponseParser::feed_end() {
  beast_error error;
  if (!impl_->parser.got_some()) return absl::UnavailableError("EOF");
  if (!impl_->parser.is_header_done()) return absl::UnavailableError("unexpected EOF");
  impl_->parser.put_eof(error);
  if (error) return absl::UnavailableError("unexpected EOF");
  return impl_->parser.is_done();
}

bool ResponseParser::got_some() const {
  return impl_->parser.got_some();
}
bool ResponseParser::header_done() const {
  return impl_->parser.is_header_done();
}
bool ResponseParser::body_full() const {
  return impl_->parser.body.size() >= keep_ && impl_->parser.dropped > 0;
}
bool ResponseParser::truncated() const {
  return impl_->parser.dropped > 0;
}
int ResponseParser::status() const {
  return impl_->parser.status;
}
const Headers& ResponseParser::headers() const {
  return impl_->parser.headers;
}
const std::string& ResponseParser::body() const {
  return impl_->parser.body;
}

}  // namespace podwright
