#pragma once

#include <memory>

#include "net/http_client.h"
#include "runtime/asio_loop.h"

namespace chela::net {

// The client over libcurl, on the loop's own thread: HTTP/1.1 and, by ALPN, HTTP/2; connections are reused. libcurl.so.4 is opened at
// the first request, so that a process that makes none does not pay for it. Environment proxies (http_proxy, https_proxy, all_proxy,
// no_proxy) count only for destinations that a person configured (EgressPolicy::exact_host), and never for loopback; SSL_CERT_FILE
// replaces the system's certificates. No cookies. The loop outlives the client and every stream it gave.
std::unique_ptr<HttpClient> make_curl_client(runtime::AsioLoop& loop);

}  // namespace chela::net
