#include "testing/raw_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace chela::testing {
namespace {

constexpr time_t kGiveUpSeconds = 10;
constexpr int kSmallBuffer = 4096;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

RawSocket connect_loopback(std::uint16_t port, int receive_buffer) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer > 0) ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  const sockaddr_in address = loopback(port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return RawSocket(fd);
  ::close(fd);
  return RawSocket(-1);
}

}  // namespace

RawSocket::RawSocket(int fd) : fd_(fd) {
  if (fd_ < 0) return;
  const timeval give_up{.tv_sec = kGiveUpSeconds, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &give_up, sizeof give_up);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &give_up, sizeof give_up);
}

RawSocket::RawSocket(RawSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), buffer_(std::move(other.buffer_)) {}
RawSocket::~RawSocket() { close(); }

RawSocket RawSocket::connect_tcp(std::uint16_t port) { return connect_loopback(port, 0); }
RawSocket RawSocket::connect_slow(std::uint16_t port) { return connect_loopback(port, kSmallBuffer); }

RawSocket RawSocket::connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHELA_CHECK(path.size() < sizeof address.sun_path, "a socket path of a test is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return RawSocket(fd);
  ::close(fd);
  return RawSocket(-1);
}

bool RawSocket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool RawSocket::read_more() {
  char chunk[16 * 1024];
  const ssize_t n = ::recv(fd_, chunk, sizeof chunk, 0);
  if (n <= 0) return false;
  buffer_.append(chunk, static_cast<size_t>(n));
  return true;
}

std::string RawSocket::take(size_t bytes) {
  std::string out = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return out;
}

std::string RawSocket::read_until(std::string_view text) {
  while (true) {
    const size_t at = buffer_.find(text);
    if (at != std::string::npos) return take(at + text.size());
    if (!read_more()) return take(buffer_.size());
  }
}

std::string RawSocket::read_to_end() {
  while (read_more()) {
  }
  return take(buffer_.size());
}

std::string RawSocket::read_some() {
  if (buffer_.empty()) read_more();
  return take(buffer_.size());
}

std::string RawSocket::read_response() {
  constexpr std::string_view kLength = "content-length: ";
  std::string head = read_until("\r\n\r\n");
  const size_t at = strings::lower(head).find(kLength);
  if (at == std::string::npos) return head;
  const size_t digits = at + kLength.size();
  const auto length =
      strings::parse_int<size_t>(head.substr(digits, head.find('\r', digits) - digits)).value_or(0);
  while (buffer_.size() < length && read_more()) {
  }
  return head + take(std::min(length, buffer_.size()));
}

void RawSocket::shutdown_send() { ::shutdown(fd_, SHUT_WR); }

void RawSocket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void RawSocket::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

RawServer::RawServer(Script script) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  CHELA_CHECK(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                  ::listen(fd_, SOMAXCONN) == 0 &&
                  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) == 0,
              "a test cannot listen on loopback");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([fd = fd_, script = std::move(script)] {
    while (true) {
      const int client = ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      RawSocket socket(client);
      script(socket);
    }
  });
}

RawServer::~RawServer() {
  ::shutdown(fd_, SHUT_RDWR);  // wakes accept
  thread_.join();
  ::close(fd_);
}

}  // namespace chela::testing
