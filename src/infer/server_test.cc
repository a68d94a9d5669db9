// The HTTP surface without models: routes, errors, queue limit, idle end. Requests go over a real Unix socket.
#include "infer/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fstream>
#include <thread>

#include "base/json.h"
#include "os/fd.h"
#include "runtime/task_group.h"

namespace chela::infer {
namespace {

// Sends one request, reads until the server closes.
std::string send_request(const std::string& socket_path, const std::string& request) {
  const os::Fd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return "no connection";
  std::size_t sent = 0;
  while (sent < request.size()) {
    const auto n = ::send(fd.get(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  std::string reply;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0;)
    reply.append(buffer, static_cast<std::size_t>(n));
  return reply;
}

std::string post(std::string_view path, std::string_view body) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: "
      "{}\r\n\r\n{}",
      path, body.size(), body);
}

std::string get(std::string_view path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
}

int status_of(const std::string& reply) { return reply.size() > 12 ? std::atoi(reply.c_str() + 9) : 0; }

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("chela_infer_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    socket_ = (folder_ / "s").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Sends the requests one after another to a running server; returns the replies.
  std::vector<std::string> run(const std::vector<std::string>& requests,
                               std::size_t queue = kMaxQueuedRequests) {
    runtime::AsioLoop loop;
    Server server(loop, {.host = {.models = folder_, .threads = 1}, .queue = queue});
    EXPECT_TRUE(server.listen(socket_));
    std::vector<std::string> replies;
    std::thread client([&] {
      for (const auto& request : requests) replies.push_back(send_request(socket_, request));
      loop.post([&server] { server.stop(); });
    });
    runtime::block_on(loop, server.run());
    client.join();
    return replies;
  }

  std::filesystem::path folder_;
  std::string socket_;
};

TEST_F(ServerTest, ListsTheFilesOfTheFolder) {
  std::ofstream(folder_ / "My-Model.Q4.gguf") << "x";
  std::ofstream(folder_ / "notes.txt") << "x";
  const auto replies = run({get("/health"), get("/v1/models"), get("/v1/nothing"), post("/health", "{}")});
  EXPECT_EQ(status_of(replies[0]), 200);
  EXPECT_EQ(status_of(replies[1]), 200);
  EXPECT_TRUE(replies[1].contains("\"local/My-Model.Q4\"")) << replies[1];
  EXPECT_FALSE(replies[1].contains("notes"));
  EXPECT_EQ(status_of(replies[2]), 404);
  EXPECT_EQ(status_of(replies[3]), 404);
}

TEST_F(ServerTest, MistakesGetOpenAisEnvelope) {
  std::ofstream(folder_ / "broken.gguf") << "this is no model";
  const auto message = std::string(R"("messages":[{"role":"user","content":"hello"}])");
  const auto replies =
      run({post("/v1/chat/completions", "{bad"),
           post("/v1/chat/completions", R"({"model":"local/x",)" + message + "}"),
           post("/v1/chat/completions", R"({"model":"local/../secret",)" + message + "}"),
           post("/v1/chat/completions",
                R"({"model":"local/small","tools":[{"type":"function","function":{"name":"t"}}],)" + message +
                    "}"),
           post("/v1/chat/completions",
                R"({"model":"local/broken","tools":[{"type":"function","function":{"name":"t"}}],)" +
                    message + "}"),
           post("/v1/chat/completions", R"({"model":"local/broken",)" + message + "}"),
           post("/v1/chat/completions", R"({"model":"local/minilm",)" + message + "}"),
           post("/v1/embeddings", R"({"model":"local/minilm","input":[]})"),
           post("/v1/embeddings", R"({"model":"local/minilm","input":[7]})"),
           post("/v1/embeddings", R"({"model":"other","input":"x"})"),
           post("/v1/embeddings", R"({"model":"local/minilm","input":"x"})")});
  const std::vector<int> expected = {400, 404, 404, 503, 400, 422, 400, 400, 400, 400, 503};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(status_of(replies[i]), expected[i]) << i << "\n" << replies[i];
    EXPECT_TRUE(replies[i].contains(R"({"error":{"message":)")) << replies[i];
  }
  EXPECT_TRUE(replies[1].contains("\"code\":\"model_not_found\""));
  EXPECT_TRUE(replies[3].contains("chela models pull local/small")) << replies[3];
}

TEST_F(ServerTest, AnErrorBeforeTheFirstByteOfAStreamIsAnOrdinaryResponse) {
  const auto replies =
      run({post("/v1/chat/completions",
                R"({"model":"local/small","stream":true,"messages":[{"role":"user","content":"hello"}]})")});
  EXPECT_EQ(status_of(replies[0]), 503);
  EXPECT_TRUE(replies[0].contains("application/json"));
}

TEST_F(ServerTest, EmbeddingLimitsAreReached) {
  std::string many = R"({"model":"local/minilm","input":["x")";
  for (std::size_t i = 0; i < kMaxEmbeddingInputs; ++i) many += ",\"x\"";
  const auto replies =
      run({post("/v1/embeddings", many + "]}"),
           post("/v1/embeddings", R"({"model":"local/minilm","input":")" +
                                      std::string(kMaxEmbeddingInputBytes + 1, 'x') + "\"}")});
  for (const auto& reply : replies) EXPECT_EQ(status_of(reply), 400) << reply;
}

TEST_F(ServerTest, WhoFindsNoPlaceInTheQueueComesAgainLater) {
  EXPECT_EQ(ServerOptions{}.queue, kMaxQueuedRequests);
  const auto replies =
      run({post("/v1/chat/completions", R"({"model":"local/x","messages":[{"role":"user","content":"hi"}]})"),
           post("/v1/embeddings", R"({"model":"local/minilm","input":"x"})"), get("/health")},
          0);
  for (const auto& reply : {replies[0], replies[1]}) {
    EXPECT_EQ(status_of(reply), 429) << reply;
    EXPECT_TRUE(reply.contains("Retry-After: ")) << reply;
    EXPECT_TRUE(reply.contains("rate_limit")) << reply;
  }
  EXPECT_EQ(status_of(replies[2]), 200);
}

TEST_F(ServerTest, EndsByItselfWhenIdle) {
  EXPECT_EQ(ServerOptions{}.idle, kDefaultIdle);
  runtime::AsioLoop loop;
  Server server(loop, {.host = {.models = folder_, .threads = 1}, .idle = std::chrono::seconds(0)});
  ASSERT_TRUE(server.listen(socket_));
  runtime::block_on(loop, server.run());
}

}  // namespace
}  // namespace chela::infer
