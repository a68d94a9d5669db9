#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include "testing/raw_socket.h"
#include "testing/test_dir.h"

namespace chela::net {

// Certificates for one test: an authority that nobody else knows, and what it signed for some names. Made by OpenSSL's program. Files:
// ca.pem, server.pem, server.key.
class TestCertificates {
 public:
  explicit TestCertificates(std::string names = "DNS:localhost,IP:127.0.0.1") : names_(std::move(names)) {
    run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test-authority "
        "-addext basicConstraints=critical,CA:TRUE -keyout ca.key -out ca.pem");
    run("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout server.key "
        "-out server.csr");
    run("x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names.cnf -out "
        "server.pem");
  }
  std::string file(std::string_view name) const { return fmt::format("{}/{}", dir_.path(), name); }

 private:
  void run(const std::string& arguments) {
    const std::string command =
        fmt::format("cd '{}' && echo subjectAltName={} > names.cnf && openssl {} 2> said", dir_.path(),
                    names_, arguments);
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  const std::string names_;
  const testing::TestDir dir_;
};

// The server's side of TLS, by blocking calls; OpenSSL is found as TlsApi finds it.
class TlsServerApi {
 public:
  TlsServerApi() : library_(::dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL)) {}

  template <class Function>
  Function* find(Function*, const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(library_, name));
  }

 private:
  void* const library_;
};
#define CHELA_TLS(api, name) (api).find(&name, #name)

// Ends the TLS of each connection, one after the other, and passes on what comes to a plain port of loopback and back.
class TlsTunnel {
 public:
  TlsTunnel(const TestCertificates& certificates, std::uint16_t to)
      : context_(CHELA_TLS(api_, SSL_CTX_new)(CHELA_TLS(api_, TLS_server_method)()),
                 CHELA_TLS(api_, SSL_CTX_free)),
        to_(to),
        server_([this](testing::RawSocket& socket) { serve(socket); }) {
    EXPECT_EQ(CHELA_TLS(api_, SSL_CTX_use_certificate_chain_file)(context_.get(),
                                                                  certificates.file("server.pem").c_str()),
              1);
    EXPECT_EQ(CHELA_TLS(api_, SSL_CTX_use_PrivateKey_file)(
                  context_.get(), certificates.file("server.key").c_str(), SSL_FILETYPE_PEM),
              1);
  }
  std::uint16_t port() const { return server_.port(); }

 private:
  void serve(testing::RawSocket& socket) {
    SSL* ssl = CHELA_TLS(api_, SSL_new)(context_.get());
    CHELA_TLS(api_, SSL_set_fd)(ssl, socket.fd());
    if (CHELA_TLS(api_, SSL_accept)(ssl) == 1) pump(ssl, socket.fd());
    CHELA_TLS(api_, SSL_free)(ssl);
  }

  void pump(SSL* ssl, int secured) {
    testing::RawSocket plain = testing::RawSocket::connect_tcp(to_);
    std::array<char, 64 * 1024> buffer;
    for (;;) {
      std::array<pollfd, 2> ready{{{.fd = secured, .events = POLLIN, .revents = 0},
                                   {.fd = plain.fd(), .events = POLLIN, .revents = 0}}};
      if (::poll(ready.data(), ready.size(), 10'000) <= 0) return;
      if (ready[0].revents != 0) {
        do {
          const int n = CHELA_TLS(api_, SSL_read)(ssl, buffer.data(), static_cast<int>(buffer.size()));
          if (n <= 0 || !plain.send({buffer.data(), static_cast<size_t>(n)})) return;
        } while (CHELA_TLS(api_, SSL_pending)(ssl) > 0);
      }
      if (ready[1].revents != 0) {
        const ssize_t n = ::read(plain.fd(), buffer.data(), buffer.size());
        if (n <= 0) {
          CHELA_TLS(api_, SSL_shutdown)(ssl);
          return;
        }
        if (CHELA_TLS(api_, SSL_write)(ssl, buffer.data(), static_cast<int>(n)) <= 0) return;
      }
    }
  }

  const TlsServerApi api_;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  const std::uint16_t to_;
  testing::RawServer server_;
};

}  // namespace chela::net
