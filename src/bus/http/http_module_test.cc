#include "bus/http/http_module.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <functional>

#include "bus/bus_fixture.h"
#include "bus/channels/limits.h"
#include "bus/http/limits.h"
#include "runtime/pool.h"
#include "runtime/sleep.h"
#include "testing/raw_socket.h"

namespace chela::bus::http {
namespace {

using channels::End;
using json::Value;

Value parse(std::string_view text) { return *json::parse(text); }

// The module on loopback, with a worker that registers triggers on functions of the engine's own.
class HttpModuleTest : public ::testing::Test {
 protected:
  HttpModuleTest() {
    worker = bus.connect(link, {.principal = {.realm = "r", .user = "ann", .permissions = {"*"}}}, "test");
  }
  ~HttpModuleTest() override {
    runtime::block_on(loop, module->stop());
    bus.disconnect(worker);
    runtime::block_on(loop, bus.stop());
  }

  void start(std::string_view config = "{}") {
    Value options = parse(config);
    options.set("port", 0);
    module = *HttpModule::create({.loop = loop, .bus = bus, .channels = channels, .ids = ids},
                                 *HttpOptions::read(options));
    ASSERT_TRUE(runtime::block_on(loop, module->start()));
    port = static_cast<std::uint16_t>(module->status().int_or("port", 0));
  }

  using Handler = std::function<Task<Result<Value>>(LocalCall)>;
  void serve(std::string id, Handler handler) {
    ASSERT_TRUE(bus.add({.spec = {.id = std::move(id)}, .handler = std::move(handler)}));
  }
  // A function that gives one value.
  void serve_value(std::string id, std::string_view value) {
    serve(std::move(id),
          [this, value = parse(value)](LocalCall call) { return give(std::move(call), value); });
  }
  Task<Result<Value>> give(LocalCall call, Value value) {
    calls.push_back(std::move(call.data));
    co_return value;
  }

  void route(std::string_view function_id, std::string_view config, std::string_view id = "") {
    tell(Value::object({{"type", "registertrigger"},
                        {"id", id.empty() ? function_id : id},
                        {"trigger_type", "http"},
                        {"function_id", function_id},
                        {"config", parse(config)}}));
  }
  void tell(const Value& frame) { bus.receive(worker, json::write(frame)); }

  // Runs clients in threads beside the loop.
  template <class Client>
  auto client(Client run) {
    auto value = runtime::block_on(
        loop,
        pool.run([run = std::move(run)]() mutable -> Result<std::invoke_result_t<Client>> { return run(); }));
    return *std::move(value);
  }
  std::string ask(std::string method, std::string target, std::string headers = "", std::string body = "") {
    return client([=, this] {
      testing::RawSocket socket = testing::RawSocket::connect_tcp(port);
      socket.send(
          fmt::format("{} {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n{}",
                      method, target, body.size(), headers, body));
      return socket.read_to_end();
    });
  }
  static std::string status(const std::string& answer) { return answer.substr(9, 3); }
  static std::string body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

  runtime::AsioLoop loop;
  runtime::Pool pool{loop, 4};
  testing::CountingIds ids;
  obs::Metrics metrics;
  Bus bus{{loop, ids, metrics}, {.call_timeout = 60s}};
  channels::Channels channels{loop, ids, metrics};
  FakeLink link{loop};
  WorkerPtr worker;
  std::unique_ptr<HttpModule> module;
  std::uint16_t port = 0;
  std::vector<Value> calls;
};

TEST(HttpOptions, BeginWithTheLimitsAndEndAtThem) {
  const Result<HttpOptions> options = HttpOptions::read(parse("{}"));
  ASSERT_TRUE(options);
  EXPECT_EQ(options->timeout, kDefaultTimeout);
  EXPECT_EQ(options->concurrency, kDefaultConcurrency);
  const auto concurrency = [](size_t most) {
    return HttpOptions::read(Value::object({{"concurrency_request_limit", most}}));
  };
  EXPECT_TRUE(concurrency(kMaxHttpConnections));
  EXPECT_FALSE(concurrency(kMaxHttpConnections + 1));
}

TEST_F(HttpModuleTest, AFunctionIsToldOfTheRequestAndItsValueIsTheResponse) {
  start();
  serve_value("t::f", R"({"status_code":201,"headers":{"X-A":"b"},"body":{"k":1}})");
  route("t::f", R"({"api_path":"users/:id","http_method":"POST"})");
  const std::string answer =
      ask("POST", "/users/7?full=1", "Content-Type: application/json\r\n", R"({"n":391.0})");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 201 Created\r\n")) << answer;
  EXPECT_TRUE(answer.contains("X-A: b\r\n"));
  EXPECT_TRUE(answer.contains("Access-Control-Allow-Origin: *\r\n"));
  EXPECT_EQ(body(answer), R"({"k":1})");
  ASSERT_EQ(calls.size(), 1U);
  const Value& told = calls[0];
  EXPECT_EQ(told.find("path_params")->string_or("id"), "7");
  EXPECT_EQ(told.find("query_params")->string_or("full"), "1");
  EXPECT_EQ(told.find("headers")->string_or("content-type"), "application/json");
  EXPECT_EQ(told.string_or("path"), "users/:id");
  EXPECT_EQ(told.string_or("method"), "POST");
  EXPECT_EQ(*told.find("body"), parse(R"({"n":391.0})"));
  EXPECT_EQ(*told.find("trigger"), parse(R"({"type":"http","path":"users/:id","method":"POST"})"));
  EXPECT_EQ(told.find("request_body")->string_or("direction"), "read");
  EXPECT_EQ(told.find("response")->string_or("direction"), "write");
  EXPECT_EQ(channels.size(), 0U) << "nothing of a request is left";
}

TEST_F(HttpModuleTest, RoutesAreThereAtOnceAndGoneAtOnce) {
  start();
  serve_value("t::f", R"({"body":1})");
  EXPECT_EQ(status(ask("GET", "/a")), "404");
  route("t::f", R"({"api_path":"a"})");
  EXPECT_EQ(status(ask("GET", "/a")), "200");
  EXPECT_EQ(status(ask("PUT", "/a")), "405");
  tell(Value::object({{"type", "unregistertrigger"}, {"id", "t::f"}}));
  EXPECT_EQ(status(ask("GET", "/a")), "404");
}

TEST_F(HttpModuleTest, AConflictIsRefusedWithoutHarm) {
  start();
  serve_value("t::f", R"({"body":1})");
  route("t::f", R"({"api_path":":a/:b"})", "one");
  route("t::f", R"({"api_path":":b/:a"})", "two");
  ASSERT_FALSE(link.got.empty());
  const Value& refused = link.got.back();
  EXPECT_EQ(refused.string_or("type"), "triggerregistrationresult");
  EXPECT_EQ(refused.string_or("id"), "two");
  EXPECT_TRUE(refused.find("error")->string_or("message").contains("conflicts")) << json::write(refused);
  EXPECT_EQ(status(ask("GET", "/1/2")), "200");
}

TEST_F(HttpModuleTest, MiddlewareComesByPriorityThenTheConditionThenTheRoutesOwn) {
  start(
      R"({"middleware":[{"function_id":"m::late","priority":5},{"function_id":"m::early","phase":"preHandler"}]})");
  std::string order;
  const auto note = [&](std::string id, std::string_view value) {
    serve(id, [this, &order, id, value = parse(value)](LocalCall call) {
      order += id + " ";
      return give(std::move(call), value);
    });
  };
  note("m::early", R"({"action":"continue"})");
  note("m::late", "null");
  note("t::if", "true");
  note("m::own", R"({"action":"continue"})");
  note("t::f", R"({"body":"done"})");
  route("t::f",
        R"({"api_path":"a/:id","condition_function_id":"t::if","middleware_function_ids":["m::own"]})");
  EXPECT_EQ(body(ask("GET", "/a/7")), "\"done\"");
  EXPECT_EQ(order, "m::early m::late t::if m::own t::f ");
  EXPECT_EQ(calls[0].string_or("phase"), "preHandler");
  EXPECT_EQ(calls[0].find("request")->find("path_params")->string_or("id"), "7");
}

TEST_F(HttpModuleTest, MiddlewareMayAnswerAndItsFailureIsAnError) {
  start();
  serve_value("m::stop", R"({"action":"respond","response":{"status_code":403,"body":{"no":1}}})");
  serve_value("t::f", R"({"body":"done"})");
  route("t::f", R"({"api_path":"a","middleware_function_ids":["m::stop"]})", "a");
  route("t::f", R"({"api_path":"b","middleware_function_ids":["m::missing"]})", "b");
  const std::string answer = ask("GET", "/a");
  EXPECT_EQ(status(answer), "403");
  EXPECT_EQ(body(answer), R"({"no":1})");
  EXPECT_EQ(status(ask("GET", "/b")), "500");
  EXPECT_EQ(calls.size(), 1U);
}

TEST_F(HttpModuleTest, AConditionThatIsNotMetIs422) {
  start();
  serve_value("t::no", "false");
  serve_value("t::f", R"({"body":"done"})");
  route("t::f", R"({"api_path":"a","_condition_path":"t::no"})");
  const std::string answer = ask("GET", "/a");
  EXPECT_EQ(status(answer), "422");
  EXPECT_TRUE(body(answer).contains("\"skipped\":true"));
  EXPECT_EQ(calls.size(), 1U);
}

TEST_F(HttpModuleTest, AFunctionThatFailsIsAnErrorWithItsCode) {
  start();
  serve("t::f", [](LocalCall) -> Task<Result<Value>> {  // captures nothing
    co_return fail(Error{.code = Code::kUpstream, .message = "boom"}.with("bus_code", "invocation_failed"));
  });
  route("t::f", R"({"api_path":"a"})");
  const std::string answer = ask("GET", "/a");
  EXPECT_EQ(status(answer), "500");
  EXPECT_EQ(parse(body(answer)).find("error")->string_or("code"), "invocation_failed");
}

TEST_F(HttpModuleTest, AFunctionThatDoesNotAnswerIs504) {
  start(R"({"default_timeout":20})");
  link.refuses = false;
  tell(Value::object({{"type", "registerfunction"}, {"id", "w::hang"}}));
  route("w::hang", R"({"api_path":"a"})");
  EXPECT_EQ(status(ask("GET", "/a")), "504");
}

TEST_F(HttpModuleTest, AValueThatCannotBeSentIsAnError) {
  start();
  serve_value("t::f", R"({"status_code":99})");
  route("t::f", R"({"api_path":"a"})");
  EXPECT_EQ(parse(body(ask("GET", "/a"))).find("error")->string_or("code"), "INVALID_RESPONSE");
}

class StreamingTest : public HttpModuleTest {
 protected:
  channels::ChannelPtr take(const Value& input, std::string_view key, End end) {
    const Value& ref = *input.find(key);
    const channels::ChannelPtr channel =
        channels.find(ref.string_or("channel_id"), ref.string_or("access_key"), end);
    EXPECT_TRUE(channel && channel->take(end));
    return channel;
  }
  Task<> say(channels::ChannelPtr to, std::string text) {
    (void)co_await to->write({.kind = net::MessageKind::kText, .data = std::move(text)}, {});
  }
  Task<> send(channels::ChannelPtr to, std::string bytes) {
    (void)co_await to->write({.kind = net::MessageKind::kBinary, .data = std::move(bytes)}, {});
  }
  Task<Result<Value>> stream(LocalCall call) {
    const channels::ChannelPtr out = take(call.data, "response", End::kWrite);
    co_await say(out, R"({"type":"set_status","status_code":202})");
    co_await say(out, R"({"type":"set_headers","headers":{"Content-Type":"text/event-stream"}})");
    co_await send(out, "data: 1\n\n");
    co_await send(out, "data: 2\n\n");
    out->finish();
    co_return Value();
  }
  Task<Result<Value>> nothing_but_a_status(LocalCall call) {
    const channels::ChannelPtr out = take(call.data, "response", End::kWrite);
    co_await say(out, R"({"type":"set_status","status_code":204})");
    out->finish();
    co_return Value();
  }
  Task<Result<Value>> cut(LocalCall call) {
    const channels::ChannelPtr out = take(call.data, "response", End::kWrite);
    co_await send(out, "half");
    co_await runtime::yield(loop);
    co_await runtime::yield(loop);
    out->close({.code = Code::kUpstream, .message = "the writer was cut"});
    co_return Value();
  }
  // Gives how much of the body came and what it was parsed as.
  Task<Result<Value>> count(LocalCall call) {
    const channels::ChannelPtr in = take(call.data, "request_body", End::kRead);
    std::string all;
    for (;;) {
      const Result<std::optional<net::Message>> got = co_await in->read({});
      if (!got || !*got) break;
      most = std::max(most, (*got)->data.size());
      all += (*got)->data;
    }
    co_return Value::object(
        {{"body", Value::object({{"bytes", all.size()}, {"parsed", *call.data.find("body")}})}});
  }
  Task<Result<Value>> nothing(LocalCall) { co_return Value(); }
  Task<Result<Value>> endless(LocalCall call) {
    const channels::ChannelPtr out = take(call.data, "response", End::kWrite);
    Result<> sent;
    while (sent) {
      sent =
          co_await out->write({.kind = net::MessageKind::kBinary, .data = std::string(64 * 1024, 'x')}, {});
      most = std::max(most, out->buffered_bytes());
      written += 64 * 1024;
    }
    ended = true;
    co_return Value();
  }
  static Task<Result<Value>> wait_for(runtime::Completion<bool> gate) {
    co_await gate;
    co_return Value::object({{"body", 1}});
  }
  size_t most = 0;
  size_t written = 0;
  bool ended = false;
};

TEST_F(StreamingTest, AResponseComesThroughItsChannel) {
  start();
  serve("t::f", [this](LocalCall call) { return stream(std::move(call)); });
  route("t::f", R"({"api_path":"a"})");
  const std::string answer = ask("GET", "/a");
  EXPECT_EQ(status(answer), "202");
  EXPECT_TRUE(answer.contains("Content-Type: text/event-stream\r\n"));
  EXPECT_TRUE(answer.contains("data: 1\n\n") && answer.ends_with("0\r\n\r\n")) << answer;
  EXPECT_EQ(channels.size(), 0U);
}

TEST_F(StreamingTest, AnEmptyChannelIsAnEmptyBody) {
  start();
  serve("t::f", [this](LocalCall call) { return nothing_but_a_status(std::move(call)); });
  route("t::f", R"({"api_path":"a"})");
  EXPECT_EQ(status(ask("GET", "/a")), "204");
}

TEST_F(StreamingTest, AFunctionWithoutValueAndResponseIsAnEmptyBodyAfterAMoment) {
  start();
  serve("t::f", [this](LocalCall call) { return nothing(std::move(call)); });
  route("t::f", R"({"api_path":"a"})");
  const SteadyTime asked = loop.clock().steady();
  const std::string answer = ask("GET", "/a");
  EXPECT_EQ(status(answer), "200");
  EXPECT_EQ(body(answer), "");
  EXPECT_GE(loop.clock().steady() - asked, kWriterWait);
}

TEST_F(StreamingTest, WhatWasCutDoesNotLookComplete) {
  start();
  serve("t::f", [this](LocalCall call) { return cut(std::move(call)); });
  route("t::f", R"({"api_path":"a"})");
  const std::string answer = ask("GET", "/a");
  EXPECT_TRUE(answer.contains("half")) << answer;
  EXPECT_FALSE(answer.ends_with("0\r\n\r\n")) << answer;
}

TEST_F(StreamingTest, RawBodiesAreStreamedAndJsonIsBoth) {
  start();
  serve("t::f", [this](LocalCall call) { return count(std::move(call)); });
  route("t::f", R"({"api_path":"a","http_method":"POST"})");
  EXPECT_EQ(body(ask("POST", "/a", "Content-Type: application/pdf\r\n", std::string(3'000'000, 'x'))),
            R"({"bytes":3000000,"parsed":null})");
  EXPECT_EQ(most, kBodyPieceBytes);
  EXPECT_EQ(body(ask("POST", "/a", "Content-Type: application/json\r\n", R"( {"a":1})")),
            R"({"bytes":8,"parsed":{"a":1}})");
  EXPECT_EQ(body(ask("POST", "/a")), R"({"bytes":0,"parsed":null})");
  EXPECT_EQ(channels.size(), 0U);
}

TEST_F(StreamingTest, AJsonBodyPastTheLimitIsRefused) {
  start();
  serve_value("t::f", "{}");
  route("t::f", R"({"api_path":"a","http_method":"POST"})");
  EXPECT_EQ(
      status(ask("POST", "/a", "Content-Type: application/json\r\n", std::string(kMaxJsonBytes + 1, ' '))),
      "413");
  EXPECT_TRUE(calls.empty());
}

TEST_F(StreamingTest, ABodyPastTheLimitIsRefusedAtItsHead) {
  start();
  EXPECT_TRUE(client([this] {
                testing::RawSocket socket = testing::RawSocket::connect_tcp(port);
                socket.send(fmt::format("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
                                        kMaxStreamedBytes + 1));
                return socket.read_until("\r\n\r\n");
              }).starts_with("HTTP/1.1 413 "));
}

// The client of a request whose body is under way, and the function's end of that body.
class UploadTest : public StreamingTest {
 protected:
  UploadTest() {
    start(R"({"default_timeout":200})");
    serve("t::f", [this](LocalCall call) {
      ref = *call.data.find("request_body");
      return wait_for_end();
    });
    route("t::f", R"({"api_path":"a","http_method":"POST"})");
  }
  Task<Result<Value>> wait_for_end() {
    gate.emplace(loop);
    co_await *gate;
    co_return Value::object({{"body", "done"}});
  }
  void send(std::string_view bytes) { EXPECT_TRUE(socket->send(bytes)); }
  void begin(std::string_view fields) {
    socket.emplace(testing::RawSocket::connect_tcp(port));
    send(fmt::format("POST /a HTTP/1.1\r\nHost: x\r\n{}\r\n", fields));
    loop.run_until([this] { return gate.has_value(); });
  }
  void open() {
    body = channels.find(ref.string_or("channel_id"), ref.string_or("access_key"), End::kRead);
    ASSERT_TRUE(body && body->take(End::kRead));
  }
  std::string read() {
    const Result<std::optional<net::Message>> got = runtime::block_on(loop, body->read({}));
    if (!got) return std::string(code_name(got.error().code));
    return *got ? (*got)->data : "<end>";
  }
  std::string answer() {
    return client([this] { return socket->read_to_end(); });
  }

  std::optional<testing::RawSocket> socket;
  Value ref;
  std::optional<runtime::Completion<bool>> gate;
  channels::ChannelPtr body;
};

TEST_F(UploadTest, ABodyComesAsItIsSent) {
  begin("Transfer-Encoding: chunked\r\nExpect: 100-continue\r\nConnection: close\r\n");
  open();
  EXPECT_EQ(client([this] { return socket->read_until("\r\n\r\n"); }), "HTTP/1.1 100 Continue\r\n\r\n");
  send("3\r\none\r\n");
  EXPECT_EQ(read(), "one");
  send("3\r\ntwo\r\n");
  EXPECT_EQ(read(), "two");
  send("0\r\n\r\n");
  EXPECT_EQ(read(), "<end>");
  gate->resolve(true);
  EXPECT_TRUE(answer().ends_with("\"done\""));
}

TEST_F(UploadTest, AReaderThatWaitsHoldsItsClientBack) {
  begin("Content-Length: 100000000\r\n");
  open();
  ASSERT_EQ(::fcntl(socket->fd(), F_SETFL, O_NONBLOCK), 0);
  const std::string block(kBodyPieceBytes, 'x');
  size_t sent = 0;
  for (int idle = 0; idle < 50;) {
    const ssize_t n = ::write(socket->fd(), block.data(), block.size());
    idle = n > 0 ? 0 : idle + 1;
    sent += n > 0 ? static_cast<size_t>(n) : 0;
    runtime::block_on(loop, runtime::yield(loop));
  }
  constexpr size_t kKernels = 16 * 1024 * 1024;  // what those of both ends may take
  EXPECT_LT(sent, (kBodyPieces + 4) * kBodyPieceBytes + kKernels);
  EXPECT_LE(body->buffered_bytes(), kBodyPieces * kBodyPieceBytes);
  gate->resolve(true);
}

// No SDK knows a stream that was cut from one that has ended: a message beside it tells.
TEST_F(UploadTest, AFunctionLearnsThatItsClientLeft) {
  begin("Content-Length: 100\r\n");
  open();
  send("half");
  EXPECT_EQ(read(), "half");
  socket->close();
  const Value told = parse(read());
  EXPECT_EQ(told.string_or("type"), "error");
  EXPECT_EQ(told.find("error")->string_or("code"), "unavailable");
  EXPECT_EQ(read(), "unavailable");
  gate->resolve(true);
}

TEST_F(UploadTest, ABodyThatCannotBeReadOnIsRefused) {
  for (const auto& [rest, wanted] : {std::pair("zz\r\n", "400"), {"500000000\r\n", "413"}}) {
    gate.reset();
    begin("Transfer-Encoding: chunked\r\n");
    open();
    send(rest);
    EXPECT_EQ(status(answer()), wanted) << rest;
    EXPECT_EQ(parse(read()).string_or("type"), "error");
    gate->resolve(true);
  }
}

TEST_F(UploadTest, WhatComesInTimeLengthensItsFunctionsTime) {
  begin(fmt::format("Content-Length: {}\r\nConnection: close\r\n", 2 * kLeastBodyRate));
  open();
  send(std::string(2 * kLeastBodyRate, 'x'));
  size_t got = 0;
  for (std::string piece = read(); piece != "<end>"; piece = read()) got += piece.size();
  EXPECT_EQ(got, 2 * kLeastBodyRate);
  runtime::block_on(loop, runtime::sleep_for(loop, 300ms, {}));
  gate->resolve(true);
  EXPECT_EQ(status(answer()), "200");
  gate.reset();
  begin("Content-Length: 100\r\n");
  EXPECT_EQ(status(client([this] { return socket->read_response(); })), "504");
  gate->resolve(true);
}

TEST_F(UploadTest, ABodyCanBeReadAfterTheAnswer) {
  begin("Content-Length: 200000\r\n");
  open();
  gate->resolve(true);
  EXPECT_TRUE(client([this] { return socket->read_response(); }).ends_with("\"done\""));
  send(std::string(200'000, 'x') + "GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  size_t got = 0;
  for (std::string piece = read(); piece != "<end>"; piece = read()) got += piece.size();
  EXPECT_EQ(got, 200'000U);
  EXPECT_EQ(status(answer()), "404");
}

TEST_F(UploadTest, ABodyThatNobodyReadsIsDropped) {
  begin("Content-Length: 200000\r\n");
  gate->resolve(true);
  EXPECT_TRUE(client([this] { return socket->read_response(); }).ends_with("\"done\""));
  send(std::string(200'000, 'x') + "GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status(answer()), "404");
  EXPECT_EQ(channels.size() + channels.offers(), 0U);
}

// Its function may go on for as long as it writes.
TEST_F(StreamingTest, AResponseThatHasBegunMayTakeItsTime) {
  start(R"({"default_timeout":20})");
  link.refuses = false;
  tell(Value::object({{"type", "registerfunction"}, {"id", "w::slow"}}));
  route("w::slow", R"({"api_path":"a"})");
  testing::RawSocket socket = testing::RawSocket::connect_tcp(port);
  socket.send("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const auto called = [this] {
    return !link.got.empty() && link.got.back().string_or("type") == "invokefunction";
  };
  loop.run_until(called);
  const channels::ChannelPtr out = take(*link.got.back().find("data"), "response", End::kWrite);
  runtime::block_on(loop, send(out, "one "));
  runtime::block_on(loop, runtime::sleep_for(loop, 60ms, {}));
  runtime::block_on(loop, send(out, "two"));
  out->finish();
  const std::string answer = client([&socket] { return socket.read_to_end(); });
  EXPECT_TRUE(answer.contains("one ") && answer.ends_with("3\r\ntwo\r\n0\r\n\r\n")) << answer;
}

TEST_F(StreamingTest, AClientThatDoesNotReadHoldsItsFunctionBack) {
  start();
  serve("t::f", [this](LocalCall call) { return endless(std::move(call)); });
  route("t::f", R"({"api_path":"a"})");
  testing::RawSocket socket = testing::RawSocket::connect_tcp(port);
  socket.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  loop.run_until([this] { return most >= channels::kMaxBufferedBytes; });
  EXPECT_LE(most, channels::kMaxBufferedBytes + 64 * 1024);
  constexpr size_t kKernels = 16 * 1024 * 1024;  // what those of both ends may take
  EXPECT_LE(written, kMaxUnsentResponse + channels::kMaxBufferedBytes + kKernels);
  EXPECT_FALSE(ended);
  socket.close();
  loop.run_until([this] { return ended; });
}

TEST_F(StreamingTest, WhatIsUnderWayWhenTheModuleStopsIsAnswered) {
  start();
  std::optional<runtime::Completion<bool>> gate;
  serve("t::f", [this, &gate](LocalCall) {
    gate.emplace(loop);
    return wait_for(*gate);
  });
  route("t::f", R"({"api_path":"a"})");
  testing::RawSocket socket = testing::RawSocket::connect_tcp(port);
  socket.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  loop.run_until([&] { return gate.has_value(); });
  runtime::TaskGroup stopping(loop);
  stopping.spawn(module->stop());
  for (int i = 0; i < 20; ++i) runtime::block_on(loop, runtime::yield(loop));
  gate->resolve(true);
  EXPECT_EQ(status(client([&socket] { return socket.read_to_end(); })), "200");
  runtime::block_on(loop, stopping.join());
}

TEST_F(StreamingTest, WhatHasNoAnswerWhenTheModuleHasWaitedLearnsThatItStops) {
  start(R"({"concurrency_request_limit":1})");
  link.refuses = false;
  tell(Value::object({{"type", "registerfunction"}, {"id", "w::hang"}}));
  route("w::hang", R"({"api_path":"a"})");
  std::vector<testing::RawSocket> sockets;
  for (int i = 0; i < 2; ++i) {
    sockets.push_back(testing::RawSocket::connect_tcp(port));
    sockets.back().send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  loop.run_until([this] { return module->status().int_or("connections", 0) == 2; });
  const auto called = [this] {
    return !link.got.empty() && link.got.back().string_or("type") == "invokefunction";
  };
  loop.run_until(called);
  for (int i = 0; i < 20; ++i) runtime::block_on(loop, runtime::yield(loop));
  const SteadyTime began = loop.clock().steady();
  runtime::block_on(loop, module->stop());
  EXPECT_GE(loop.clock().steady() - began, kStopWait);
  for (testing::RawSocket& each : sockets)
    EXPECT_EQ(status(client([&each] { return each.read_to_end(); })), "503");
}

TEST_F(StreamingTest, OnlySoManyAreServedAtOnceAndTheOthersWait) {
  start(R"({"concurrency_request_limit":2})");
  std::vector<runtime::Completion<bool>> gates;
  serve("t::f", [this, &gates](LocalCall) {
    gates.emplace_back(loop);
    return wait_for(gates.back());
  });
  route("t::f", R"({"api_path":"a"})");
  std::vector<testing::RawSocket> sockets;
  for (int i = 0; i < 3; ++i) {
    sockets.push_back(testing::RawSocket::connect_tcp(port));
    sockets.back().send("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }
  loop.run_until([&] { return gates.size() == 2; });
  for (int i = 0; i < 20; ++i) runtime::block_on(loop, runtime::yield(loop));
  EXPECT_EQ(gates.size(), 2U);
  gates[0].resolve(true);
  loop.run_until([&] { return gates.size() == 3; });
  gates[1].resolve(true);
  gates[2].resolve(true);
  for (testing::RawSocket& each : sockets)
    EXPECT_EQ(status(client([&each] { return each.read_to_end(); })), "200");
}

}  // namespace
}  // namespace chela::bus::http
