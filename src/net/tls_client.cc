#include "net/tls_client.h"

#include "net/tls_api.h"

namespace chela::net {
namespace {

// The oldest error that OpenSSL noted, as text.
std::string reason(const TlsApi& api) {
  const char* text = api.reason_error_string(api.get_error());
  return text == nullptr ? "a breach of its protocol" : text;
}

}  // namespace

TlsClient::TlsClient(std::shared_ptr<const TlsApi> api, ssl_ctx_st* context)
    : api_(std::move(api)), context_(context) {}

TlsClient::~TlsClient() { api_->ctx_free(context_); }

Result<std::shared_ptr<const TlsClient>> TlsClient::create(const std::string& ca_file) {
  Result<std::shared_ptr<const TlsApi>> api = TlsApi::load();
  if (!api) return fail(api.error());
  const TlsApi& tls = **api;
  tls.clear_error();
  ssl_ctx_st* context = tls.ctx_new(tls.client_method());
  if (context == nullptr) return fail(Code::kInternal, "OpenSSL makes no context: {}", reason(tls));
  const std::shared_ptr<const TlsClient> client(new TlsClient(std::move(*api), context));
  tls.ctx_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  tls.ctx_ctrl(context, SSL_CTRL_MODE, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
               nullptr);
  // A peer that breaks off without saying so ends the connection; the WebSocket above knows whether it was over.
  tls.ctx_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  tls.ctx_set_verify(context, SSL_VERIFY_PEER, nullptr);
  const int trusts = ca_file.empty() ? tls.ctx_set_default_verify_paths(context)
                                     : tls.ctx_load_verify_locations(context, ca_file.c_str(), nullptr);
  if (trusts != 1)
    return fail(Code::kInvalidArgument, "'{}' has no certificates that can be read (PEM is needed): {}",
                ca_file, reason(tls));
  return client;
}

Result<std::unique_ptr<TlsLink>> TlsClient::secure(int socket, const std::string& host) const {
  api_->clear_error();
  ssl_st* ssl = api_->ssl_new(context_);
  if (ssl == nullptr) return fail(Code::kInternal, "OpenSSL makes no connection: {}", reason(*api_));
  std::unique_ptr<TlsLink> link(new TlsLink(shared_from_this(), ssl));
  const bool is_address = api_->param_set1_ip_asc(api_->ssl_get0_param(ssl), host.c_str()) == 1;
  const bool named =
      is_address || (api_->ssl_set1_host(ssl, host.c_str()) == 1 &&
                     api_->ssl_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                                    const_cast<char*>(host.c_str())) == 1);
  if (!named || api_->ssl_set_fd(ssl, socket) != 1)
    return fail(Code::kInvalidArgument, "no TLS connection can be made to '{}': {}", host, reason(*api_));
  api_->clear_error();  // a host that is no address left one
  api_->ssl_set_connect_state(ssl);
  return link;
}

TlsLink::TlsLink(std::shared_ptr<const TlsClient> client, ssl_st* ssl)
    : client_(std::move(client)), ssl_(ssl) {}

TlsLink::~TlsLink() { client_->api_->ssl_free(ssl_); }

TlsLink::Did TlsLink::did(int result, size_t bytes) {
  if (result > 0) return {.state = State::kDone, .bytes = bytes};
  const TlsApi& tls = *client_->api_;
  switch (tls.ssl_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return {.state = State::kWantRead};
    case SSL_ERROR_WANT_WRITE:
      return {.state = State::kWantWrite};
    case SSL_ERROR_ZERO_RETURN:
      return {.state = State::kEnd};
    default:
      break;
  }
  if (problem_.empty()) {
    const long verified = tls.ssl_get_verify_result(ssl_);
    problem_ = verified == X509_V_OK
                   ? reason(tls)
                   : fmt::format("its certificate is not trusted: {}", tls.verify_error_string(verified));
  }
  return {.state = State::kBroken};
}

TlsLink::Did TlsLink::handshake() {
  client_->api_->clear_error();
  return did(client_->api_->ssl_do_handshake(ssl_), 0);
}

TlsLink::Did TlsLink::read(std::span<char> into) {
  client_->api_->clear_error();
  size_t bytes = 0;
  return did(client_->api_->ssl_read_ex(ssl_, into.data(), into.size(), &bytes), bytes);
}

TlsLink::Did TlsLink::write(std::string_view bytes) {
  client_->api_->clear_error();
  size_t written = 0;
  return did(client_->api_->ssl_write_ex(ssl_, bytes.data(), bytes.size(), &written), written);
}

bool TlsLink::has_more() const { return client_->api_->ssl_pending(ssl_) > 0; }

void TlsLink::say_end() {
  client_->api_->clear_error();
  client_->api_->ssl_shutdown(ssl_);
}

Task<Result<std::shared_ptr<const TlsClient>>> TlsTrust::client(runtime::Pool& pool) {
  if (made_) co_return made_;
  Result<std::shared_ptr<const TlsClient>> made =
      co_await pool.run([file = ca_file_] { return TlsClient::create(file); });
  if (made) made_ = *made;
  co_return made;
}

}  // namespace chela::net
