// The Stream of a TLS connection. Inside base/http only.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/co/bell.h"
#include "base/net/net.h"

namespace podwright {

struct OpensslFree {
  void operator()(SSL* p) const { SSL_free(p); }
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};
template <class T>
using Openssl = std::unique_ptr<T, OpensslFree>;

// The oldest error in OpenSSL's queue of this thread in words; empties the queue.
std::string openssl_words();

class TlsStream final : public Stream {
 public:
  TlsStream(Loop& loop, Openssl<SSL> ssl, std::unique_ptr<Stream> below);
  ~TlsStream() override;

  Co<absl::Status> handshake(Instant deadline);
  SSL* ssl() { return ssl_.get(); }

  Co<absl::StatusOr<std::string>> read_some(std::size_t limit, Instant deadline) override;
  Co<absl::Status> write_all(std::string bytes, Instant deadline) override;
  // Without close_notify, which cannot be sent here: messages of ours have a length or chunks.
  absl::Status shutdown_write() override;
  void set_linger_reset() override { below_->set_linger_reset(); }

 private:
  std::string take_outgoing();
  Co<absl::Status> flush(Instant deadline);
  Co<absl::StatusOr<bool>> fill(Instant deadline);

  Openssl<SSL> ssl_;
  std::unique_ptr<Stream> below_;
  std::string first_;  // the first bytes that the peer sent, to tell plain HTTP
  bool ended_ = false;
  Slots writing_;
};

}  // namespace podwright
