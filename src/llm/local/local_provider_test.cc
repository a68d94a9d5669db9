#include "llm/local/local_provider.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/strings.h"
#include "llm/local/pull.h"
#include "net/curl_client.h"
#include "os/poller.h"
#include "runtime/asio_loop.h"
#include "runtime/sleep.h"
#include "testing/test_dir.h"

namespace chela::llm::local {
namespace {

constexpr std::string_view kTestData = CHELA_SOURCE_DIR "/src/llm/local/testdata/";
constexpr std::string_view kCatalog =
    R"({"models":{"local":{"small":{"files":["a.gguf"]},"minilm":{"dimensions":384}}}})";

class Local : public ::testing::Test {
 protected:
  void SetUp() override {
    touch("a.gguf");
    start({.program = std::string(kTestData) + "fake_infer.py"});
  }
  void TearDown() override { runtime::block_on(loop, provider->stop()); }

  void start(InferOptions options) {
    options.models_dir = dir.path();
    options.socket = dir.path() + "/infer.sock";
    options.threads = 3;
    options.idle = 90s;
    provider = std::move(*LocalProvider::create(std::move(options),
                                                *Catalog::parse({{"models.toml", *json::parse(kCatalog)}}),
                                                loop, *poller, *http));
  }
  void restart(InferOptions options) {
    runtime::block_on(loop, provider->stop());
    start(std::move(options));
  }

  void touch(const std::string& name) { std::ofstream(dir.path() + "/" + name) << "x"; }
  void remove(const std::string& name) { std::filesystem::remove(dir.path() + "/" + name); }

  Task<Result<Answer>> asking(std::string text) {
    return provider->complete(Request{.model = "local/small", .messages = {{.content = std::move(text)}}}, {},
                              std::nullopt, {});
  }
  Result<Answer> ask(std::string text) { return runtime::block_on(loop, asking(std::move(text))); }

  // Lets the loop run until the process that has ended is seen to have.
  void until_gone() {
    loop.run_until([this] { return !provider->process().ready(); });
  }

  runtime::AsioLoop loop;
  std::unique_ptr<os::Poller> poller = std::move(*os::Poller::create(loop));
  std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop);
  testing::TestDir dir;
  std::unique_ptr<LocalProvider> provider;
};

TEST_F(Local, StartsOnFirstUseAndOnlyOnce) {
  EXPECT_EQ(provider->process().starts(), 0);
  std::vector<Task<Result<Answer>>> many;
  for (int i = 0; i < 5; ++i) many.push_back(asking("hi"));
  const std::vector<Result<Answer>> answers = runtime::block_on(loop, runtime::gather(loop, std::move(many)));
  for (const Result<Answer>& answer : answers) {
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->text, answers[0]->text);
    EXPECT_TRUE(answer->text.ends_with(" 3 90")) << answer->text;  // threads and idle time arrive
  }
  EXPECT_EQ(provider->process().starts(), 1);
  EXPECT_EQ(*runtime::block_on(loop, provider->models({})), std::vector<std::string>{"local/small"});
}

TEST_F(Local, StartsAgainAfterACrashAndAfterAnIdleEnd) {
  const Result<Answer> crashed = ask("crash");
  ASSERT_FALSE(crashed);
  // Which of the two depends on whether a kept connection was used; both are tried again by RetryProvider.
  EXPECT_TRUE(crashed.error().code == Code::kUpstream || crashed.error().code == Code::kUnavailable)
      << crashed.error().text();
  until_gone();
  ASSERT_TRUE(ask("leave"));
  until_gone();
  const Result<Answer> again = ask("hi");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(provider->process().starts(), 3);
}

TEST_F(Local, GivesUpWhenItEndsAgainAndAgain) {
  touch("broken");
  for (int i = 0; i < kMaxInferStarts; ++i) {
    const Result<Answer> failed = ask("hi");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::kUnavailable);
    EXPECT_NE(failed.error().message.find("a model file is damaged"), std::string::npos)
        << failed.error().message;
    EXPECT_LT(failed.error().message.size(), kMaxInferLogTail);
  }
  remove("broken");
  const Result<Answer> refused = ask("hi");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail("retry"), "no");
  EXPECT_NE(refused.error().message.find("Next step"), std::string::npos);
  EXPECT_EQ(provider->process().starts(), kMaxInferStarts);
}

TEST_F(Local, StartsThatAreLongAgoDoNotCount) {
  touch("broken");
  restart({.program = std::string(kTestData) + "fake_infer.py", .start_window = 0ms});
  for (int i = 0; i < kMaxInferStarts; ++i) EXPECT_FALSE(ask("hi"));
  remove("broken");
  const Result<Answer> again = ask("hi");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(provider->process().starts(), kMaxInferStarts + 1);
}

TEST(InferOptions, BeginWithTheLimits) {
  EXPECT_EQ(InferOptions{}.start_timeout, kInferStartTimeout);
  EXPECT_EQ(InferOptions{}.start_window, kInferStartWindow);
}

TEST_F(Local, AProcessThatNeverListensIsEnded) {
  touch("silent");
  restart({.program = std::string(kTestData) + "fake_infer.py", .start_timeout = 50ms});
  const Result<Answer> failed = ask("hi");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kTimeout);
  EXPECT_FALSE(provider->process().ready());
}

TEST_F(Local, MissingModelsAreAskedForByTheirCommand) {
  remove("a.gguf");
  const Result<Answer> answer = ask("hi");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_NE(answer.error().message.find("`chela models pull local/small`"), std::string::npos);
  EXPECT_TRUE(runtime::block_on(loop, provider->models({}))->empty());
  EXPECT_EQ(provider->process().starts(), 0);
}

TEST_F(Local, AMissingProgramIsSaidPlainly) {
  restart({.program = dir.path() + "/nothing"});
  const Result<Answer> answer = ask("hi");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_NE(answer.error().message.find("--infer-path"), std::string::npos);
}

TEST_F(Local, TheProcessEndsWithItsOwner) {
  const Result<Answer> answer = ask("hi");
  ASSERT_TRUE(answer) << answer.error().text();
  const auto pid = strings::parse_int<pid_t>(strings::split(answer->text, ' ')[0]);
  ASSERT_TRUE(pid);
  EXPECT_EQ(::kill(*pid, 0), 0);
  runtime::block_on(loop, provider->stop());
  EXPECT_NE(::kill(*pid, 0), 0);
  EXPECT_EQ(ask("hi").error().code, Code::kUnavailable);
}

TEST_F(Local, ACallerThatGoesDoesNotDisturbTheStart) {
  std::stop_source stop;
  loop.post([&stop] { stop.request_stop(); });
  const Result<> gone = runtime::block_on(loop, provider->process().ensure(stop.get_token()));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::kCancelled);
  ASSERT_TRUE(ask("hi"));
  EXPECT_EQ(provider->process().starts(), 1);
}

class Pull : public Local {
 protected:
  Result<> pull_with(std::string_view python, std::stop_token stop = {}) {
    std::ofstream(dir.path() + "/script.py") << python;
    return runtime::block_on(
        loop, pull(
                  *poller, {.script = dir.path() + "/script.py", .models_dir = dir.path()},
                  [this](std::string_view line) { lines.emplace_back(line); }, std::move(stop)));
  }
  std::vector<std::string> lines;
};

TEST_F(Pull, ReportsProgress) {
  const Result<> pulled = pull_with(
      "import sys\nprint('models: one', file=sys.stderr)\nprint('models:', *sys.argv[1:2], file=sys.stderr)");
  ASSERT_TRUE(pulled) << pulled.error().text();
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "--dest"}));
}

TEST_F(Pull, FailsWithTheScriptsOwnWords) {
  const Result<> pulled = pull_with("import sys\nsys.exit('models: error: no network. Check the cable')");
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code, Code::kUnavailable);
  EXPECT_NE(pulled.error().message.find("no network. Check the cable"), std::string::npos);
}

TEST_F(Pull, CanBeStopped) {
  std::stop_source stop;
  loop.post([&stop] { stop.request_stop(); });
  const Result<> pulled = pull_with("import time\ntime.sleep(600)", stop.get_token());
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace chela::llm::local
