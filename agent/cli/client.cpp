#include "agent/cli/client.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::cli {
namespace {

constexpr std::size_t kHeadBytes = 64 << 10;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd(const Fd&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

absl::StatusOr<Fd> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return make_status(absl::StatusCode::kInvalidArgument, "socket path {} is longer than {} bytes", path,
                       sizeof address.sun_path - 1);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return errno_status(errno, "socket");
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  if (error == EACCES) {
    return make_status(absl::StatusCode::kPermissionDenied, "{} belongs to root: run this as root", path);
  }
  if (error == ENOENT || error == ECONNREFUSED) {
    return make_status(absl::StatusCode::kUnavailable,
                       "no podwright agent answers on {} ({}): is it running (systemctl status podwright)? "
                       "--local-socket names another socket",
                       path, errno_name(error));
  }
  return errno_status(error, "connect " + path);
}

absl::Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno_status(errno, "write to the agent");
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return absl::OkStatus();
}

// Reads one answer: head(), then body pieces until there are no more.
class Answer {
 public:
  explicit Answer(int fd) : fd_(fd) {}

  absl::Status read_head() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (buffer_.size() > kHeadBytes) return absl::InternalError("the agent's answer has no end of its headers");
      const auto more = fill();
      if (!more.ok()) return more.status();
      if (!*more) return absl::UnavailableError("the agent closed the connection before it answered");
    }
    const std::string head = buffer_.substr(0, end + 2);
    buffer_.erase(0, end + 4);
    if (head.size() < 12 || !head.starts_with("HTTP/1.") || !absl::SimpleAtoi(head.substr(9, 3), &status_)) {
      return absl::InternalError("the agent's answer is no HTTP");
    }
    std::size_t at = head.find("\r\n") + 2;
    while (at < head.size()) {
      const auto line_end = head.find("\r\n", at);
      const std::string line = head.substr(at, line_end - at);
      at = line_end + 2;
      const auto colon = line.find(':');
      if (colon == std::string::npos) continue;
      const std::string name = absl::AsciiStrToLower(line.substr(0, colon));
      const std::string value(absl::StripAsciiWhitespace(absl::string_view(line).substr(colon + 1)));
      if (name == "transfer-encoding") chunked_ = absl::AsciiStrToLower(value) == "chunked";
      if (name == "content-length") {
        has_length_ = absl::SimpleAtoi(value, &length_);
        if (!has_length_) return absl::InternalError("the agent's answer has no valid length");
      }
    }
    return absl::OkStatus();
  }

  int status() const { return status_; }
  // The body's length, as far as the head tells it; 0 otherwise.
  uint64_t announced() const { return has_length_ ? length_ : 0; }
  std::string take_buffer() { return std::move(buffer_); }

  // The next piece of the body; empty at its end.
  absl::StatusOr<std::string> read_body() {
    if (chunked_) return read_chunk();
    if (has_length_ && length_ == 0) return std::string();
    if (buffer_.empty()) {
      const auto more = fill();
      if (!more.ok()) return more.status();
      if (!*more && has_length_) return absl::UnavailableError("the agent closed the connection in its answer");
    }
    std::string piece = std::move(buffer_);
    buffer_.clear();
    if (has_length_) {
      if (piece.size() > length_) piece.resize(length_);
      length_ -= piece.size();
    }
    return piece;
  }

 private:
  absl::StatusOr<bool> fill() {
    char bytes[32 << 10];
    ssize_t got = 0;
    do {
      got = ::read(fd_, bytes, sizeof bytes);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return errno_status(errno, "read from the agent");
    buffer_.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }

  absl::StatusOr<std::string> read_chunk() {
    if (chunk_left_ == 0) {
      if (over_) return std::string();
      const auto line = read_line();
      if (!line.ok()) return line.status();
      char* end = nullptr;
      chunk_left_ = std::strtoull(line->c_str(), &end, 16);
      if (end == line->c_str()) return absl::InternalError("the agent's answer has a broken chunk");
      if (chunk_left_ == 0) {
        over_ = true;
        return std::string();
      }
    }
    if (buffer_.empty()) {
      const auto more = fill();
      if (!more.ok()) return more.status();
      if (!*more) return absl::UnavailableError("the agent closed the connection in its answer");
    }
    const std::size_t length = std::min<std::size_t>(chunk_left_, buffer_.size());
    std::string piece = buffer_.substr(0, length);
    buffer_.erase(0, length);
    chunk_left_ -= length;
    if (chunk_left_ == 0) {
      const auto line = read_line();
      if (!line.ok()) return line.status();
    }
    return piece;
  }

  absl::StatusOr<std::string> read_line() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n")) == std::string::npos) {
      const auto more = fill();
      if (!more.ok()) return more.status();
      if (!*more) return absl::UnavailableError("the agent closed the connection in its answer");
    }
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 2);
    return line;
  }

  int fd_;
  std::string buffer_;
  int status_ = 0;
  bool chunked_ = false, has_length_ = false, over_ = false;
  uint64_t length_ = 0, chunk_left_ = 0;
};

absl::StatusOr<Reply> read_reply(Answer& answer) {
  Reply reply{answer.status(), {}};
  const absl::Status too_long = make_status(absl::StatusCode::kResourceExhausted,
                                            "the agent's answer is longer than {} bytes", limits::kLocalReplyBytes);
  if (answer.announced() > limits::kLocalReplyBytes) return too_long;
  while (true) {
    auto piece = answer.read_body();
    if (!piece.ok()) return piece.status();
    if (piece->empty()) return reply;
    if (reply.body.size() + piece->size() > limits::kLocalReplyBytes) return too_long;
    reply.body += *piece;
  }
}

std::string request_text(std::string_view method, const std::string& target, std::string_view extra,
                         std::string_view body) {
  return fmt::format("{} {} HTTP/1.1\r\nHost: podwright\r\n{}Content-Length: {}\r\n\r\n{}", method, target, extra,
                     body.size(), body);
}

}  // namespace

absl::StatusOr<Reply> Client::send(std::string_view method, const std::string& target, std::string_view body) {
  auto fd = connect_to(socket_path_);
  if (!fd.ok()) return fd.status();
  const absl::Status wrote = write_all(fd->get(), request_text(method, target, "Connection: close\r\n", body));
  if (!wrote.ok()) return wrote;
  Answer answer(fd->get());
  const absl::Status head = answer.read_head();
  if (!head.ok()) return head;
  return read_reply(answer);
}

absl::Status Client::stream(const std::string& target, const std::function<bool(std::string_view)>& take) {
  auto fd = connect_to(socket_path_);
  if (!fd.ok()) return fd.status();
  const absl::Status wrote = write_all(fd->get(), request_text("GET", target, "Connection: close\r\n", {}));
  if (!wrote.ok()) return wrote;
  Answer answer(fd->get());
  const absl::Status head = answer.read_head();
  if (!head.ok()) return head;
  if (answer.status() / 100 != 2) {
    const auto reply = read_reply(answer);
    return reply.ok() ? status_of(*reply) : reply.status();
  }
  while (true) {
    const auto piece = answer.read_body();
    if (!piece.ok()) return piece.status();
    if (piece->empty() || !take(*piece)) return absl::OkStatus();
  }
}

absl::StatusOr<Upgraded> Client::upgrade(const std::string& target, std::string_view protocol) {
  auto fd = connect_to(socket_path_);
  if (!fd.ok()) return fd.status();
  const std::string extra = fmt::format("Connection: Upgrade\r\nUpgrade: {}\r\n", protocol);
  const absl::Status wrote = write_all(fd->get(), request_text("POST", target, extra, {}));
  if (!wrote.ok()) return wrote;
  Answer answer(fd->get());
  const absl::Status head = answer.read_head();
  if (!head.ok()) return head;
  if (answer.status() != 101) {
    const auto reply = read_reply(answer);
    return reply.ok() ? status_of(*reply) : reply.status();
  }
  return Upgraded{fd->release(), answer.take_buffer()};
}

absl::Status status_of(const Reply& reply) {
  if (reply.status / 100 == 2) return absl::OkStatus();
  std::string text = reply.body;
  const auto json = nlohmann::json::parse(reply.body, nullptr, false);
  if (json.is_object() && json.contains("message") && json["message"].is_string()) {
    text = json["message"].get<std::string>();
  }
  absl::StripTrailingAsciiWhitespace(&text);
  if (text.empty()) text = fmt::format("the agent answered with status {}", reply.status);
  switch (reply.status) {
    case 400: return absl::InvalidArgumentError(text);
    case 403: return absl::PermissionDeniedError(text);
    case 404: return absl::NotFoundError(text);
    case 409: return absl::FailedPreconditionError(text);
    case 503: return absl::UnavailableError(text);
    case 504: return absl::DeadlineExceededError(text);
    default: return absl::UnknownError(text);
  }
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string query_text(const std::vector<std::pair<std::string, std::string>>& query) {
  std::string out;
  for (const auto& [key, value] : query) {
    out += out.empty() ? '?' : '&';
    out += percent_encode(key) + "=" + percent_encode(value);
  }
  return out;
}

}  // namespace podwright::cli
