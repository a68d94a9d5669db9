#include "net/tls_api.h"

#include <dlfcn.h>

#include <csignal>

namespace chela::net {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

}  // namespace

Result<std::shared_ptr<const TlsApi>> TlsApi::load() {
  void* library = ::dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    return fail(Code::kUnavailable,
                "libssl.so.3 is missing, so no wss:// connection can be made; install the package libssl3");
  const auto api = std::make_shared<TlsApi>();
  // What libcrypto has is found too: libssl depends on it.
  const bool complete =
      find(library, "TLS_client_method", api->client_method) && find(library, "SSL_CTX_new", api->ctx_new) &&
      find(library, "SSL_CTX_free", api->ctx_free) && find(library, "SSL_CTX_ctrl", api->ctx_ctrl) &&
      find(library, "SSL_CTX_set_options", api->ctx_set_options) &&
      find(library, "SSL_CTX_set_verify", api->ctx_set_verify) &&
      find(library, "SSL_CTX_set_default_verify_paths", api->ctx_set_default_verify_paths) &&
      find(library, "SSL_CTX_load_verify_locations", api->ctx_load_verify_locations) &&
      find(library, "SSL_new", api->ssl_new) && find(library, "SSL_free", api->ssl_free) &&
      find(library, "SSL_ctrl", api->ssl_ctrl) && find(library, "SSL_set_fd", api->ssl_set_fd) &&
      find(library, "SSL_set1_host", api->ssl_set1_host) &&
      find(library, "SSL_get0_param", api->ssl_get0_param) &&
      find(library, "SSL_set_connect_state", api->ssl_set_connect_state) &&
      find(library, "SSL_do_handshake", api->ssl_do_handshake) &&
      find(library, "SSL_read_ex", api->ssl_read_ex) && find(library, "SSL_write_ex", api->ssl_write_ex) &&
      find(library, "SSL_pending", api->ssl_pending) && find(library, "SSL_shutdown", api->ssl_shutdown) &&
      find(library, "SSL_get_error", api->ssl_get_error) &&
      find(library, "SSL_get_verify_result", api->ssl_get_verify_result) &&
      find(library, "X509_VERIFY_PARAM_set1_ip_asc", api->param_set1_ip_asc) &&
      find(library, "X509_verify_cert_error_string", api->verify_error_string) &&
      find(library, "ERR_clear_error", api->clear_error) && find(library, "ERR_get_error", api->get_error) &&
      find(library, "ERR_reason_error_string", api->reason_error_string);
  if (!complete) return fail(Code::kUnavailable, "libssl.so.3 is unusable; reinstall the package libssl3");
  std::signal(SIGPIPE, SIG_IGN);
  return api;
}

}  // namespace chela::net
