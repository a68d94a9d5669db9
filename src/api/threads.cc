#include "agent/traces/export.h"
#include "api/operations.h"
#include "api/schema_text.h"
#include "api/views.h"
#include "obs/log.h"
#include "security/known_secrets.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

constexpr std::string_view kGatewayChannel = "gateway";
constexpr std::string_view kWrite = "chat:write";

// The active thread is null while the channel has none. The pinned thread is shown apart, and made for who
// may begin threads.
Task<Result<Value>> list(const Services& services, CallContext context, Value args) {
  const std::string channel = args.string_or("channel");
  const std::string shown = channel.empty() ? std::string(kGatewayChannel) : channel;
  Value assistant;
  if (context.principal.allows(kWrite)) {
    const Result<agent::ThreadInfo> pinned = co_await services.engine->assistant_thread(context.scope, shown);
    if (!pinned) co_return fail(pinned.error());
    assistant = thread_view(*pinned);
  }
  const Result<std::vector<agent::ThreadInfo>> found = co_await services.engine->threads(
      context.scope, {.limit = static_cast<size_t>(args.int_or("limit", 50)) + 1,
                      .channel = channel,
                      .text = args.string_or("q")});
  if (!found) co_return fail(found.error());
  const Result<std::optional<std::string>> active =
      co_await services.engine->chosen_thread(context.scope, shown);
  if (!active) co_return fail(active.error());
  Value threads = Value::array();
  for (const agent::ThreadInfo& each : *found) {
    if (each.id == assistant.string_or("id")) continue;
    if (threads.as_array()->size() < static_cast<size_t>(args.int_or("limit", 50)))
      threads.push_back(thread_view(each));
  }
  co_return Value::object({{"assistant_thread", std::move(assistant)},
                           {"threads", std::move(threads)},
                           {"active_thread", *active ? Value(**active) : Value()}});
}

Task<Result<Value>> activate(const Services& services, CallContext context, Value args) {
  const Result<agent::ThreadInfo> thread =
      co_await services.engine->activate(context.scope, args.string_or("thread_id"));
  if (!thread) co_return fail(thread.error());
  co_return thread_view(*thread);
}

Task<Result<Value>> rename(const Services& services, CallContext context, Value args) {
  const Result<agent::ThreadInfo> thread =
      co_await services.engine->rename(context.scope, args.string_or("thread_id"), args.string_or("title"));
  if (!thread) co_return fail(thread.error());
  co_return thread_view(*thread);
}

Task<Result<Value>> create(const Services& services, CallContext context, Value args) {
  Scope scope = context.scope;
  if (const std::string agent = args.string_or("agent"); !agent.empty()) scope.agent = agent;
  const Result<agent::ThreadInfo> made = co_await services.engine->create_thread(
      std::move(scope), args.string_or("channel", kGatewayChannel), args.string_or("external_thread"));
  if (!made) co_return fail(made.error());
  co_return thread_view(*made);
}

Task<Result<Value>> log(const Services& services, CallContext context, Value args) {
  co_return co_await services.engine->log(context.scope, args.string_or("id"), args.int_or("after", 0),
                                          static_cast<size_t>(args.int_or("limit", 1000)));
}

Task<Result<Value>> replay(const Services& services, CallContext context, Value args) {
  const Result<agent::ReplayReport> report =
      co_await services.engine->replay(context.scope, args.string_or("id"), args.int_or("until", 0));
  if (!report) co_return fail(report.error());
  Value differences = Value::array();
  for (const std::string& each : report->differences) differences.push_back(each);
  co_return Value::object({{"thread_id", args.string_or("id")},
                           {"records", report->records},
                           {"effects", report->effects},
                           {"requests", report->requests},
                           {"differences", std::move(differences)}});
}

// As a trace: without what the log masks.
Task<Result<Value>> export_trace(const Services& services, CallContext context, Value args) {
  if (const Result<> known = co_await security::know_secrets(*services.vault, context.scope); !known)
    co_return fail(known.error());
  co_return co_await agent::traces::export_thread(*services.engine, std::move(context.scope),
                                                  args.string_or("id"), args.string_or("model_name"),
                                                  [](std::string_view text) { return log::redact(text); });
}

Task<Result<Value>> fork(const Services& services, CallContext context, Value args) {
  const Result<agent::ThreadInfo> forked =
      co_await services.engine->fork(context.scope, args.string_or("id"), args.int_or("at", 0));
  if (!forked) co_return fail(forked.error());
  co_return thread_view(*forked);
}

constexpr std::string_view kThreadSchema = R"({"type": "object", "properties": {
    "id": {"type": "string"}, "state": {"type": "string"}, "turn_count": {"type": "integer"}, "title": {"type": "string"},
    "created_at": {"type": "string"}, "updated_at": {"type": "string"}, "agent": {"type": "string"},
    "channel": {"type": "string"}, "external_thread": {"type": "string"},
    "thread_type": {"enum": ["assistant", "thread"], "description": "assistant: the one that is pinned for the user"}}})";

Value thread_schema() { return schema(kThreadSchema); }

Value list_schema() {
  Value properties = Value::object();
  properties.set("assistant_thread",
                 Value::object({{"anyOf", Value::array({thread_schema(), schema(R"({"type": "null"})")})}}));
  properties.set("threads", Value::object({{"type", "array"}, {"items", thread_schema()}}));
  properties.set("active_thread", schema(R"({"type": ["string", "null"]})"));
  return Value::object({{"type", "object"}, {"properties", std::move(properties)}});
}

}  // namespace

Result<> add_threads(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation listing{
      .id = "thread::list",
      .help = "The user's threads, the most recently used first.",
      .in = schema(R"({"type": "object", "properties": {
        "limit": {"type": "integer", "minimum": 1, "maximum": 500, "default": 50},
        "q": {"type": "string", "maxLength": 256, "description": "only those with this text in their title"},
        "channel": {"type": "string", "maxLength": 64, "description": "only those of this channel, and its active thread"}}})"),
      .out = list_schema(),
      .permission = "chat:read",
      .routes = {route("GET", "/api/chat/threads")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return list(*s, std::move(c), std::move(a)); }};
  op::Operation creating{
      .id = "thread::create",
      .help = "Begins a new thread and makes it the active one of its channel.",
      .in = schema(R"({"type": "object", "properties": {
        "agent": {"type": "string", "maxLength": 64}, "channel": {"type": "string", "maxLength": 64, "default": "gateway"},
        "external_thread": {"type": "string", "maxLength": 256, "description": "the channel's own name of it"}}})"),
      .out = thread_schema(),
      .permission = "chat:write",
      .routes = {route("POST", "/api/chat/thread/new")},
      .handler = [s](CallContext c, Value a) { return create(*s, std::move(c), std::move(a)); }};
  op::Operation activating{
      .id = "thread::activate",
      .help = "Makes a thread the active one of its agent and channel.",
      .in = schema(
          R"({"type": "object", "required": ["thread_id"], "properties": {"thread_id": {"type": "string", "minLength": 1}}})"),
      .out = thread_schema(),
      .permission = std::string(kWrite),
      .routes = {route("POST", "/api/chat/thread/activate")},
      .handler = [s](CallContext c, Value a) { return activate(*s, std::move(c), std::move(a)); }};
  op::Operation renaming{
      .id = "thread::rename",
      .help = "Gives a thread another title.",
      .in = schema(R"({"type": "object", "required": ["thread_id", "title"], "properties": {
        "thread_id": {"type": "string", "minLength": 1}, "title": {"type": "string", "minLength": 1}}})"),
      .out = thread_schema(),
      .permission = std::string(kWrite),
      .routes = {route("POST", "/api/chat/thread/rename")},
      .handler = [s](CallContext c, Value a) { return rename(*s, std::move(c), std::move(a)); }};
  op::Operation logging{
      .id = "thread::log",
      .help = "The records of a thread's turn log: what the engine did, step by step.",
      .in = schema(R"({"type": "object", "required": ["id"], "properties": {
        "id": {"type": "string", "minLength": 1}, "after": {"type": "integer", "minimum": 0, "default": 0},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 1000}}})"),
      .out = schema(
          R"({"type": "object", "properties": {"records": {"type": "array", "items": {"type": "object"}}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/threads/{id}/log")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return log(*s, std::move(c), std::move(a)); }};
  op::Operation replaying{
      .id = "thread::replay",
      .help =
          "Runs a thread's log again without any model or tool, and compares every step with what is "
          "recorded.",
      .in = schema(R"({"type": "object", "required": ["id"], "properties": {
        "id": {"type": "string", "minLength": 1},
        "until": {"type": "integer", "minimum": 0, "default": 0, "description": "the last record; 0 = all"}}})"),
      .out = schema(R"({"type": "object", "properties": {
        "thread_id": {"type": "string"}, "records": {"type": "integer"}, "effects": {"type": "integer"},
        "requests": {"type": "integer"}, "differences": {"type": "array", "items": {"type": "string"}}}})"),
      .permission = "chat:read",
      .routes = {route("POST", "/api/threads/{id}/replay")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return replay(*s, std::move(c), std::move(a)); }};
  op::Operation forking{
      .id = "thread::fork",
      .help = "A new thread that goes on from a record of another one.",
      .in = schema(R"({"type": "object", "required": ["id", "at"], "properties": {
        "id": {"type": "string", "minLength": 1}, "at": {"type": "integer", "minimum": 1}}})"),
      .out = thread_schema(),
      .permission = "chat:write",
      .routes = {route("POST", "/api/threads/{id}/fork")},
      .handler = [s](CallContext c, Value a) { return fork(*s, std::move(c), std::move(a)); }};
  op::Operation exporting{
      .id = "thread::export",
      .help = "A thread as a trace, which `chela replay-trace` plays again.",
      .in = schema(R"({"type": "object", "required": ["id"], "properties": {
        "id": {"type": "string", "minLength": 1},
        "model_name": {"type": "string", "maxLength": 256, "description": "of the trace; else recorded-<model>"}}})"),
      .out = schema(R"({"type": "object", "required": ["model_name", "turns"], "properties": {
        "model_name": {"type": "string"}, "turns": {"type": "array", "items": {"type": "object"}}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/threads/{id}/trace")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return export_trace(*s, std::move(c), std::move(a)); }};
  return add_all(registry, {listing, creating, activating, renaming, logging, replaying, forking, exporting});
}

}  // namespace chela::api
