// The person's side of the local socket: HTTP/1.1 with blocking sockets, since this is a program of its own that does
// one thing and ends.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podwright::cli {

struct Reply {
  int status = 0;
  std::string body;
};

// An open connection after 101, with bytes that came behind the headers.
struct Upgraded {
  int fd = -1;  // the caller's to close
  std::string early;
};

class Client {
 public:
  explicit Client(std::string socket_path) : socket_path_(std::move(socket_path)) {}

  // The whole answer, at most limits::kLocalReplyBytes. Unavailable where the agent is not there, with what to do.
  absl::StatusOr<Reply> send(std::string_view method, const std::string& target, std::string_view body = {});

  // Hands each piece of the body of a 2xx answer to `take` as it comes, until the end or until it returns false.
  // Another status is an error with the body's text.
  absl::Status stream(const std::string& target, const std::function<bool(std::string_view)>& take);

  // Asks for `protocol`; an answer other than 101 is an error with the body's text.
  absl::StatusOr<Upgraded> upgrade(const std::string& target, std::string_view protocol);

 private:
  std::string socket_path_;
};

// The Status for an answer that is no success, from a Kubernetes Status object or plain text.
absl::Status status_of(const Reply& reply);

// "a b" to "a%20b".
std::string percent_encode(std::string_view text);
// "?a=1&b=2"; empty for none.
std::string query_text(const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace podwright::cli
