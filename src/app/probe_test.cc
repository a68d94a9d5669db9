#include "app/probe.h"

#include <gtest/gtest.h>

#include "config/config.h"
#include "net/curl_client.h"
#include "runtime/task_group.h"
#include "testing/raw_socket.h"
#include "testing/test_dir.h"

namespace chela::app {
namespace {

class ProbeTest : public ::testing::Test {
 protected:
  config::Settings settings_for(std::uint16_t port) {
    return config::Config::load(
               {.environment = {{"CHELA_LLM_BACKEND", "openai_compatible"},
                                {"CHELA_LLM_BASE_URL", fmt::format("http://127.0.0.1:{}/v1", port)},
                                {"CHELA_LLM_MODEL", "m"},
                                {"CHELA_LLM_API_KEY", "k"}}})
        .value()
        .settings();
  }
  ProbeParts parts() {
    return {.loop = loop_, .poller = *poller_, .http = *http_, .paths = paths_, .environment = environment_};
  }
  template <class T>
  T run(Task<T> task) {
    return runtime::block_on(loop_, std::move(task));
  }

  testing::TestDir dir_;
  runtime::AsioLoop loop_;
  std::unique_ptr<os::Poller> poller_ = os::Poller::create(loop_).value();
  std::unique_ptr<net::HttpClient> http_ = net::make_curl_client(loop_);
  Paths paths_ = *paths_for(dir_.path(), {});
  std::map<std::string, std::string> environment_;
};

TEST_F(ProbeTest, TheProvidersListComesAsItIs) {
  const testing::RawServer server([](testing::RawSocket& socket) {
    socket.read_until("\r\n\r\n");
    socket.send(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
        R"({"data":[{"id":"b"},{"id":"a"}]})");
  });
  const auto models = run(list_models(parts(), settings_for(server.port()), {}));
  ASSERT_TRUE(models) << models.error().text();
  EXPECT_EQ(std::set<std::string>(models->begin(), models->end()), (std::set<std::string>{"a", "b"}));
}

TEST_F(ProbeTest, AProviderThatIsSilentIsNotWaitedForLong) {
  EXPECT_EQ(parts().list_wait, kProbeTimeout);
  EXPECT_EQ(parts().hello_wait, kTestCallTimeout);
  const testing::RawServer server([](testing::RawSocket& socket) { socket.read_to_end(); });
  ProbeParts impatient = parts();
  impatient.list_wait = impatient.hello_wait = 30ms;
  EXPECT_EQ(run(list_models(impatient, settings_for(server.port()), {})).error().code, Code::kTimeout);
  EXPECT_EQ(run(say_hello(impatient, settings_for(server.port()), {})).error().code, Code::kTimeout);
}

TEST_F(ProbeTest, AnErrorIsNotTriedAgain) {
  int asked = 0;
  const testing::RawServer server([&asked](testing::RawSocket& socket) {
    ++asked;
    socket.read_until("\r\n\r\n");
    socket.send("HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  EXPECT_FALSE(run(say_hello(parts(), settings_for(server.port()), {})));
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace chela::app
