#include "api/chat_events.h"
#include "api/operations.h"
#include "api/schema_text.h"
#include "api/views.h"
#include "base/strings.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

constexpr std::string_view kGatewayChannel = "gateway";

agent::Decision decision_of(std::string_view action) {
  if (action == "always") return agent::Decision::kAlways;
  return action == "approve" ? agent::Decision::kApprove : agent::Decision::kDeny;
}

// What a person types to steer the channel instead of talking to the agent.
enum class Command { kNone, kNewThread, kQuit };

Command command_of(std::string_view content) {
  const std::string word = strings::lower(strings::trim(content));
  if (word == "/new" || word == "/thread new") return Command::kNewThread;
  if (word == "/quit" || word == "/exit" || word == "/shutdown") return Command::kQuit;
  return Command::kNone;
}

// Begins no turn, so there is no turn id in the answer.
Task<Result<Value>> begin_thread(const Services& services, Scope scope, std::string channel) {
  const Result<agent::ThreadInfo> made =
      co_await services.engine->create_thread(std::move(scope), std::move(channel), "");
  if (!made) co_return fail(made.error());
  co_return Value::object(
      {{"message_id", services.ids->next()}, {"status", "accepted"}, {"thread_id", made->id}});
}

Task<Result<Value>> send(const Services& services, CallContext context, Value args) {
  Scope scope = context.scope;
  if (const std::string agent = args.string_or("agent"); !agent.empty()) scope.agent = agent;
  const std::string channel = args.string_or("channel", kGatewayChannel);
  switch (command_of(args.string_or("content"))) {
    case Command::kNewThread:
      co_return co_await begin_thread(services, std::move(scope), channel);
    case Command::kQuit:
      co_return fail(Code::kPermissionDenied, "only the terminal can stop the engine");
    case Command::kNone:
      break;
  }
  agent::Inbound inbound{.scope = std::move(scope),
                         .channel = channel,
                         .thread_id = args.string_or("thread_id"),
                         .content = args.string_or("content"),
                         .idempotency_key = args.string_or("idempotency_key")};
  const Result<agent::Accepted> accepted = co_await services.engine->send(std::move(inbound));
  if (!accepted) co_return fail(accepted.error());
  co_return accepted_view(*accepted);
}

Task<Result<Value>> approve(const Services& services, CallContext context, Value args) {
  const Result<agent::Accepted> accepted = co_await services.engine->decide(
      context.scope, args.string_or("request_id"), decision_of(args.string_or("action")));
  if (!accepted) co_return fail(accepted.error());
  co_return accepted_view(*accepted);
}

Task<Result<std::string>> thread_or_active(const Services& services, Scope scope, Value args) {
  std::string thread = args.string_or("thread_id");
  if (!thread.empty()) co_return thread;
  co_return co_await services.engine->active_thread(std::move(scope),
                                                    args.string_or("channel", kGatewayChannel));
}

Task<Result<Value>> interrupt(const Services& services, CallContext context, Value args) {
  const Result<std::string> thread = co_await thread_or_active(services, context.scope, std::move(args));
  if (!thread) co_return fail(thread.error());
  if (Result<> done = co_await services.engine->interrupt(context.scope, *thread); !done)
    co_return fail(done.error());
  co_return Value::object({{"status", "interrupted"}, {"thread_id", *thread}});
}

Task<Result<Value>> history(const Services& services, CallContext context, Value args) {
  std::optional<UnixMs> before;
  if (const std::string text = args.string_or("before"); !text.empty()) {
    const Result<UnixMs> time = parse_rfc3339(text);
    if (!time) co_return fail(Code::kInvalidArgument, "before: {}", time.error().message);
    before = *time;
  }
  const auto limit = static_cast<size_t>(args.int_or("limit", 50));
  const Result<std::string> thread = co_await thread_or_active(services, context.scope, std::move(args));
  if (!thread) co_return fail(thread.error());
  const Result<agent::History> found =
      co_await services.engine->history(context.scope, *thread, limit, before);
  if (!found) co_return fail(found.error());
  co_return history_view(*found);
}

Task<Result<Value>> wait(const Services& services, CallContext context, Value args) {
  const std::string turn = args.string_or("turn_id");
  const Result<agent::TurnOutcome> outcome =
      co_await services.engine->wait(context.scope, turn, context.stop);
  if (!outcome) co_return fail(outcome.error());
  co_return outcome_view(*outcome);
}

Value accepted_schema() {
  return schema(R"({"type": "object", "properties": {
    "message_id": {"type": "string"}, "status": {"const": "accepted"}, "thread_id": {"type": "string"},
    "turn_id": {"type": "string", "description": "the turn that the message starts or joins"},
    "duplicate": {"type": "boolean", "description": "the idempotency key was seen before; no second turn"}}})");
}

}  // namespace

Result<> add_chat(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation sending{
      .id = "chat::send",
      .help = "Gives a message to an agent. Durable when answered; the reply comes as an event.",
      .in = schema(R"({"type": "object", "required": ["content"], "properties": {
        "content": {"type": "string", "minLength": 1},
        "thread_id": {"type": "string", "description": "else the active thread of the channel"},
        "idempotency_key": {"type": "string", "maxLength": 256, "description": "the same key within 24 h starts no second turn"},
        "agent": {"type": "string", "maxLength": 64, "description": "for a new thread; else the default agent"},
        "channel": {"type": "string", "maxLength": 64, "default": "gateway"}}})"),
      .out = accepted_schema(),
      .permission = "chat:write",
      .routes = {route("POST", "/api/chat/send", 202)},
      .handler = [s](CallContext c, Value a) { return send(*s, std::move(c), std::move(a)); }};
  op::Operation approval{
      .id = "chat::approval",
      .help = "Answers a tool call that waits for approval.",
      .in = schema(R"({"type": "object", "required": ["request_id", "action"], "properties": {
        "request_id": {"type": "string", "minLength": 1},
        "action": {"type": "string", "enum": ["approve", "always", "deny"]}}})"),
      .out = accepted_schema(),
      .permission = "chat:write",
      .routes = {route("POST", "/api/chat/approval", 202)},
      .handler = [s](CallContext c, Value a) { return approve(*s, std::move(c), std::move(a)); }};
  op::Operation interrupting{
      .id = "chat::interrupt",
      .help = "Ends the running turn of a thread.",
      .in = schema(R"({"type": "object", "properties": {
        "thread_id": {"type": "string", "description": "else the active thread of the channel"},
        "channel": {"type": "string", "default": "gateway"}}})"),
      .out = schema(
          R"({"type": "object", "properties": {"status": {"const": "interrupted"}, "thread_id": {"type": "string"}}})"),
      .permission = "chat:write",
      .routes = {route("POST", "/api/chat/interrupt")},
      .handler = [s](CallContext c, Value a) { return interrupt(*s, std::move(c), std::move(a)); }};
  op::Operation reading{
      .id = "chat::history",
      .help = "The turns of a thread, oldest first, and what waits for an answer.",
      .in = schema(R"({"type": "object", "properties": {
        "thread_id": {"type": "string", "description": "else the active thread of the channel"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
        "before": {"type": "string", "description": "RFC 3339: turns that started earlier"},
        "channel": {"type": "string", "default": "gateway"}}})"),
      .out = schema(R"({"type": "object", "properties": {
        "thread_id": {"type": "string"}, "turns": {"type": "array", "items": {"type": "object"}},
        "has_more": {"type": "boolean"}, "oldest_timestamp": {"type": "string"}, "pending_approval": {"type": "object"}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/chat/history")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return history(*s, std::move(c), std::move(a)); }};
  op::Operation waiting{
      .id = "chat::wait",
      .help = "Waits until a turn has ended or needs an answer, and says how it stands.",
      .in = schema(
          R"({"type": "object", "required": ["turn_id"], "properties": {"turn_id": {"type": "string", "minLength": 1}}})"),
      .out = schema(R"({"type": "object", "properties": {
        "state": {"enum": ["processing", "awaiting_approval", "awaiting_client", "completed", "failed", "interrupted"]},
        "reply": {"type": "string"}, "error": {"type": "object"}, "approval": {"type": "object"},
        "usage": {"type": "object"}, "model": {"type": "string"}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/chat/wait")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return wait(*s, std::move(c), std::move(a)); }};
  return add_all(registry, {sending, approval, interrupting, reading, waiting, chat_events(services)});
}

}  // namespace chela::api
