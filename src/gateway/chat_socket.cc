#include "gateway/chat_socket.h"

#include <array>

namespace chela::gateway {
namespace {

using json::Value;

// Nothing more is made for a client with so many unsent bytes: neither events, which pile up in its queue of the engine, nor answers.
constexpr size_t kHighWater = 64 * 1024;

// Close codes of RFC 6455 and its registry.
constexpr std::uint16_t kUnsupportedData = 1003;
constexpr std::uint16_t kPolicyViolation = 1008;
constexpr std::uint16_t kTryAgainLater = 1013;

struct Frame {
  std::string_view type;
  std::string_view path;  // the POST route that does the same
};
constexpr std::array kFrames{Frame{"message", "/api/chat/send"}, Frame{"approval", "/api/chat/approval"},
                             Frame{"auth_token", "/api/chat/auth-token"},
                             Frame{"auth_cancel", "/api/chat/auth-cancel"}};

Value error_frame(const Error& error) {
  return Value::object({{"type", "error"}, {"code", code_name(error.code)}, {"message", error.message}});
}

Value error_frame(std::string message) {
  return error_frame(Error{.code = Code::kInvalidArgument, .message = std::move(message)});
}

// The data is JSON text already and is not read again.
std::string event_frame(const op::Event& event) {
  std::string frame =
      R"({"type":"event","event_type":)" + json::write(Value(event.name)) + R"(,"data":)" + event.data;
  if (!event.id.empty()) frame += R"(,"id":)" + json::write(Value(event.id));
  return frame + "}";
}

}  // namespace

ChatSocket::ChatSocket(runtime::EventLoop& loop, const op::Registry& registry,
                       std::shared_ptr<net::Exchange> exchange, op::Principal principal, size_t& open_sockets,
                       std::stop_token token_ended, size_t max_frame_bytes)
    : registry_(registry),
      exchange_(std::move(exchange)),
      principal_(std::move(principal)),
      open_sockets_(open_sockets),
      max_frame_bytes_(max_frame_bytes),
      token_ended_(std::move(token_ended)),
      tasks_(loop),
      settled_(loop),
      attached_(loop) {}

ChatSocket::~ChatSocket() {
  if (counted_) --open_sockets_;
}

// Of the headers only the one that says where to go on: the others would be kept as long as the socket.
op::CallContext ChatSocket::context(std::stop_token stop) const {
  op::CallContext context{.principal = principal_, .scope = principal_.scope(), .stop = std::move(stop)};
  if (const std::string* last = exchange_->request().headers.find("Last-Event-ID"))
    context.headers.emplace("last-event-id", *last);
  return context;
}

Task<Result<>> ChatSocket::run(std::shared_ptr<const op::Operation> events, Value args) {
  tasks_.spawn(follow(std::move(events), std::move(args)));
  co_await settled_;
  Result<> served = co_await serve();
  stop();
  attached_.resolve(false);
  co_await tasks_.join();
  co_return served;
}

// The subscription comes first: one that is refused is an answer of HTTP, which every client understands.
Task<Result<>> ChatSocket::serve() {
  if (!opened_) co_return ended_ && !*ended_ ? *ended_ : fail(Code::kUnavailable, "the engine is stopping");
  Result<std::unique_ptr<net::WebSocket>> upgraded =
      co_await exchange_->upgrade({.max_message_bytes = max_frame_bytes_});
  if (!upgraded) {
    // With any other code the handshake was answered, or the client has gone.
    if (upgraded.error().code == Code::kInvalidArgument) co_return fail(upgraded.error());
    co_return Result<>{};
  }
  socket_ = std::move(*upgraded);
  counted_ = true;
  ++open_sockets_;
  for (const std::string& frame : std::exchange(early_, {})) {
    if (!send(frame)) co_return Result<>{};
  }
  attached_.resolve(true);
  const std::stop_callback on_end(token_ended_, [this] { end_token(); });
  if (ended_) socket_->close(kTryAgainLater, "the event stream has ended; come back with last_event_id");
  co_await read();
  co_return Result<>{};
}

Task<> ChatSocket::follow(std::shared_ptr<const op::Operation> events, Value args) {
  const auto& handler = std::get<op::EventsHandler>(events->handler);
  const Result<Value> value = co_await handler(context(events_stop_.get_token()), std::move(args), *this);
  ended_ = value ? Result<>{} : Result<>(fail(value.error()));
  settled_.resolve(true);
  if (!socket_) co_return;
  if (value) {
    // Cut off because it was too slow, which stream_reset has told, or the engine stops.
    socket_->close(kTryAgainLater, "the event stream has ended; come back with last_event_id");
  } else if (!token_ended_.stop_requested()) {
    stop();
  }
}

// Until the client has answered the close nothing more is told or taken.
void ChatSocket::end_token() {
  socket_->close(kPolicyViolation, "the token was revoked or has expired");
  events_stop_.request_stop();
}

void ChatSocket::stop() {
  events_stop_.request_stop();
  stop_.request_stop();
}

Task<> ChatSocket::read() {
  while (true) {
    Result<std::optional<net::Message>> message = co_await socket_->receive(stop_.get_token());
    if (!message || !*message) co_return;
    if (token_ended_.stop_requested()) continue;
    if ((*message)->kind == net::MessageKind::kBinary) {
      socket_->close(kUnsupportedData, "frames are JSON text");
      continue;  // until the client has answered the close
    }
    const Value reply = co_await answer(std::move(**message));
    if (!send(json::write(reply))) co_return;
    if (const Result<> left = co_await socket_->drained(kHighWater, stop_.get_token()); !left) co_return;
  }
}

Task<Value> ChatSocket::answer(net::Message message) {
  Result<Value> frame = json::parse(message.data);
  message.data = {};
  if (!frame) co_return error_frame("the frame is not valid JSON: " + frame.error().message);
  if (!frame->is_object()) co_return error_frame("a frame is a JSON object with a \"type\"");
  const std::string type = frame->string_or("type");
  if (type == "ping") co_return Value::object({{"type", "pong"}});
  for (const Frame& known : kFrames) {
    if (known.type != type) continue;
    frame->as_object()->erase("type");
    const std::string request = frame->string_or("request_id");
    Result<Value> done = co_await call(std::string(known.path), std::move(*frame));
    if (!done) co_return error_frame(done.error());
    Value reply = Value::object({{"type", "accepted"}});
    for (const auto& [name, value] : *done->as_object()) reply.set(name, value);
    if (!request.empty()) reply.set("request_id", request);
    co_return reply;
  }
  co_return error_frame("the \"type\" of a frame is message, approval, auth_token, auth_cancel or ping");
}

Task<Result<Value>> ChatSocket::call(std::string path, Value args) {
  const op::Match match = registry_.match(op::Surface::kGateway, "POST", path);
  if (!match) co_return fail(Code::kUnsupported, "this engine has nothing at {}", path);
  Result<Value> prepared = op::prepare(*match.operation, principal_, std::move(args));
  if (!prepared) co_return fail(prepared.error());
  Result<Value> value = co_await std::get<op::ValueHandler>(match.operation->handler)(
      context(stop_.get_token()), std::move(*prepared));
  if (value && !value->is_object()) *value = Value::object();
  co_return value;
}

Result<> ChatSocket::send(std::string_view text) {
  if (!socket_) return fail(Code::kUnavailable, "the client has gone");
  return socket_->send_text(text);
}

Result<> ChatSocket::open() {
  opened_ = true;
  settled_.resolve(true);
  return {};
}

// Without a socket yet what is emitted waits here; drained() keeps that to one batch of the subscriber's queue.
Result<> ChatSocket::emit(op::Event event) {
  if (Result<> ready = open(); !ready) return ready;
  std::string frame = event_frame(event);
  if (socket_) return send(frame);
  early_.push_back(std::move(frame));
  return {};
}

Task<Result<>> ChatSocket::drained() {
  if (!socket_ && !co_await attached_) co_return fail(Code::kUnavailable, "the client has gone");
  if (socket_->pending() <= kHighWater) co_return Result<>{};
  co_return co_await socket_->drained(kHighWater, events_stop_.get_token());
}

}  // namespace chela::gateway
