#include "gateway/gateway.h"

#include <gtest/gtest.h>

#include "api/operations.h"
#include "base/strings.h"
#include "runtime/pool.h"
#include "runtime/task_group.h"
#include "testing/fake_engine.h"
#include "testing/raw_socket.h"
#include "testing/test_dir.h"
#include "tools/registry.h"

namespace chela::gateway {
namespace {

using testing::RawSocket;

constexpr std::string_view kToken = "gateway-token-of-the-test";

// Tokens kept in memory.
class MemoryTokens final : public store::TokenStore {
 public:
  std::vector<store::TokenRow> rows;
  Task<Result<>> put(store::TokenRow row) override {
    rows.push_back(std::move(row));
    co_return Result<>{};
  }
  Task<Result<std::optional<store::TokenRow>>> get(std::string id) override {
    for (const store::TokenRow& row : rows) {
      if (row.id == id) co_return row;
    }
    co_return std::nullopt;
  }
  Task<Result<std::vector<store::TokenRow>>> list(Scope) override { co_return rows; }
  Task<Result<bool>> revoke(Scope, std::string id, UnixMs at) override {
    for (store::TokenRow& row : rows) {
      if (row.id == id) row.revoked_at = at;
      if (row.id == id) co_return true;
    }
    co_return false;
  }
};

class GatewayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    services_.loop = &loop_;
    services_.ids = &ids_;
    services_.engine = &engine_;
    services_.tools = &tools_;
    services_.tokens = &tokens_;
    services_.status = [] { return api::Status{.version = "1"}; };
    services_.ready = [] { return true; };
    ASSERT_TRUE(api::add_operations(registry_, services_));
    options_.socket = dir_.path() + "/gateway.sock";
    start();
  }

  void TearDown() override { runtime::block_on(loop_, gateway_->stop(0ms)); }

  void start(security::FailedLogins::Limits logins = {}) {
    gateway_.reset();
    failed_logins_ = std::make_unique<security::FailedLogins>(loop_.clock(), logins);
    authenticator_ =
        std::make_unique<security::Authenticator>(tokens_, *failed_logins_, std::string(kToken), "u");
    gateway_ = std::make_unique<Gateway>(loop_, registry_, *authenticator_, security::owner_principal("u"),
                                         metrics_, options_);
    const Result<> listening = gateway_->listen();
    ASSERT_TRUE(listening) << listening.error().text();
  }

  template <class Run>
  auto client(Run run) {
    using Value = std::invoke_result_t<Run>;
    return *runtime::block_on(loop_,
                              pool_.run([run = std::move(run)]() mutable -> Result<Value> { return run(); }));
  }

  // One request on a connection of its own; the response with its head.
  std::string ask(std::string request, std::string headers = {}, std::string body = {}) {
    if (headers.find("Host:") == std::string::npos) headers += "Host: localhost\r\n";
    if (!body.empty()) headers += fmt::format("Content-Length: {}\r\n", body.size());
    const std::string bytes = request + " HTTP/1.1\r\nConnection: close\r\n" + headers + "\r\n" + body;
    return client([port = gateway_->port(), bytes] {
      RawSocket socket = RawSocket::connect_tcp(port);
      socket.send(bytes);
      return socket.read_to_end();
    });
  }
  std::string post(const std::string& path, const std::string& body,
                   const std::string& type = "application/json") {
    return ask("POST " + path, fmt::format("Content-Type: {}\r\n", type) + bearer(), body);
  }
  static std::string bearer(std::string_view token = kToken) {
    return fmt::format("Authorization: Bearer {}\r\n", token);
  }

  static int status(const std::string& response) {
    return strings::parse_int<int>(response.substr(9, 3)).value_or(0);
  }
  static json::Value body(const std::string& response) {
    return json::parse(response.substr(response.find("\r\n\r\n") + 4)).value_or(json::Value());
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  testing::TestDir dir_;
  runtime::AsioLoop loop_;
  runtime::Pool pool_{loop_, 4};
  runtime::RandomIdSource ids_{loop_.clock()};
  testing::FakeEngine engine_{loop_};
  tools::Registry tools_;
  obs::Metrics metrics_;
  MemoryTokens token_store_;
  security::TokenService tokens_{token_store_, loop_.clock()};
  std::unique_ptr<security::FailedLogins> failed_logins_;
  std::unique_ptr<security::Authenticator> authenticator_;
  api::Services services_;
  op::Registry registry_;
  GatewayOptions options_;
  std::unique_ptr<Gateway> gateway_;
};

TEST_F(GatewayTest, PublicPagesNeedNoToken) {
  EXPECT_EQ(body(ask("GET /api/health")).string_or("status"), "healthy");
  EXPECT_EQ(status(ask("GET /healthz")), 200);
  EXPECT_EQ(status(ask("GET /readyz")), 200);
  const std::string page = ask("GET /");
  EXPECT_TRUE(has(page, "<title>Chela</title>"));
  EXPECT_TRUE(has(page, "X-Content-Type-Options: nosniff"));
  EXPECT_TRUE(has(page, "X-Frame-Options: DENY"));
  const std::string head = ask("HEAD /api/health");
  EXPECT_EQ(status(head), 200);
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST_F(GatewayTest, EverythingElseWantsIt) {
  for (const char* path : {"/api/chat/history", "/metrics", "/openapi.json", "/v1/models", "/api/tokens"}) {
    const std::string refused = ask(fmt::format("GET {}", path));
    EXPECT_EQ(status(refused), 401) << path;
    EXPECT_TRUE(has(refused, "WWW-Authenticate: Bearer"));
    EXPECT_EQ(status(ask(fmt::format("GET {}", path), bearer("wrong"))), 401);
    EXPECT_EQ(
        status(ask(fmt::format("GET {}", path), "Authorization: Basic " + std::string(kToken) + "\r\n")),
        401);
  }
  EXPECT_EQ(status(ask("GET /api/chat/history", bearer())), 200);
  EXPECT_EQ(status(ask("GET /api/chat/history", "authorization: bEaReR " + std::string(kToken) + "\r\n")),
            200);
  EXPECT_EQ(status(ask(fmt::format("GET /api/chat/history?token={}", kToken))), 200);
  EXPECT_EQ(status(ask("GET /api/chat/history", "x-api-key: " + std::string(kToken) + "\r\n")), 200);
  EXPECT_EQ(status(ask("GET /api/chat/history", "x-api-key: wrong\r\n")), 401);
  EXPECT_TRUE(has(ask("GET /metrics", bearer()), "chela_http_requests_total"));
}

TEST_F(GatewayTest, AnthropicsClientsReadTheirOwnErrors) {
  const std::string bad = post("/v1/messages", R"({"model": "chela"})");
  EXPECT_EQ(status(bad), 400);
  EXPECT_EQ(body(bad).string_or("type"), "error");
  EXPECT_EQ(body(bad).find("error")->string_or("type"), "invalid_request_error");
  EXPECT_EQ(body(ask("POST /v1/messages")).find("error")->string_or("type"), "authentication_error");
}

TEST_F(GatewayTest, TokensMayDoWhatTheyName) {
  const std::string made = post("/api/tokens", R"({"label": "t", "permissions": ["chat:read"]})");
  ASSERT_EQ(status(made), 201) << made;
  const std::string token = body(made).string_or("token");
  EXPECT_EQ(status(ask("GET /api/chat/history", bearer(token))), 200);
  const std::string refused =
      ask("POST /api/chat/send", "Content-Type: application/json\r\n" + bearer(token), R"({"content": "x"})");
  EXPECT_EQ(status(refused), 403);
  EXPECT_EQ(body(refused).find("error")->string_or("code"), "permission_denied");
  const std::string id =
      body(ask("GET /api/tokens", bearer())).find("tokens")->as_array()->at(0).string_or("id");
  EXPECT_EQ(status(ask("DELETE /api/tokens/" + id, bearer())), 200);
  EXPECT_EQ(status(ask("GET /api/chat/history", bearer(token))), 401);
}

TEST_F(GatewayTest, BodiesAreReadStrictly) {
  EXPECT_EQ(status(post("/api/chat/send", R"({"content": "x"})")), 202);
  EXPECT_EQ(status(post("/api/chat/send", R"({"content": "x"})", "application/json; charset=utf-8")), 202);
  EXPECT_EQ(status(post("/api/chat/send", R"({"content": "x"})", "text/plain")), 400);
  EXPECT_EQ(status(post("/api/chat/send", "{\"content\": ")), 400);
  EXPECT_EQ(status(post("/api/chat/send", "[1]")), 400);
  EXPECT_EQ(status(post("/api/chat/send", "{\"content\": \"\xff\"}")), 400);
  EXPECT_EQ(status(post("/api/chat/send", R"({"content": 1})")), 422);
  EXPECT_EQ(status(post("/api/chat/send", "")), 422);
  EXPECT_EQ(status(ask("GET /api/chat/history?thread_id=%ff", bearer())), 400);
  EXPECT_EQ(engine_.sent.size(), 2u);
  EXPECT_EQ(
      status(post("/api/chat/interrupt", R"({"thread_id": ")" + std::string(kMaxBodyBytes, 'x') + "\"}")),
      413);
  // Files may come with a message.
  EXPECT_EQ(status(post("/api/chat/send", R"({"content": ")" + std::string(kMaxBodyBytes, 'x') + "\"}")),
            202);
  EXPECT_EQ(status(post("/api/chat/send", R"({"content": ")" + std::string(kMaxV1BodyBytes, 'x') + "\"}")),
            413);
}

TEST_F(GatewayTest, WhatThereIsNotIsSaid) {
  const std::string missing = ask("GET /nothing");
  EXPECT_EQ(status(missing), 404);
  EXPECT_EQ(body(missing).find("error")->string_or("code"), "not_found");
  const std::string wrong = ask("GET /api/chat/send", bearer());
  EXPECT_EQ(status(wrong), 405);
  EXPECT_TRUE(has(wrong, "Allow: POST"));
  EXPECT_EQ(status(ask("POST /")), 405);
}

TEST_F(GatewayTest, V1SpeaksOpenAisErrors) {
  const json::Value refused =
      *body(ask("POST /v1/chat/completions", "Content-Type: application/json\r\n", "{}")).find("error");
  EXPECT_EQ(refused.string_or("type"), "authentication_error");
  const std::string bad = post("/v1/chat/completions", R"({"model": "chela"})");
  EXPECT_EQ(status(bad), 400);
  EXPECT_EQ(body(bad).find("error")->string_or("param"), "messages");
  EXPECT_EQ(body(bad).find("error")->string_or("type"), "invalid_request_error");
  EXPECT_EQ(body(ask("GET /v1/nothing")).find("error")->string_or("type"), "invalid_request_error");
  engine_.refuse = Error{.code = Code::kRateLimited, .message = "slow down", .retry_after = 1500ms};
  const std::string limited =
      post("/v1/chat/completions", R"({"model": "chela", "messages": [{"role": "user", "content": "x"}]})");
  EXPECT_EQ(status(limited), 429);
  EXPECT_TRUE(has(limited, "Retry-After: 2"));
  EXPECT_EQ(body(limited).find("error")->string_or("code"), "rate_limit");
}

TEST_F(GatewayTest, WhatTheServerRefusesLooksTheSame) {
  const std::string large = std::string(kMaxV1BodyBytes + 1, ' ');
  const std::string v1 = post("/v1/chat/completions", large);
  EXPECT_EQ(status(v1), 413);
  EXPECT_EQ(body(v1).find("error")->string_or("type"), "invalid_request_error");
  EXPECT_TRUE(has(v1, "X-Content-Type-Options: nosniff"));
  const std::string own = post("/api/chat/send", large);
  EXPECT_EQ(status(own), 413);
  EXPECT_EQ(body(own).find("error")->string_or("code"), "too_large");
}

TEST_F(GatewayTest, V1StreamsAndNamesTheThread) {
  engine_.script.push_back(
      {.events = {{"stream_chunk", *json::parse(R"({"content": "Hel"})")}},
       .outcome = {.state = agent::TurnState::kCompleted, .reply = "Hello", .visible = "Hello"}});
  const std::string response =
      post("/v1/chat/completions",
           R"({"model": "chela", "stream": true, "messages": [{"role": "user", "content": "x"}]})");
  EXPECT_EQ(status(response), 200);
  EXPECT_TRUE(has(response, "X-Chela-Thread: thread-1"));
  EXPECT_TRUE(has(response, "Content-Type: text/event-stream"));
  EXPECT_TRUE(has(response, R"("content":"Hel")"));
  EXPECT_TRUE(has(response, R"("content":"lo")"));
  EXPECT_TRUE(has(response, "data: [DONE]\n\n"));
}

TEST_F(GatewayTest, AnErrorAfterTheFirstTextIsAChunk) {
  engine_.script.push_back({.events = {{"stream_chunk", *json::parse(R"({"content": "Hel"})")}},
                            .outcome = {.state = agent::TurnState::kFailed,
                                        .reply = {},
                                        .visible = {},
                                        .error = Error{.code = Code::kUpstream, .message = "cut"}}});
  const std::string response =
      post("/v1/chat/completions",
           R"({"model": "chela", "stream": true, "messages": [{"role": "user", "content": "x"}]})");
  EXPECT_EQ(status(response), 200);
  EXPECT_TRUE(has(response, R"(data: {"error":{"message":"cut")"));
  EXPECT_FALSE(has(response, "[DONE]"));
}

TEST_F(GatewayTest, OtherSitesPagesAreRefused) {
  EXPECT_EQ(status(ask("GET /api/health", "Host: evil.example\r\n")), 403);
  EXPECT_EQ(status(ask("GET /api/health", "Host: 127.0.0.1:3000\r\n")), 200);
  EXPECT_EQ(status(ask("GET /api/health", "Host: [::1]:3000\r\n")), 200);
  EXPECT_EQ(status(ask("GET /api/health", "Host: 127.0.0.1.evil.example\r\n")), 403);
  EXPECT_EQ(status(ask("GET /api/health", "Host: localhost\r\nOrigin: http://evil.example\r\n")), 403);
  EXPECT_EQ(status(ask("GET /api/health", "Host: localhost\r\nOrigin: null\r\n")), 403);
  // A tunnel's visitor shows a token.
  EXPECT_EQ(status(ask("GET /api/chat/history", "Host: tunnel.example\r\n" + bearer())), 200);
}

TEST_F(GatewayTest, ItsOwnPagesMayReadAnswers) {
  const std::string own = fmt::format("Host: localhost\r\nOrigin: http://localhost:{}\r\n", gateway_->port());
  EXPECT_TRUE(has(ask("GET /api/health", own), "Access-Control-Allow-Origin: http://localhost:"));
  const std::string preflight = ask("OPTIONS /api/chat/send", own);
  EXPECT_EQ(status(preflight), 204);
  EXPECT_TRUE(has(preflight, "Access-Control-Allow-Headers: Content-Type, Authorization, X-Api-Key"));
  EXPECT_FALSE(
      has(ask("GET /api/health", "Host: localhost\r\nOrigin: http://localhost:1\r\n"), "Access-Control"));
}

TEST_F(GatewayTest, EventsAreLiveFromTheHeadersOn) {
  RawSocket socket = RawSocket::connect_tcp(gateway_->port());
  const std::string head = client([&socket] {
    socket.send(
        "GET /api/chat/events?thread_id=t&token=gateway-token-of-the-test HTTP/1.1\r\nHost: "
        "localhost\r\nLast-Event-ID: 7.3\r\n\r\n");
    return socket.read_until("\r\n\r\n");
  });
  EXPECT_EQ(status(head), 200);
  EXPECT_TRUE(has(head, "X-Accel-Buffering: no"));
  EXPECT_EQ(engine_.subscribed.at(0), (std::pair<std::string, std::string>("t", "7.3")));
  EXPECT_EQ(gateway_->event_streams(), 1u);
  engine_.publish(
      {.id = "8.0", .type = "status", .data = *json::parse(R"({"type": "status", "thread_id": "t"})")});
  EXPECT_TRUE(
      has(client([&socket] { return socket.read_until("\n\n"); }), "event: status\nid: 8.0\ndata: {"));
  socket.close();
  loop_.run_until([this] { return engine_.subscribers() == 0 && gateway_->event_streams() == 0; });
  engine_.max_subscribers = 0;
  EXPECT_EQ(status(ask("GET /api/chat/events", bearer())), 429);
}

TEST_F(GatewayTest, TheUnixSocketBelongsToTheOwner) {
  const std::string response = client([path = options_.socket] {
    RawSocket socket = RawSocket::connect_unix(path);
    socket.send("GET /api/tokens HTTP/1.1\r\nHost: chela\r\nConnection: close\r\n\r\n");
    return socket.read_to_end();
  });
  EXPECT_EQ(status(response), 200) << response;
}

TEST_F(GatewayTest, WrongTokensMakeTheirAddressWait) {
  runtime::block_on(loop_, gateway_->stop(0ms));
  start({.window = 300ms});
  const auto ask_with = [this](std::string_view token) { return ask("GET /v1/models", bearer(token)); };
  std::string refused = ask_with("wrong");
  EXPECT_EQ(status(refused), 401);
  // A window may end within the loop: the next one then begins.
  for (int i = 0; i < 10 * kMaxFailedLogins && status(refused) != 429; ++i) refused = ask_with("wrong");
  ASSERT_EQ(status(refused), 429) << refused;
  EXPECT_TRUE(has(refused, "Retry-After: 1"));
  EXPECT_EQ(body(refused).find("error")->string_or("type"), "rate_limit_error");
  // Who shows no token guesses nothing, and the owner's socket has no address.
  EXPECT_EQ(status(ask("GET /v1/models")), 401);
  EXPECT_EQ(status(client([path = options_.socket] {
              RawSocket socket = RawSocket::connect_unix(path);
              socket.send("GET /api/tokens HTTP/1.1\r\nHost: chela\r\nConnection: close\r\n\r\n");
              return socket.read_to_end();
            })),
            200);
  // Nor does whoever shows wrong tokens from its address lock the owner out.
  EXPECT_EQ(status(ask("GET /api/tokens", bearer())), 200);
}

// A page of another site may put the gateway's address into an image, with any token.
TEST_F(GatewayTest, WhatPagesOfOtherSitesAskIsRefusedAndNotCounted) {
  const std::string from_there = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n";
  for (int i = 0; i <= kMaxFailedLogins; ++i)
    EXPECT_EQ(status(ask("GET /api/chat/threads?token=bad", from_there)), 403);
  EXPECT_EQ(status(ask("GET /api/chat/threads?token=bad")), 401);
  EXPECT_EQ(status(ask("GET /", from_there)), 403);
  const std::string link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n";
  EXPECT_EQ(status(ask("GET /?token=x", link + "Sec-Fetch-Dest: document\r\n")), 200);
  EXPECT_EQ(status(ask("GET /", link + "Sec-Fetch-Dest: iframe\r\n")), 403);
  EXPECT_EQ(status(ask("GET /api/health", link)), 403);
  EXPECT_EQ(status(ask("GET /api/health", "Sec-Fetch-Site: same-origin\r\n")), 200);
  // localhost and 127.0.0.1 are two sites of one machine.
  EXPECT_EQ(status(ask("GET /api/health", from_there + "Origin: http://127.0.0.1:1\r\n")), 200);
  EXPECT_EQ(status(ask("GET /api/tokens", from_there + bearer())), 200);
}

TEST_F(GatewayTest, ConnectionsPastTheLimitAreRefusedInTheWordsOfTheirPath) {
  runtime::block_on(loop_, gateway_->stop(0ms));
  options_.connections = 1;
  start();
  const auto [v1, own] = client([port = gateway_->port()] {
    const RawSocket held = [port] {
      RawSocket socket = RawSocket::connect_tcp(port);
      socket.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
      socket.read_response();
      return socket;
    }();
    const auto ask = [port](std::string_view path) {
      RawSocket socket = RawSocket::connect_tcp(port);
      socket.send(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path));
      return socket.read_to_end();
    };
    return std::pair(ask("/v1/models"), ask("/api/threads"));
  });
  EXPECT_EQ(status(v1), 503);
  EXPECT_EQ(body(v1).find("error")->string_or("type"), "server_error");
  EXPECT_TRUE(has(v1, "Retry-After: 1"));
  EXPECT_EQ(status(own), 503);
  EXPECT_EQ(body(own).find("error")->string_or("code"), "unavailable");
}

TEST_F(GatewayTest, TakenPortsAreAConflict) {
  GatewayOptions options = options_;
  options.port = gateway_->port();
  options.socket = "";
  Gateway second(loop_, registry_, *authenticator_, security::owner_principal("u"), metrics_, options);
  EXPECT_EQ(second.listen().error().code, Code::kConflict);
  runtime::block_on(loop_, second.stop(0ms));
}

}  // namespace
}  // namespace chela::gateway
