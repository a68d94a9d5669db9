#include "os/notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "os/fd.h"
#include "os/file.h"

namespace chela::os {

Result<> notify_manager(const std::string& address, std::string_view state) {
  if (address.empty()) return {};
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  const bool abstract = address.front() == '@';
  if ((!abstract && address.front() != '/') || address.size() >= sizeof target.sun_path)
    return fail(Code::kInvalidArgument, "NOTIFY_SOCKET '{}' is no address of a service manager", address);
  std::memcpy(target.sun_path, address.data(), address.size());
  if (abstract) target.sun_path[0] = '\0';
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail(system_error(errno, "reach", address));
  // The manager reads all the time; were it stuck, this service would not wait for it.
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  const ssize_t sent = ::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                                reinterpret_cast<const sockaddr*>(&target), length);
  if (sent < 0) return fail(system_error(errno, "tell", address));
  return {};
}

}  // namespace chela::os
