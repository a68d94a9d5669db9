#include "net/curl_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/strings.h"
#include "net/http_server.h"
#include "net/sse.h"
#include "runtime/sleep.h"
#include "runtime/stop_scope.h"
#include "testing/http_fixture.h"
#include "testing/raw_socket.h"

namespace chela::net {
namespace {

using testing::RawServer;
using testing::RawSocket;

class CurlClientTest : public testing::HttpFixture {
 protected:
  static ClientRequest request(std::uint16_t port, std::string path = "/") {
    return {.url = fmt::format("http://127.0.0.1:{}{}", port, path),
            .egress = EgressPolicy::exact_host("127.0.0.1", port)};
  }

  Result<HttpResponse> fetch(ClientRequest r, std::stop_token stop = {}) {
    return runtime::block_on(loop_, client_->fetch(std::move(r), std::move(stop)));
  }
  Result<std::unique_ptr<ClientStream>> open(ClientRequest r, std::stop_token stop = {}) {
    return runtime::block_on(loop_, client_->open(std::move(r), std::move(stop)));
  }
  Result<std::optional<std::string>> read(ClientStream& stream, std::stop_token stop = {}) {
    return runtime::block_on(loop_, stream.read(std::move(stop)));
  }

  // What a raw server that says these bytes and closes makes of a fetch.
  Result<HttpResponse> fetch_from(std::string bytes) {
    const RawServer server([bytes](RawSocket& socket) {
      socket.read_until("\r\n\r\n");
      socket.send(bytes);
    });
    return fetch(request(server.port()));
  }
  Code code_from(std::string bytes) {
    const Result<HttpResponse> got = fetch_from(std::move(bytes));
    EXPECT_FALSE(got);
    return got ? Code::kInternal : got.error().code;
  }

  std::unique_ptr<HttpClient> client_ = make_curl_client(loop_);
};

Task<> echo(std::shared_ptr<Exchange> exchange) {
  const HttpRequest& r = exchange->request();
  std::string seen = fmt::format("{} {} {}\n", r.method, r.target, r.body);
  for (const auto& [name, value] : r.headers.fields)
    seen += fmt::format("{}={}\n", strings::lower(name), value);
  if (r.path.starts_with("/moved")) {
    const std::string to = *percent_decode(r.query);
    co_return exchange->reply(
        {.status = strings::parse_int<int>(r.path.substr(6)).value_or(302), .headers = {{{"Location", to}}}});
  }
  exchange->reply({.status = 201, .headers = {{{"X-Reply", "yes"}}}, .body = seen});
}

TEST_F(CurlClientTest, SendsWhatItIsToldAndNothingElse) {
  start(echo);
  ClientRequest r = request(port_, "/p?q=1");
  r.method = "PATCH";
  r.body = std::string("a\0b", 3);
  r.headers.add("X-Mine", "1");
  r.headers.add("X-Empty", "");
  const Result<HttpResponse> got = fetch(r);
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(got->status, 201);
  EXPECT_EQ(got->headers.value_or("x-reply"), "yes");
  EXPECT_EQ(got->body,
            fmt::format(
                "PATCH /p?q=1 "
                "{}\nhost=127.0.0.1:{}\naccept=*/*\nx-mine=1\nx-empty=\nuser-agent=chela\ncontent-length=3\n",
                std::string("a\0b", 3), port_));
  EXPECT_TRUE(fetch(request(port_))->body.starts_with("GET / \n"));
  ClientRequest post = request(port_);
  post.method = "POST";
  EXPECT_NE(fetch(post)->body.find("content-length=0"), std::string::npos);
  ClientRequest head = request(port_);
  head.method = "HEAD";
  EXPECT_EQ(fetch(head)->body, "");
  EXPECT_EQ(server_->connections(), 1u);  // one connection served all
}

TEST_F(CurlClientTest, UsesAUnixSocket) {
  start(echo);
  char name[] = "/tmp/chela-curl-XXXXXX";
  const std::string folder = mkdtemp(name);
  ASSERT_TRUE(server_->listen_unix(folder + "/s"));
  const Result<HttpResponse> got = fetch({.url = "http://local/v1", .unix_socket = folder + "/s"});
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_TRUE(got->body.starts_with("GET /v1 ")) << got->body;
  const Result<HttpResponse> missing = fetch({.url = "http://local/", .unix_socket = folder + "/missing"});
  EXPECT_EQ(missing.error().code, Code::kUnavailable);
  stop(0ms);
  ::rmdir(folder.c_str());
}

TEST_F(CurlClientTest, FollowsRedirectsWithoutCarryingSecretsElsewhere) {
  start(echo);
  const Result<HttpResponse> unfollowed = fetch(request(port_, "/moved302?/x"));
  EXPECT_EQ(unfollowed->status, 302);
  ClientRequest r = request(port_, "/moved307?/moved302?/x");
  r.max_redirects = 2;
  r.method = "POST";
  r.body = "data";
  r.headers.add("Authorization", "secret");
  const Result<HttpResponse> followed = fetch(r);
  ASSERT_TRUE(followed) << followed.error().text();
  EXPECT_TRUE(followed->body.starts_with("GET /x \n")) << followed->body;
  EXPECT_NE(followed->body.find("authorization=secret"), std::string::npos);
  r.max_redirects = 1;
  EXPECT_EQ(fetch(r).error().code, Code::kUpstream);

  // To another origin: the policy must allow it, and then it does not get the secret.
  r = request(port_, fmt::format("/moved302?http://localhost:{}/x", port_));
  r.max_redirects = 1;
  EXPECT_EQ(fetch(r).error().code, Code::kPermissionDenied);
  struct Any final : EgressPolicy {
    Result<> check_url(std::string_view) const override { return {}; }
    Result<> check_address(const sockaddr&) const override { return {}; }
    Reach reach() const override { return Reach::kConfigured; }
  };
  r.egress = std::make_shared<Any>();
  r.headers.add("Authorization", "secret");
  r.headers.add("Accept", "text/plain");
  const Result<HttpResponse> crossed = fetch(r);
  ASSERT_TRUE(crossed) << crossed.error().text();
  EXPECT_EQ(crossed->body.find("secret"), std::string::npos);
  EXPECT_NE(crossed->body.find("accept=text/plain"), std::string::npos);
}

TEST_F(CurlClientTest, TheEgressPolicyIsAskedOfUrlsAndAddresses) {
  start(echo);
  ClientRequest r = request(port_);
  r.egress = nullptr;
  EXPECT_EQ(fetch(r).error().code, Code::kInvalidArgument);
  r.egress = EgressPolicy::strict(AllowPlain::kYes);
  EXPECT_EQ(fetch(r).error().code, Code::kPermissionDenied);
  // A policy that only looks at addresses stands for a name that passes and resolves to a private one.
  struct AddressesOnly final : EgressPolicy {
    Result<> check_url(std::string_view) const override { return {}; }
    Result<> check_address(const sockaddr& a) const override {
      return strict(AllowPlain::kYes)->check_address(a);
    }
    Reach reach() const override { return Reach::kPublicOnly; }
  };
  ASSERT_TRUE(fetch(request(port_)));  // leaves an open connection that must not be used
  r.egress = std::make_shared<AddressesOnly>();
  const Result<HttpResponse> refused = fetch(r);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied) << refused.error().text();
}

TEST_F(CurlClientTest, RefusesMalformedRequests) {
  start(echo);
  ClientRequest r = request(port_);
  r.headers.add("X", "a\r\nY: b");
  EXPECT_EQ(fetch(r).error().code, Code::kInvalidArgument);
  r = request(port_);
  r.method = "GET /x";
  EXPECT_EQ(fetch(r).error().code, Code::kInvalidArgument);
  r = request(port_);
  r.url = "file:///etc/passwd";
  EXPECT_EQ(fetch(r).error().code, Code::kInvalidArgument);
}

TEST_F(CurlClientTest, SaysWhatKindOfFailureItWas) {
  std::uint16_t closed_port = 0;
  {
    closed_port = RawServer([](RawSocket&) {}).port();
  }
  const Result<HttpResponse> refused = fetch(request(closed_port, "/secret?key=secret"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_NE(refused.error().message.find(fmt::format("127.0.0.1:{}", closed_port)), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(refused.error().message.find("secret"), std::string::npos);
  const Result<HttpResponse> unresolved =
      fetch({.url = "http://does-not-exist.invalid/",
             .egress = EgressPolicy::exact_host("does-not-exist.invalid", 80)});
  EXPECT_EQ(unresolved.error().code, Code::kUnavailable) << unresolved.error().text();

  EXPECT_EQ(code_from("this is no HTTP\r\n\r\n"), Code::kUpstream);
  EXPECT_EQ(code_from(""), Code::kUpstream);
  EXPECT_EQ(code_from("HTTP/1.1 200 OK\r\nContent-Le"), Code::kUpstream);
  EXPECT_EQ(code_from("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"), Code::kUpstream);
  EXPECT_EQ(code_from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"), Code::kUpstream);
  EXPECT_EQ(code_from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"), Code::kUpstream);
  EXPECT_EQ(code_from("HTTP/1.1 200 OK\r\nX: " + std::string(300'000, 'x') + "\r\n\r\n"), Code::kUpstream);
  const Result<HttpResponse> until_close =
      fetch_from("HTTP/1.1 103 Early\r\nX: no\r\n\r\nHTTP/1.1 200 OK\r\nY: yes\r\n\r\nall of it");
  ASSERT_TRUE(until_close) << until_close.error().text();
  EXPECT_EQ(until_close->body, "all of it");
  EXPECT_EQ(until_close->headers.find("X"), nullptr);
}

TEST_F(CurlClientTest, LimitsTheBody) {
  const RawServer server([](RawSocket& socket) {
    socket.read_until("\r\n\r\n");
    socket.send("HTTP/1.1 200 OK\r\n\r\n" + std::string(100'000, 'x'));
  });
  ClientRequest r = request(server.port());
  r.max_body = 50'000;
  EXPECT_EQ(fetch(r).error().code, Code::kTooLarge);
  r.max_body = 100'000;
  EXPECT_EQ(fetch(r)->body.size(), 100'000u);
}

TEST_F(CurlClientTest, LimitsTheHeaders) {
  const auto with_headers = [](size_t bytes) {
    const std::string start = "HTTP/1.1 200 OK\r\n";
    const std::string end = "Content-Length: 2\r\n\r\n";
    std::string fields;
    while (start.size() + fields.size() + end.size() < bytes) {
      const size_t room = bytes - start.size() - fields.size() - end.size();
      fields += "X: " + std::string(std::min<size_t>(room, room < 2000 ? room : 1000) - 5, 'x') + "\r\n";
    }
    return start + fields + end + "ok";
  };
  const Result<HttpResponse> fits = fetch_from(with_headers(kMaxClientHeaderBytes));
  ASSERT_TRUE(fits) << fits.error().text();
  EXPECT_EQ(fits->body, "ok");
  EXPECT_EQ(code_from(with_headers(kMaxClientHeaderBytes + 1)), Code::kUpstream);
}

// Answers the head, then one event each time the client sends a byte, then cuts.
void events_on_demand(RawSocket& socket) {
  socket.read_until("\r\n\r\n");
  socket.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
  socket.send("f\r\ndata: event 1\n\n\r\n");
  socket.read_to_end();
}

TEST_F(CurlClientTest, StreamsAsItComes) {
  struct Server {
    static Task<> run(std::shared_ptr<Exchange> exchange, runtime::EventLoop& loop) {
      EXPECT_TRUE(exchange->begin_stream(200, {}));
      for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(exchange->write(format_sse("", "", std::to_string(i))));
        co_await runtime::sleep_for(loop, 1ms, {});
      }
      exchange->end_stream();
    }
  };
  start([this](std::shared_ptr<Exchange> exchange) { return Server::run(std::move(exchange), loop_); });
  const Result<std::unique_ptr<ClientStream>> stream = open(request(port_));
  ASSERT_TRUE(stream) << stream.error().text();
  EXPECT_EQ((*stream)->status(), 200);
  SseParser parser;
  std::string data;
  while (true) {
    const Result<std::optional<std::string>> bytes = read(**stream);
    ASSERT_TRUE(bytes) << bytes.error().text();
    if (!*bytes) break;
    for (const SseEvent& event : *parser.feed(**bytes)) data += event.data;
  }
  EXPECT_EQ(data, "012");
  EXPECT_FALSE(*read(**stream));  // the end stays
}

TEST_F(CurlClientTest, ACutStreamGivesItsBytesThenTheError) {
  const RawServer server([](RawSocket& socket) {
    socket.read_until("\r\n\r\n");
    socket.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  });
  const Result<std::unique_ptr<ClientStream>> stream = open(request(server.port()));
  ASSERT_TRUE(stream);
  EXPECT_EQ(*read(**stream), "abc");
  EXPECT_EQ(read(**stream).error().code, Code::kUpstream);
}

TEST_F(CurlClientTest, StallsAndDeadlinesAreTimeouts) {
  const RawServer server(events_on_demand);
  ClientRequest r = request(server.port());
  r.stall_timeout = 30ms;
  const Result<std::unique_ptr<ClientStream>> stalls = open(r);
  ASSERT_TRUE(stalls);
  EXPECT_EQ(*read(**stalls), "data: event 1\n\n");
  EXPECT_EQ(read(**stalls).error().code, Code::kTimeout);
  r = request(server.port());
  r.deadline = loop_.clock().steady() + 30ms;
  EXPECT_EQ(fetch(r).error().code, Code::kTimeout);
  // Before any header, too.
  const RawServer silent([](RawSocket& socket) { socket.read_to_end(); });
  r = request(silent.port());
  r.stall_timeout = 30ms;
  EXPECT_EQ(fetch(r).error().code, Code::kTimeout);
}

TEST_F(CurlClientTest, StopTakesEffectBeforeAndAfterTheHeaders) {
  const RawServer silent([](RawSocket& socket) { socket.read_to_end(); });
  const auto stop_soon = [this](std::stop_source& stop) {
    loop_.call_at(loop_.clock().steady() + 5ms, [stop]() mutable { stop.request_stop(); });
  };
  std::stop_source before;
  stop_soon(before);
  EXPECT_EQ(fetch(request(silent.port()), before.get_token()).error().code, Code::kCancelled);
  EXPECT_EQ(fetch(request(silent.port()), before.get_token()).error().code, Code::kCancelled);

  const RawServer server(events_on_demand);
  const Result<std::unique_ptr<ClientStream>> stream = open(request(server.port()));
  ASSERT_TRUE(stream);
  EXPECT_TRUE(read(**stream));
  std::stop_source after;
  stop_soon(after);
  EXPECT_EQ(read(**stream, after.get_token()).error().code, Code::kCancelled);
}

// The server sees the connection end, so nothing goes on in the background.
TEST_F(CurlClientTest, DroppingAStreamCutsIt) {
  std::atomic<bool> ended = false;
  const RawServer server([&ended](RawSocket& socket) {
    events_on_demand(socket);
    ended = true;
  });
  Result<std::unique_ptr<ClientStream>> stream = open(request(server.port()));
  ASSERT_TRUE(stream);
  stream->reset();
  struct Wait {
    static Task<> until(runtime::EventLoop& loop, std::atomic<bool>& flag) {
      while (!flag) co_await runtime::sleep_for(loop, 1ms, {});
    }
  };
  runtime::block_on(loop_, Wait::until(loop_, ended));
}

TEST_F(CurlClientTest, ASlowReaderPausesTheTransfer) {
  static constexpr size_t kTotal = 64 * 1024 * 1024;
  std::atomic<size_t> sent = 0;
  const RawServer server([&sent](RawSocket& socket) {
    socket.read_until("\r\n\r\n");
    socket.send(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", kTotal));
    const std::string block(64 * 1024, 'x');
    while (sent < kTotal && socket.send(block)) sent += block.size();
  });
  ClientRequest r = request(server.port());
  r.stall_timeout = 40ms;  // a pause is no stall
  const Result<std::unique_ptr<ClientStream>> stream = open(r);
  ASSERT_TRUE(stream);
  runtime::block_on(loop_, runtime::sleep_for(loop_, 100ms, {}));
  EXPECT_LT(sent, kTotal / 2);
  size_t got = 0;
  while (true) {
    const Result<std::optional<std::string>> bytes = read(**stream);
    ASSERT_TRUE(bytes) << bytes.error().text();
    if (!*bytes) break;
    EXPECT_LE((*bytes)->size(), kMaxClientQueuedBytes + 256 * 1024);
    got += (*bytes)->size();
  }
  EXPECT_EQ(got, kTotal);
}

TEST_F(CurlClientTest, ManyRequestsAtOnceShareTheLoop) {
  start(echo);
  std::vector<Task<Result<HttpResponse>>> tasks;
  for (int i = 0; i < 50; ++i) tasks.push_back(client_->fetch(request(port_, fmt::format("/{}", i)), {}));
  const auto all = runtime::block_on(loop_, runtime::gather(loop_, std::move(tasks)));
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(all[i]) << all[i].error().text();
    EXPECT_TRUE(all[i]->body.starts_with(fmt::format("GET /{} \n", i)));
  }
}

TEST_F(CurlClientTest, KeepsOnlySoManyConnectionsForReuse) {
  start(echo);
  std::vector<Task<Result<HttpResponse>>> tasks;
  for (long i = 0; i < kMaxIdleClientConnections + 20; ++i)
    tasks.push_back(client_->fetch(request(port_), {}));
  for (const auto& each : runtime::block_on(loop_, runtime::gather(loop_, std::move(tasks))))
    ASSERT_TRUE(each) << each.error().text();
  loop_.run_until([this] { return server_->connections() <= size_t{kMaxIdleClientConnections}; });
  EXPECT_GT(server_->connections(), 1u);
}

TEST(ClientRequest, BeginsWithTheLimits) { EXPECT_EQ(ClientRequest{}.max_body, kMaxClientBodyBytes); }

}  // namespace
}  // namespace chela::net
