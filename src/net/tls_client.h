#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/pool.h"
#include "runtime/task.h"

struct ssl_st;
struct ssl_ctx_st;

namespace chela::net {

struct TlsApi;
class TlsClient;

// The TLS of one connection: what is read from and written to its socket, which stays the caller's, does not block and outlives this.
// Never waits: says what the socket must be ready for. Loop thread only.
class TlsLink {
 public:
  enum class State { kDone, kWantRead, kWantWrite, kEnd, kBroken };
  struct Did {
    State state;
    size_t bytes = 0;  // read or written, when it is done
  };

  ~TlsLink();
  TlsLink(const TlsLink&) = delete;
  TlsLink& operator=(const TlsLink&) = delete;

  // Until it is done; the peer's certificate is checked. After kBroken, problem() says why.
  Did handshake();
  Did read(std::span<char> into);
  // May write a part. What was refused with kWant... is given again, more behind it or not.
  Did write(std::string_view bytes);
  // Bytes have come that read() has not given: the socket need not become ready for them.
  bool has_more() const;
  // Tells the peer that nothing more comes.
  void say_end();
  const std::string& problem() const { return problem_; }

 private:
  friend class TlsClient;
  TlsLink(std::shared_ptr<const TlsClient> client, ssl_st* ssl);
  Did did(int result, size_t bytes);

  const std::shared_ptr<const TlsClient> client_;
  ssl_st* const ssl_;
  std::string problem_;
};

// What makes connections TLS: whom it trusts. At least TLS 1.2, no renegotiation. Any thread.
class TlsClient : public std::enable_shared_from_this<TlsClient> {
 public:
  // Trusts the certificates in the file (PEM); "": those that the system trusts (SSL_CERT_FILE says otherwise). Blocks: reads files.
  static Result<std::shared_ptr<const TlsClient>> create(const std::string& ca_file);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // The peer at the socket has to be `host`: a name, or an IP address.
  Result<std::unique_ptr<TlsLink>> secure(int socket, const std::string& host) const;

 private:
  friend class TlsLink;
  TlsClient(std::shared_ptr<const TlsApi> api, ssl_ctx_st* context);

  const std::shared_ptr<const TlsApi> api_;
  ssl_ctx_st* const context_;
};

// A TlsClient that is made when it is first wanted, and then kept: it costs 4 MB and 20 ms. Loop thread only.
class TlsTrust {
 public:
  explicit TlsTrust(std::string ca_file = {}) : ca_file_(std::move(ca_file)) {}
  Task<Result<std::shared_ptr<const TlsClient>>> client(runtime::Pool& pool);

 private:
  const std::string ca_file_;
  std::shared_ptr<const TlsClient> made_;
};

}  // namespace chela::net
