#include "base/http/tls_stream.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright {

std::string openssl_words() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown error" : reason;
}

TlsStream::TlsStream(Loop& loop, Openssl<SSL> ssl, std::unique_ptr<Stream> below)
    : ssl_(std::move(ssl)), below_(std::move(below)), writing_(loop, 1) {
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  if (in == nullptr || out == nullptr) std::abort();  // out of memory
  BIO_set_mem_eof_return(in, -1);
  SSL_set_bio(ssl_.get(), in, out);
}

TlsStream::~TlsStream() = default;

std::string TlsStream::take_outgoing() {
  BIO* out = SSL_get_wbio(ssl_.get());
  std::string bytes(BIO_ctrl_pending(out), '\0');
  if (bytes.empty()) return bytes;
  const int got = BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max(got, 0)));
  return bytes;
}

// Sends what OpenSSL wants sent. A reader and a writer may both have caused some: they take turns.
Co<absl::Status> TlsStream::flush(Instant deadline) {
  if (BIO_ctrl_pending(SSL_get_wbio(ssl_.get())) == 0) co_return absl::OkStatus();
  const auto turn = co_await writing_.acquire(deadline);
  if (!turn.ok()) co_return turn.status();
  std::string bytes = take_outgoing();
  if (bytes.empty()) co_return absl::OkStatus();
  co_return co_await below_->write_all(std::move(bytes), deadline);
}

// Gives OpenSSL more of the peer's bytes. False at their end.
Co<absl::StatusOr<bool>> TlsStream::fill(Instant deadline) {
  auto bytes = co_await below_->read_some(limits::kTlsRecordBytes, deadline);
  if (!bytes.ok()) co_return bytes.status();
  if (bytes->empty()) co_return false;
  if (first_.size() < 5) first_ += bytes->substr(0, 5 - first_.size());
  BIO_write(SSL_get_rbio(ssl_.get()), bytes->data(), static_cast<int>(bytes->size()));
  co_return true;
}

Co<absl::Status> TlsStream::handshake(Instant deadline) {
  while (true) {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_.get());
    const int error = SSL_get_error(ssl_.get(), done);
    std::string words = error == SSL_ERROR_SSL ? openssl_words() : "unexpected end";
    const long verdict = SSL_get_verify_result(ssl_.get());
    const absl::Status sent = co_await flush(deadline);
    if (done == 1) co_return sent;
    if (error == SSL_ERROR_WANT_READ) {
      if (!sent.ok()) co_return sent;
      const auto more = co_await fill(deadline);
      if (!more.ok()) co_return more.status();
      if (!*more) co_return absl::UnavailableError("EOF");
      continue;
    }
    if (first_ == "HTTP/") co_return absl::FailedPreconditionError("http: server gave HTTP response to HTTPS client");
    const bool verified = (SSL_get_verify_mode(ssl_.get()) & SSL_VERIFY_PEER) != 0;
    if (verified && verdict != X509_V_OK) {
      co_return absl::UnauthenticatedError(
          fmt::format("certificate of the peer: {}", X509_verify_cert_error_string(verdict)));
    }
    co_return absl::UnavailableError(fmt::format("TLS handshake: {}", words));
  }
}

Co<absl::StatusOr<std::string>> TlsStream::read_some(std::size_t limit, Instant deadline) {
  std::string bytes(std::min(limit, limits::kStreamReadBytes), '\0');
  while (true) {
    if (ended_) co_return std::string();
    ERR_clear_error();
    const int got = SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (got > 0) {
      bytes.resize(static_cast<std::size_t>(got));
      co_return bytes;
    }
    const int error = SSL_get_error(ssl_.get(), got);
    std::string words = error == SSL_ERROR_SSL ? openssl_words() : "unexpected end";
    const absl::Status sent = co_await flush(deadline);
    if (error == SSL_ERROR_ZERO_RETURN) {
      ended_ = true;
      co_return std::string();
    }
    if (error != SSL_ERROR_WANT_READ) co_return absl::UnavailableError(fmt::format("read: TLS: {}", words));
    if (!sent.ok()) co_return sent;
    const auto more = co_await fill(deadline);
    if (!more.ok()) co_return more.status();
    // Without close_notify somebody may have cut the message.
    if (!*more) co_return absl::UnavailableError("unexpected EOF");
  }
}

Co<absl::Status> TlsStream::write_all(std::string bytes, Instant deadline) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    ERR_clear_error();
    const auto piece = static_cast<int>(std::min<std::size_t>(bytes.size() - done, limits::kStreamReadBytes));
    const int put = SSL_write(ssl_.get(), bytes.data() + done, piece);
    if (put <= 0) co_return absl::UnavailableError(fmt::format("write: TLS: {}", openssl_words()));
    done += static_cast<std::size_t>(put);
    const absl::Status sent = co_await flush(deadline);
    if (!sent.ok()) co_return sent;
  }
  co_return absl::OkStatus();
}

absl::Status TlsStream::shutdown_write() {
  return below_->shutdown_write();
}

}  // namespace podwright
