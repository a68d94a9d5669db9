#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>

#include "base/result.h"

namespace chela::net {

// The functions of OpenSSL that TlsClient uses, found with dlopen at run time. Compiled against OpenSSL's headers, not linked.
struct TlsApi {
  // kUnavailable when the library is missing. The library stays loaded. A connection that breaks is an error of the call that writes to
  // it and no signal from now on: OpenSSL writes with write().
  static Result<std::shared_ptr<const TlsApi>> load();

  decltype(&TLS_client_method) client_method;
  decltype(&SSL_CTX_new) ctx_new;
  decltype(&SSL_CTX_free) ctx_free;
  decltype(&SSL_CTX_ctrl) ctx_ctrl;
  decltype(&SSL_CTX_set_options) ctx_set_options;
  decltype(&SSL_CTX_set_verify) ctx_set_verify;
  decltype(&SSL_CTX_set_default_verify_paths) ctx_set_default_verify_paths;
  decltype(&SSL_CTX_load_verify_locations) ctx_load_verify_locations;
  decltype(&SSL_new) ssl_new;
  decltype(&SSL_free) ssl_free;
  decltype(&SSL_ctrl) ssl_ctrl;
  decltype(&SSL_set_fd) ssl_set_fd;
  decltype(&SSL_set1_host) ssl_set1_host;
  decltype(&SSL_get0_param) ssl_get0_param;
  decltype(&SSL_set_connect_state) ssl_set_connect_state;
  decltype(&SSL_do_handshake) ssl_do_handshake;
  decltype(&SSL_read_ex) ssl_read_ex;
  decltype(&SSL_write_ex) ssl_write_ex;
  decltype(&SSL_pending) ssl_pending;
  decltype(&SSL_shutdown) ssl_shutdown;
  decltype(&SSL_get_error) ssl_get_error;
  decltype(&SSL_get_verify_result) ssl_get_verify_result;
  decltype(&X509_VERIFY_PARAM_set1_ip_asc) param_set1_ip_asc;
  decltype(&X509_verify_cert_error_string) verify_error_string;
  decltype(&ERR_clear_error) clear_error;
  decltype(&ERR_get_error) get_error;
  decltype(&ERR_reason_error_string) reason_error_string;
};

}  // namespace chela::net
