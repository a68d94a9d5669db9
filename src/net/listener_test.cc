#include "net/listener.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "testing/http_fixture.h"

// Listeners, by the server that stands on them.
namespace chela::net {
namespace {

using testing::RawSocket;

constexpr std::string_view kGetClose = "GET /z HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

class ListenerTest : public testing::HttpFixture {
 protected:
  ListenerTest() {
    char name[] = "/tmp/chela-net-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~ListenerTest() override { std::filesystem::remove_all(folder_); }

  // Every request is told who asked.
  void serve() {
    start([](std::shared_ptr<Exchange> exchange) -> Task<> {
      exchange->reply({.body = exchange->request().peer});
      co_return;
    });
  }

  std::string folder_;
};

TEST_F(ListenerTest, ServesAPrivateSocketAndReplacesAStaleOne) {
  serve();
  const std::string path = folder_ + "/s.sock";
  ASSERT_TRUE(server_->listen_unix(path));
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const std::string reply = client([path] {
    RawSocket socket = RawSocket::connect_unix(path);
    socket.send(kGetClose);
    return socket.read_to_end();
  });
  EXPECT_TRUE(reply.ends_with("\r\nunix")) << reply;

  HttpServer second(loop_, {}, [](std::shared_ptr<Exchange>) -> Task<> { co_return; });
  EXPECT_EQ(second.listen_unix(path).error().code, Code::kConflict);
  EXPECT_EQ(second.listen_unix(folder_).error().code, Code::kConflict);
  EXPECT_EQ(second.listen_unix(std::string(200, 'x')).error().code, Code::kInvalidArgument);
  const std::string kept = folder_ + "/kept.sock";
  ASSERT_TRUE(second.listen_unix(kept));
  std::filesystem::rename(kept, path + ".stale");  // survives the listener
  runtime::block_on(loop_, second.stop(0ms));
  ASSERT_TRUE(server_->listen_unix(path + ".stale"));
}

TEST_F(ListenerTest, APortInUseIsAConflict) {
  serve();
  EXPECT_EQ(server_->listen_tcp("127.0.0.1", port_).error().code, Code::kConflict);
  EXPECT_EQ(server_->listen_tcp("no such host", 0).error().code, Code::kInvalidArgument);
}

TEST_F(ListenerTest, AcceptsAgainAfterRunningOutOfDescriptors) {
  serve();
  RawSocket socket = RawSocket::connect_tcp(port_);  // waits in the backlog
  socket.send(kGetClose);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 128, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> fillers;
  for (int fd = ::dup(socket.fd()); fd >= 0; fd = ::dup(socket.fd())) fillers.push_back(fd);
  bool tried = false;
  const SteadyTime began = loop_.clock().steady();
  loop_.call_at(loop_.clock().steady() + 5ms, [&tried] { tried = true; });
  loop_.run_until([&tried] { return tried; });
  EXPECT_EQ(server_->connections(), 0u);
  for (const int fd : fillers) ::close(fd);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  const std::string reply = client([&socket] { return socket.read_to_end(); });
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 200 ")) << reply;
  EXPECT_GE(loop_.clock().steady() - began, kAcceptRetryDelay);  // sooner, it would spin
}

}  // namespace
}  // namespace chela::net
