#include "bus/call_endpoint.h"

#include "base/strings.h"

namespace chela::bus {
namespace {

constexpr std::string_view kCallId = "1";

// Takes the answer to the one call.
class CallLink final : public Link {
 public:
  explicit CallLink(runtime::EventLoop& loop) : answer_(loop) {}

  Result<> send(std::string_view frame) override {
    Result<json::Value> message = json::parse(frame);
    if (message && message->string_or("type") == "invocationresult") answer_.resolve(std::move(*message));
    return {};
  }
  size_t unsent() const override { return 0; }
  Task<Result<>> drained(size_t, std::stop_token) override { co_return Result<>{}; }
  void close(std::uint16_t, std::string_view reason) override { give_up(reason); }

  void give_up(std::string_view reason) {
    answer_.resolve(fail(Code::kUnavailable, "the call was given up: {}", reason));
  }
  const runtime::Completion<Result<json::Value>>& answer() const { return answer_; }

 private:
  runtime::Completion<Result<json::Value>> answer_;
};

void reply(net::Exchange& exchange, int status, const json::Value& body) {
  net::HttpResponse response{.status = status};
  response.headers.add("Content-Type", "application/json");
  response.body = json::write(body);
  exchange.reply(std::move(response));
}

void reply(net::Exchange& exchange, const Error& error) {
  reply(exchange, http_status(error.code), json::Value::object({{"error", json::from_error(error)}}));
}

// The frame that a worker would send.
Result<std::string> frame_of(const net::HttpRequest& request) {
  if (!strings::lower(request.headers.value_or("Content-Type")).starts_with("application/json"))
    return fail(Code::kInvalidArgument, "the body must be JSON, with Content-Type: application/json");
  const Result<json::Value> body = json::parse(request.body);
  if (!body) return fail(body.error());
  json::Value frame = json::Value::object({{"type", "invokefunction"}, {"invocation_id", kCallId}});
  for (const auto& [key, required] : {std::pair("function_id", true), std::pair("data", false),
                                      std::pair("metadata", false), std::pair("action", false)}) {
    const json::Value* value = body->find(key);
    if (value == nullptr && required) return fail(Code::kInvalidArgument, "{} is missing", key);
    if (value != nullptr) frame.set(key, *value);
  }
  if (frame.find("data") == nullptr) frame.set("data", json::Value::object());
  if (const json::Value* action = frame.find("action");
      action != nullptr && action->string_or("type") == "void")
    return fail(Code::kInvalidArgument, "a void call has no answer; make it without an action");
  return json::write(frame);
}

}  // namespace

Task<> serve_call(Bus& bus, runtime::EventLoop& loop, std::shared_ptr<net::Exchange> exchange,
                  Admission admitted) {
  if (exchange->request().method != "POST") {
    reply(*exchange, {.code = Code::kInvalidArgument, .message = "calls are made with POST"});
    co_return;
  }
  const Result<std::string> frame = frame_of(exchange->request());
  if (!frame) {
    reply(*exchange, frame.error());
    co_return;
  }
  CallLink link(loop);
  const std::stop_token ended = admitted.rights.ended;
  const WorkerPtr worker =
      bus.connect(link, std::move(admitted.rights), exchange->request().peer, std::move(admitted.session));
  worker->passing = true;
  const std::stop_callback on_gone(exchange->client_gone(), [&link] { link.give_up("nobody waits for it"); });
  const std::stop_callback on_end(ended, [&link] { link.give_up("its token was revoked or has expired"); });
  bus.receive(worker, *frame);
  // What is no call has no answer either.
  if (worker->bad_frames > 0) link.give_up("it is malformed");
  const Result<json::Value> answer = co_await link.answer();
  bus.disconnect(worker);
  if (!answer) {
    reply(*exchange, answer.error());
  } else if (const json::Value* error = answer->find("error")) {
    const Error failure = from_wire(json::write(*error));
    reply(*exchange, http_status(failure.code), json::Value::object({{"error", *error}}));
  } else {
    const json::Value* result = answer->find("result");
    reply(*exchange, 200, json::Value::object({{"result", result == nullptr ? json::Value() : *result}}));
  }
}

}  // namespace chela::bus
