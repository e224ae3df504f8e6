#include "base/http/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/http/tls_stream.h"
#include "base/status/annotate.h"

namespace podwright {

namespace {

absl::Status wrong(std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", what, openssl_words()));
}

absl::StatusOr<std::vector<Openssl<X509>>> certificates_of(const std::string& pem, std::string_view what) {
  const Openssl<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<Openssl<X509>> found;
  while (bio) {
    Openssl<X509> one(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (!one) break;
    found.push_back(std::move(one));
  }
  const unsigned long last = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  if (found.empty() || !at_end) return wrong(what);
  ERR_clear_error();
  return found;
}

absl::Status trust(SSL_CTX* context, const std::string& pem) {
  const auto authorities = certificates_of(pem, "certificates of authorities");
  if (!authorities.ok()) return authorities.status();
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const auto& one : *authorities) {
    if (X509_STORE_add_cert(store, one.get()) != 1) return wrong("certificates of authorities");
  }
  return absl::OkStatus();
}

// No passphrase is asked for on a terminal.
int no_passphrase(char*, int, int, void*) {
  return 0;
}

absl::Status show(SSL_CTX* context, const std::string& certificate_pem, const std::string& key_pem) {
  const auto chain = certificates_of(certificate_pem, "certificate");
  if (!chain.ok()) return chain.status();
  if (SSL_CTX_use_certificate(context, chain->front().get()) != 1) return wrong("certificate");
  for (std::size_t i = 1; i < chain->size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) != 1) return wrong("certificate chain");
  }
  const Openssl<BIO> bio(BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())));
  const Openssl<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) return wrong("private key");
  return absl::OkStatus();
}

absl::StatusOr<Openssl<SSL_CTX>> make_context(const SSL_METHOD* method) {
  Openssl<SSL_CTX> context(SSL_CTX_new(method));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) return wrong("TLS");
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return context;
}

std::string pem_of(const STACK_OF(X509) * chain) {
  const Openssl<BIO> bio(BIO_new(BIO_s_mem()));
  for (int i = 0; bio && i < sk_X509_num(chain); ++i) PEM_write_bio_X509(bio.get(), sk_X509_value(chain, i));
  std::string pem(bio ? BIO_ctrl_pending(bio.get()) : 0, '\0');
  if (!pem.empty()) BIO_read(bio.get(), pem.data(), static_cast<int>(pem.size()));
  return pem;
}

}  // namespace

struct TlsClient::Context {
  Openssl<SSL_CTX> ctx;
  bool verify = true;
};

absl::StatusOr<std::shared_ptr<const TlsClient>> TlsClient::make(const TlsClientOptions& options) {
  auto made = make_context(TLS_client_method());
  if (!made.ok()) return made.status();
  SSL_CTX* ctx = made->get();
  const bool verify = options.trust != TlsClientOptions::Trust::kNobody;
  SSL_CTX_set_verify(ctx, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  switch (options.trust) {
    case TlsClientOptions::Trust::kNobody:
      // Go takes keys that Debian's level 2 refuses, and a probe does not protect anything.
      SSL_CTX_set_security_level(ctx, 0);
      break;
    case TlsClientOptions::Trust::kAuthority: {
      const absl::Status trusted = trust(ctx, options.authority_pem);
      if (!trusted.ok()) return trusted;
      break;
    }
    case TlsClientOptions::Trust::kSystem:
      if (SSL_CTX_set_default_verify_paths(ctx) != 1) return wrong("the machine's certificates");
      break;
  }
  if (!options.certificate_pem.empty()) {
    const absl::Status shown = show(ctx, options.certificate_pem, options.key_pem);
    if (!shown.ok()) return shown;
  }
  std::string alpn;
  for (const std::string& one : options.alpn) {
    if (one.empty() || one.size() > 255) return absl::InvalidArgumentError("an ALPN name has 1 to 255 bytes");
    alpn += static_cast<char>(one.size());
    alpn += one;
  }
  if (!alpn.empty() && SSL_CTX_set_alpn_protos(ctx, reinterpret_cast<const unsigned char*>(alpn.data()),
                                               static_cast<unsigned>(alpn.size())) != 0) {
    return wrong("ALPN");
  }
  auto context = std::make_shared<Context>(Context{std::move(*made), verify});
  return std::shared_ptr<const TlsClient>(new TlsClient(std::move(context)));
}

Co<absl::StatusOr<std::unique_ptr<Stream>>> TlsClient::connect(Loop& loop, std::unique_ptr<Stream> below,
                                                               std::string host, Instant deadline) const {
  const auto context = context_;
  Openssl<SSL> ssl(SSL_new(context->ctx.get()));
  if (!ssl) co_return wrong("TLS");
  SSL_set_connect_state(ssl.get());
  unsigned char raw[16];
  const bool is_address = inet_pton(AF_INET, host.c_str(), raw) == 1 || inet_pton(AF_INET6, host.c_str(), raw) == 1;
  if (!is_address && SSL_set_tlsext_host_name(ssl.get(), host.c_str()) != 1) co_return wrong("server name");
  if (context->verify) {
    X509_VERIFY_PARAM* param = SSL_get0_param(ssl.get());
    const int set = is_address ? X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str())
                               : X509_VERIFY_PARAM_set1_host(param, host.data(), host.size());
    if (set != 1) co_return wrong("server name");
  }
  auto stream = std::make_unique<TlsStream>(loop, std::move(ssl), std::move(below));
  const absl::Status done = co_await stream->handshake(deadline);
  if (!done.ok()) co_return done;
  co_return std::unique_ptr<Stream>(std::move(stream));
}

struct TlsServer::Context {
  Openssl<SSL_CTX> ctx;
};

absl::StatusOr<std::shared_ptr<const TlsServer>> TlsServer::make(const TlsServerOptions& options) {
  auto made = make_context(TLS_server_method());
  if (!made.ok()) return made.status();
  SSL_CTX* ctx = made->get();
  const absl::Status shown = show(ctx, options.certificate_pem, options.key_pem);
  if (!shown.ok()) return shown;
  if (!options.client_authority_pem.empty()) {
    const absl::Status trusted = trust(ctx, options.client_authority_pem);
    if (!trusted.ok()) return trusted;
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
  }
  return std::shared_ptr<const TlsServer>(new TlsServer(std::make_shared<Context>(Context{std::move(*made)})));
}

Co<absl::StatusOr<TlsServer::Accepted>> TlsServer::accept(Loop& loop, std::unique_ptr<Stream> below,
                                                          Instant deadline) const {
  const auto context = context_;
  Openssl<SSL> ssl(SSL_new(context->ctx.get()));
  if (!ssl) co_return wrong("TLS");
  SSL_set_accept_state(ssl.get());
  auto stream = std::make_unique<TlsStream>(loop, std::move(ssl), std::move(below));
  const absl::Status done = co_await stream->handshake(deadline);
  if (!done.ok()) co_return done;
  Accepted accepted;
  const STACK_OF(X509)* chain = SSL_get0_verified_chain(stream->ssl());
  if (SSL_get0_peer_certificate(stream->ssl()) != nullptr && chain != nullptr) {
    accepted.client_certificates_pem = pem_of(chain);
  }
  accepted.stream = std::move(stream);
  co_return accepted;
}

}  // namespace podwright
