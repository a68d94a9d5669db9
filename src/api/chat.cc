#include "agent/commands/table.h"
#include "api/chat_events.h"
#include "api/key_models.h"
#include "api/operations.h"
#include "api/schema_text.h"
#include "api/views.h"
#include "base/base64.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

constexpr std::string_view kGatewayChannel = "gateway";

agent::Decision decision_of(std::string_view action) {
  if (action == "always") return agent::Decision::kAlways;
  return action == "approve" ? agent::Decision::kApprove : agent::Decision::kDeny;
}

// The files of a message, their base64 decoded. How many and how large they may be the engine says.
Result<std::vector<agent::Upload>> uploads_of(const Value& args) {
  std::vector<agent::Upload> uploads;
  const Value* list = args.find("attachments");
  if (list == nullptr || list->as_array() == nullptr) return uploads;
  for (const Value& each : *list->as_array()) {
    Result<std::string> bytes = base64::decode(each.string_or("data"));
    if (!bytes)
      return fail(Code::kInvalidArgument, "the data of an attachment is no base64: {}",
                  bytes.error().message);
    uploads.push_back({each.string_or("name"), each.string_or("media_type"), std::move(*bytes)});
  }
  return uploads;
}

Task<Result<Value>> send(const Services& services, CallContext context, Value args) {
  Scope scope = context.scope;
  if (const std::string agent = args.string_or("agent"); !agent.empty()) scope.agent = agent;
  agent::Inbound inbound{.scope = std::move(scope),
                         .channel = args.string_or("channel", kGatewayChannel),
                         .thread_id = args.string_or("thread_id"),
                         .content = args.string_or("content"),
                         .idempotency_key = args.string_or("idempotency_key"),
                         .permissions = context.principal.permissions,
                         .client_key = context.principal.token_id};
  if (Result<> may = check_agent(services, context.principal, inbound.scope.agent, inbound.content); !may)
    co_return fail(std::move(may.error()));
  // A thread leads to its own agent, whatever agent is named.
  if (!model_patterns(context.principal).empty()) inbound.reach = agent::Inbound::Reach::kThreadsOfAgent;
  Result<std::vector<agent::Upload>> uploads = uploads_of(args);
  if (!uploads) co_return fail(uploads.error());
  if (inbound.content.empty() && uploads->empty())
    co_return fail(Code::kUnprocessable, "content: expected a text, or attachments beside an empty one");
  inbound.attachments = std::move(*uploads);
  const Result<agent::Accepted> accepted = co_await services.engine->send(std::move(inbound));
  if (!accepted) co_return fail(accepted.error());
  co_return accepted_view(*accepted);
}

Task<Result<Value>> approve(const Services& services, CallContext context, Value args) {
  const Result<agent::Accepted> accepted =
      co_await services.engine->decide(context.scope, args.string_or("request_id"),
                                       decision_of(args.string_or("action")), context.principal.permissions);
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

// The same terms come again that the turn had, of whoever began it.
Task<Result<Value>> retry(const Services& services, CallContext context, Value args) {
  if (!model_patterns(context.principal).empty())
    co_return fail(Code::kPermissionDenied,
                   "a key that may use some models only has no turn begun again; send the message anew");
  const std::string key = args.string_or("idempotency_key");
  const Result<std::string> thread = co_await thread_or_active(services, context.scope, std::move(args));
  if (!thread) co_return fail(thread.error());
  const Result<agent::Accepted> accepted =
      co_await services.engine->retry(context.scope, *thread, key, context.principal.permissions);
  if (!accepted) co_return fail(accepted.error());
  co_return accepted_view(*accepted);
}

Task<Result<Value>> edit(const Services& services, CallContext context, Value args) {
  agent::Inbound inbound{.scope = context.scope,
                         .channel = {},
                         .thread_id = args.string_or("thread_id"),
                         .content = args.string_or("content"),
                         .idempotency_key = args.string_or("idempotency_key"),
                         .permissions = context.principal.permissions,
                         .client_key = context.principal.token_id};
  if (!model_patterns(context.principal).empty()) {
    if (const std::string agent = args.string_or("agent"); !agent.empty()) inbound.scope.agent = agent;
    if (Result<> may = check_agent(services, context.principal, inbound.scope.agent, inbound.content); !may)
      co_return fail(std::move(may.error()));
    inbound.reach = agent::Inbound::Reach::kThreadsOfAgent;
  }
  const Result<agent::Accepted> accepted =
      co_await services.engine->edit(args.int_or("turn_number", 0), std::move(inbound));
  if (!accepted) co_return fail(accepted.error());
  co_return accepted_view(*accepted);
}

// Whether nothing waited is an answer, not a failure.
Result<Value> action(const Result<>& done, std::string message) {
  if (!done && done.error().code != Code::kNotFound) return fail(done.error());
  return Value::object(
      {{"success", done.has_value()}, {"message", done ? std::move(message) : done.error().message}});
}

Task<Result<Value>> give_token(const Services& services, CallContext context, Value args) {
  const std::string name = args.string_or("extension_name");
  co_return action(co_await services.engine->give_credential(context.scope, name, args.string_or("token")),
                   fmt::format("{} is stored.", name));
}

Task<Result<Value>> cancel_token(const Services& services, CallContext context, Value args) {
  const std::string name = args.string_or("extension_name");
  co_return action(co_await services.engine->cancel_credential(context.scope, name),
                   fmt::format("{} is asked for no more.", name));
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
  if (const std::string thread = args.string_or("thread_id"); !thread.empty()) {
    const Result<> known = co_await services.engine->recall_turn(context.scope, thread, turn);
    if (!known) co_return fail(known.error());
  }
  const Result<agent::TurnOutcome> outcome =
      co_await services.engine->wait(context.scope, turn, context.stop);
  if (!outcome) co_return fail(outcome.error());
  co_return outcome_view(*outcome);
}

Task<Result<Value>> list_commands() {
  Value commands = Value::array();
  for (const agent::commands::Spec& spec : agent::commands::table()) {
    Value synonyms = Value::array();
    for (const std::string_view word : spec.words.subspan(1)) synonyms.push_back(word);
    Value entry = Value::object({{"name", spec.words.front()},
                                 {"synonyms", std::move(synonyms)},
                                 {"usage", agent::commands::usage(spec)},
                                 {"help", spec.help}});
    if (!spec.argument.empty()) entry.set("argument", spec.argument);
    commands.push_back(std::move(entry));
  }
  co_return Value::object({{"commands", std::move(commands)}});
}

Value accepted_schema() {
  return schema(R"({"type": "object", "properties": {
    "message_id": {"type": "string"}, "status": {"const": "accepted"}, "thread_id": {"type": "string"},
    "turn_id": {"type": "string", "description": "the turn that the message starts or joins"},
    "reply": {"type": "string", "description": "what a slash command answers; it starts no turn"},
    "duplicate": {"type": "boolean", "description": "the idempotency key was seen before; no second turn"}}})");
}

}  // namespace

Result<> add_chat(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation sending{
      .id = "chat::send",
      .help = "Gives a message to an agent. Durable when answered; the reply comes as an event.",
      .in = schema(R"({"type": "object", "required": ["content"], "properties": {
        "content": {"type": "string", "description": "may be empty when there are attachments"},
        "thread_id": {"type": "string", "description": "else the active thread of the channel"},
        "attachments": {"type": "array", "maxItems": 8, "items": {"type": "object", "required": ["name", "data"], "properties": {
          "name": {"type": "string"}, "media_type": {"type": "string"}, "data": {"type": "string", "description": "base64"}}}},
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
  op::Operation retrying{
      .id = "chat::retry",
      .help = "Takes the last turn of a thread back and gives its input to the agent again.",
      .in = schema(R"({"type": "object", "properties": {
        "thread_id": {"type": "string", "description": "else the active thread of the channel"},
        "idempotency_key": {"type": "string", "maxLength": 256, "description": "the same key within 24 h tries once"},
        "channel": {"type": "string", "maxLength": 64, "default": "gateway"}}})"),
      .out = accepted_schema(),
      .permission = "chat:write",
      .routes = {route("POST", "/api/chat/retry", 202)},
      .handler = [s](CallContext c, Value a) { return retry(*s, std::move(c), std::move(a)); }};
  op::Operation editing{
      .id = "chat::edit",
      .help =
          "Says something else in the place of an earlier message: the conversation before it goes on in a "
          "new thread.",
      .in = schema(R"({"type": "object", "required": ["thread_id", "turn_number", "content"], "properties": {
        "thread_id": {"type": "string", "minLength": 1},
        "turn_number": {"type": "integer", "minimum": 0, "description": "as history counts, from 0"},
        "content": {"type": "string", "minLength": 1},
        "idempotency_key": {"type": "string", "maxLength": 256, "description": "the same key within 24 h makes one thread"}}})"),
      .out = accepted_schema(),
      .permission = "chat:write",
      .routes = {route("POST", "/api/chat/edit", 202)},
      .handler = [s](CallContext c, Value a) { return edit(*s, std::move(c), std::move(a)); }};
  const json::Value action_schema = schema(
      R"({"type": "object", "properties": {"success": {"type": "boolean"}, "message": {"type": "string"}}})");
  op::Operation giving{
      .id = "chat::auth_token",
      .help = "Gives a credential that a turn waits for. It goes to the vault and nowhere else.",
      .in = schema(R"({"type": "object", "required": ["extension_name", "token"], "properties": {
        "extension_name": {"type": "string", "minLength": 1}, "token": {"type": "string", "minLength": 1}}})"),
      .out = action_schema,
      .permission = "chat:write",
      .routes = {route("POST", "/api/chat/auth-token")},
      .handler = [s](CallContext c, Value a) { return give_token(*s, std::move(c), std::move(a)); }};
  op::Operation cancelling{
      .id = "chat::auth_cancel",
      .help = "Declines to give a credential that a turn waits for; the turn goes on without it.",
      .in = schema(R"({"type": "object", "required": ["extension_name"], "properties": {
        "extension_name": {"type": "string", "minLength": 1}}})"),
      .out = action_schema,
      .permission = "chat:write",
      .routes = {route("POST", "/api/chat/auth-cancel")},
      .handler = [s](CallContext c, Value a) { return cancel_token(*s, std::move(c), std::move(a)); }};
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
        "has_more": {"type": "boolean"}, "oldest_timestamp": {"type": "string"}, "last_event_id": {"type": "string"}, "pending_approval": {"type": "object"}, "pending_auth": {"type": "object"}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/chat/history")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return history(*s, std::move(c), std::move(a)); }};
  op::Operation waiting{
      .id = "chat::wait",
      .help = "Waits until a turn has ended or needs an answer, and says how it stands.",
      .in = schema(
          R"({"type": "object", "required": ["turn_id"], "properties": {"turn_id": {"type": "string", "minLength": 1},
        "thread_id": {"type": "string", "minLength": 1, "description": "finds the turn also when it ended before the engine started"}}})"),
      .out = schema(R"({"type": "object", "properties": {
        "state": {"enum": ["processing", "awaiting_approval", "awaiting_auth", "awaiting_client", "completed", "failed", "interrupted"]},
        "reply": {"type": "string"}, "error": {"type": "object"}, "approval": {"type": "object"}, "auth": {"type": "object"},
        "usage": {"type": "object"}, "model": {"type": "string"}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/chat/wait")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return wait(*s, std::move(c), std::move(a)); }};
  op::Operation listing{
      .id = "chat::commands",
      .help = "The slash commands that a message may be: their words, what they take and what they do.",
      .in = no_input(),
      .out = schema(
          R"({"type": "object", "properties": {"commands": {"type": "array", "items": {"type": "object",
        "properties": {"name": {"type": "string"}, "synonyms": {"type": "array", "items": {"type": "string"}},
          "argument": {"type": "string"}, "usage": {"type": "string"}, "help": {"type": "string"}}}}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/chat/commands")},
      .idempotent = op::Idempotent::kYes,
      .handler = [](CallContext, Value) { return list_commands(); }};
  return add_all(registry, {sending, approval, interrupting, retrying, editing, giving, cancelling, reading,
                            waiting, listing, chat_events(services)});
}

}  // namespace chela::api
