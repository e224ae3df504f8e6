// TLS over any Stream: OpenSSL works on memory, the bytes travel through the Stream below, so that deadlines,
// cancellation and virtual time are as for cleartext. TLS 1.2 or newer.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/co/loop.h"
#include "base/net/net.h"

namespace podwright {

struct TlsClientOptions {
  enum class Trust {
    kNobody,     // the peer is not verified: HTTPS probes and hooks, as upstream
    kAuthority,  // its chain ends in `authority_pem` and its certificate has the name that was dialled
    kSystem,     // the same with the machine's authorities
  };
  Trust trust = Trust::kSystem;
  std::string authority_pem;
  // Ours, to be shown where the peer asks; empty: none.
  std::string certificate_pem, key_pem;
  std::vector<std::string> alpn;  // "h2"; empty: none is offered
};

class TlsClient {
 public:
  // InvalidArgument where a PEM text does not hold what it should.
  static absl::StatusOr<std::shared_ptr<const TlsClient>> make(const TlsClientOptions& options);

  // The handshake. FailedPrecondition: the peer speaks plain HTTP ("http: server gave HTTP response to HTTPS client");
  // Unauthenticated: its certificate does not hold; Unavailable: any other failure of it.
  Co<absl::StatusOr<std::unique_ptr<Stream>>> connect(Loop& loop, std::unique_ptr<Stream> below, std::string host,
                                                      Instant deadline) const;

 private:
  struct Context;
  explicit TlsClient(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  std::shared_ptr<Context> context_;
};

struct TlsServerOptions {
  std::string certificate_pem, key_pem;
  // Clients may show a certificate that ends in one of these; empty: none is asked for.
  std::string client_authority_pem;
};

class TlsServer {
 public:
  static absl::StatusOr<std::shared_ptr<const TlsServer>> make(const TlsServerOptions& options);

  struct Accepted {
    std::unique_ptr<Stream> stream;
    // The client's verified chain in PEM, leaf first; empty where it showed none.
    std::string client_certificates_pem;
  };
  Co<absl::StatusOr<Accepted>> accept(Loop& loop, std::unique_ptr<Stream> below, Instant deadline) const;

 private:
  struct Context;
  explicit TlsServer(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  std::shared_ptr<Context> context_;
};

}  // namespace podwright
