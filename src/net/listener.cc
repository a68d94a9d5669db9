#include "net/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/limits.h"

namespace chela::net {
namespace {

std::string error_text(int code) { return std::error_code(code, std::generic_category()).message(); }

std::string peer_text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return fmt::format("{}:{}", text, ntohs(v4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return fmt::format("[{}]:{}", text, ntohs(v6.sin6_port));
  }
  return "unix";
}

Result<UniqueFd> bound_tcp_socket(const addrinfo& address, const std::string& where) {
  UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid())
    return fail(Code::kUnavailable, "cannot open a socket for {}: {}", where, error_text(errno));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.ai_family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd.get(), address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd.get(), SOMAXCONN) == 0)
    return fd;
  if (errno == EADDRINUSE)
    return fail(Code::kConflict, "{} is in use by another program; choose another port", where);
  if (errno == EACCES)
    return fail(Code::kPermissionDenied, "no permission to listen on {}; choose a port above 1023", where);
  return fail(Code::kUnavailable, "cannot listen on {}: {}", where, error_text(errno));
}

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return fail(Code::kInvalidArgument, "the socket path {} must have 1 to {} bytes", path,
                sizeof address.sun_path - 1);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Removes a socket that nobody listens on.
Result<> remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode))
    return fail(Code::kConflict, "{} exists and is no socket; remove it or choose another path", path);
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool refused =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno == ECONNREFUSED;
  if (!refused) return fail(Code::kConflict, "another program listens on {}", path);
  if (::unlink(path.c_str()) != 0)
    return fail(Code::kUnavailable, "cannot remove the stale socket {}: {}", path, error_text(errno));
  return {};
}

}  // namespace

Listener::Listener(runtime::AsioLoop& loop, UniqueFd fd, OnAccept on_accept)
    : loop_(loop), fd_(std::move(fd)), watch_(loop, fd_.get()), on_accept_(std::move(on_accept)) {
  wait();
}

Listener::~Listener() {
  if (retry_) loop_.cancel(*retry_);
  if (!unlink_path_.empty()) ::unlink(unlink_path_.c_str());
}

Result<std::unique_ptr<Listener>> Listener::tcp(runtime::AsioLoop& loop, const std::string& host,
                                                std::uint16_t port, OnAccept on_accept) {
  const std::string where = fmt::format("{}:{}", host, port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      failed != 0) {
    return fail(Code::kInvalidArgument, "cannot listen on {}: {}", where, ::gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  Result<UniqueFd> fd = bound_tcp_socket(*addresses, where);
  if (!fd) return fail(fd.error());
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(fd->get(), reinterpret_cast<sockaddr*>(&bound), &length);
  std::unique_ptr<Listener> listener(new Listener(loop, *std::move(fd), std::move(on_accept)));
  listener->port_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                                      : reinterpret_cast<sockaddr_in&>(bound).sin_port);
  return listener;
}

Result<std::unique_ptr<Listener>> Listener::unix_socket(runtime::AsioLoop& loop, const std::string& path,
                                                        OnAccept on_accept) {
  const Result<sockaddr_un> address = unix_address(path);
  if (!address) return fail(address.error());
  if (Result<> removed = remove_stale(path, *address); !removed) return fail(removed.error());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // Nobody can connect between bind and listen, so the mode is set before anybody may use it.
  if (!fd.valid() || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    return fail(Code::kUnavailable, "cannot listen on {}: {}", path, error_text(errno));
  }
  std::unique_ptr<Listener> listener(new Listener(loop, std::move(fd), std::move(on_accept)));
  listener->unlink_path_ = path;
  return listener;
}

void Listener::wait() {
  watch_.wait(Ready::kRead, [this] { accept_ready(); });
}

void Listener::accept_ready() {
  // A burst is taken in portions, so that it does not hold up the connections there are.
  constexpr int kPortion = 32;
  for (int i = 0; i < kPortion; ++i) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    UniqueFd socket(
        ::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        // The socket stays ready: waiting for it would spin.
        retry_ = loop_.call_at(loop_.clock().steady() + kAcceptRetryDelay, [this] {
          retry_.reset();
          wait();
        });
        return;
      }
      break;  // none left, or the one that was there has gone
    }
    const bool tcp = address.ss_family == AF_INET || address.ss_family == AF_INET6;
    if (tcp) {
      const int on = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    on_accept_({std::move(socket), peer_text(address), tcp ? Transport::kTcp : Transport::kUnix});
  }
  wait();
}

}  // namespace chela::net
