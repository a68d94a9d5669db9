#include "bench/arguments.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/check.h"

namespace chela::bench {

Arguments::Arguments(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::atof(argv[i + 1]);
    if (std::strcmp(argv[i], "--turns") == 0) turns = std::atol(argv[i + 1]);
    if (std::strcmp(argv[i], "--dir") == 0) folder = argv[i + 1];
  }
  if (!folder.empty()) return;
  char name[] = "chela-bench-XXXXXX";
  CHELA_CHECK(::mkdtemp(name) != nullptr, "a benchmark cannot make a folder here");
  folder = made_ = std::filesystem::absolute(name).string();
}

Arguments::~Arguments() {
  std::error_code ignored;
  if (!made_.empty()) std::filesystem::remove_all(made_, ignored);
}

int connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace chela::bench
