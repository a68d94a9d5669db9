#include "api/chat_events.h"

#include "api/operations.h"
#include "api/schema_text.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

op::Event to_event(agent::Event event) {
  return op::Event{.name = std::move(event.type), .id = std::move(event.id), .data = json::write(event.data)};
}

// Waits for the client before it takes the next event: a client that does not keep up fills its own queue in the engine, which cuts it off
// with stream_reset, and nobody else's.
Task<Result<Value>> follow(const Services& services, CallContext context, Value args, op::EventSink& sink) {
  std::string last(context.header("last-event-id"));  // what a browser sends when it reconnects
  if (last.empty()) last = args.string_or("last_event_id");
  Result<std::unique_ptr<agent::Subscription>> subscription =
      co_await services.engine->subscribe(context.scope, args.string_or("thread_id"), std::move(last));
  if (!subscription) co_return fail(subscription.error());
  if (Result<> opened = sink.open(); !opened) co_return fail(opened.error());
  while (std::optional<agent::Event> event = co_await (*subscription)->next(context.stop)) {
    while (event) {
      if (Result<> sent = sink.emit(to_event(std::move(*event))); !sent) co_return fail(sent.error());
      event = (*subscription)->try_next();
    }
    if (Result<> left = co_await sink.drained(); !left) co_return fail(left.error());
  }
  co_return Value();
}

}  // namespace

op::Operation chat_events(const Services& services) {
  const Services* s = &services;
  return op::Operation{.id = "chat::events",
                       .help =
                           "What happens in the user's threads: replies, text as it is written, tools, "
                           "questions. Can be resumed by event id.",
                       .in = schema(R"({"type": "object", "properties": {
        "thread_id": {"type": "string", "description": "only this thread; the ids are then the thread's"},
        "last_event_id": {"type": "string", "description": "go on after this event; the header Last-Event-ID wins"}}})"),
                       .out = schema(R"({"type": "object", "properties": {
        "type": {"type": "string"}, "thread_id": {"type": "string"}, "turn_id": {"type": "string"}}})"),
                       .permission = "chat:read",
                       .kind = op::Kind::kEvents,
                       .routes = {route("GET", "/api/chat/events")},
                       .idempotent = op::Idempotent::kYes,
                       .handler = [s](CallContext c, Value a, op::EventSink& sink) {
                         return follow(*s, std::move(c), std::move(a), sink);
                       }};
}

}  // namespace chela::api
