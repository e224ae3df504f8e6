// HTTP messages as plain values, without a library's types.
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/co/co.h"
#include "base/net/net.h"

namespace podwright {

// In the order of the wire; names compare without case.
class Headers {
 public:
  using Field = std::pair<std::string, std::string>;
  Headers() = default;
  Headers(std::initializer_list<Field> fields) : fields_(fields) {}

  // The first value.
  std::optional<std::string> get(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
  bool has(std::string_view name) const { return get(name).has_value(); }
  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  // Replaces every value of that name.
  void set(std::string name, std::string value);
  void remove(std::string_view name);
  // Whether one of the comma-separated items of that name is `token`: Connection, Accept-Encoding.
  bool has_token(std::string_view name, std::string_view token) const;
  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

bool equal_no_case(std::string_view a, std::string_view b);

// A request as a server sees it.
struct HttpRequest {
  std::string method;
  std::string target;                                      // as sent
  std::string path;                                        // decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  Headers headers;
  std::string body;
  int minor_version = 1;
  // What the parts in braces of the route's pattern stood for.
  std::vector<std::pair<std::string, std::string>> params;
  // Of a TLS connection with a client certificate: its chain in PEM, leaf first.
  std::string client_certificates_pem;

  // The first value; empty-valued keys ("?follow") give an empty string.
  std::optional<std::string> query_value(std::string_view key) const;
  std::vector<std::string> query_values(std::string_view key) const;
  // Empty where the pattern has no such part.
  std::string param(std::string_view name) const;
};

// Where a streaming body goes. A write returns once the connection took it; an error means that the client is gone.
class BodyWriter {
 public:
  virtual ~BodyWriter() = default;
  virtual Co<absl::Status> write(std::string bytes) = 0;
};

struct HttpResponse {
  int status = 200;
  Headers headers;
  std::string body;
  // Instead of a body: written in chunks as it comes. Cancelled when the client goes away.
  absl::AnyInvocable<Co<void>(BodyWriter&)> stream;
  // With status 101: takes the raw connection over once the headers are sent.
  absl::AnyInvocable<Co<void>(std::unique_ptr<Stream>)> upgrade;

  static HttpResponse text(int status, std::string body);
  static HttpResponse json(int status, std::string body);
};

// "Not Found".
std::string_view reason_of(int status);

// The path and query of a request target, decoded. InvalidArgument for what is not origin-form or "*", for a wrong
// percent sign, a NUL, and a path that leaves the root.
struct Target {
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
};
absl::StatusOr<Target> parse_target(std::string_view target);

// "%2F" to "/"; '+' to a space where `plus` says so. InvalidArgument where malformed.
absl::StatusOr<std::string> percent_decode(std::string_view text, bool plus);

// The start line and headers of a message. A header with a line break or NUL in it is left out.
std::string to_wire(std::string_view start_line, const Headers& headers);

}  // namespace podwright
