#include "os/notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "os/fd.h"
#include "testing/test_dir.h"

namespace chela::os {
namespace {

// A service manager's socket; `name` as in NOTIFY_SOCKET.
Fd manager(const std::string& name) {
  Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name.front() == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  return fd;
}

std::string received(const Fd& fd) {
  char buffer[256];
  const ssize_t count = ::recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  return count < 0 ? "" : std::string(buffer, static_cast<size_t>(count));
}

TEST(Notify, TellsTheManagerInOneDatagram) {
  const testing::TestDir dir;
  for (const std::string& name : {dir.path() + "/notify", "@chela-test-" + std::to_string(::getpid())}) {
    const Fd fd = manager(name);
    ASSERT_TRUE(notify_manager(name, "READY=1\nSTATUS=serving"));
    EXPECT_EQ(received(fd), "READY=1\nSTATUS=serving");
  }
}

TEST(Notify, NoManagerIsNoErrorAndAWrongOneIs) {
  EXPECT_TRUE(notify_manager("", "READY=1"));
  EXPECT_EQ(notify_manager("relative", "READY=1").error().code, Code::kInvalidArgument);
  EXPECT_EQ(notify_manager("/" + std::string(200, 'x'), "READY=1").error().code, Code::kInvalidArgument);
  EXPECT_FALSE(notify_manager("/nothing/listens/here", "READY=1"));
}

TEST(Notify, AManagerThatReadsNothingIsNotWaitedFor) {
  const testing::TestDir dir;
  const Fd fd = manager(dir.path() + "/notify");
  Result<> told;
  for (int i = 0; i < 10'000 && told; ++i) told = notify_manager(dir.path() + "/notify", "READY=1");
  EXPECT_EQ(told.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace chela::os
