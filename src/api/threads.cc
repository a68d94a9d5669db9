#include "api/operations.h"
#include "api/schema_text.h"
#include "api/views.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

constexpr std::string_view kGatewayChannel = "gateway";

// The active thread is null while the channel has none: asking for it would make one.
Task<Result<Value>> list(const Services& services, CallContext context, Value args) {
  const auto limit = static_cast<size_t>(args.int_or("limit", 50));
  const std::string channel = args.string_or("channel");
  const std::string active_of = channel.empty() ? std::string(kGatewayChannel) : channel;
  const Result<std::vector<agent::ThreadInfo>> found =
      co_await services.engine->threads(context.scope, limit);
  if (!found) co_return fail(found.error());
  Value threads = Value::array();
  Value active;
  for (const agent::ThreadInfo& each : *found) {
    if (channel.empty() || each.channel == channel) threads.push_back(thread_view(each));
    if (each.channel != active_of || !active.is_null()) continue;
    const Result<std::string> id = co_await services.engine->active_thread(context.scope, active_of);
    if (!id) co_return fail(id.error());
    active = *id;
  }
  co_return Value::object({{"threads", std::move(threads)}, {"active_thread", std::move(active)}});
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
  const Result<Value> records =
      co_await services.engine->log(context.scope, args.string_or("id"), args.int_or("after", 0),
                                    static_cast<size_t>(args.int_or("limit", 1000)));
  if (!records) co_return fail(records.error());
  if (records->is_object()) co_return *records;
  co_return Value::object({{"thread_id", args.string_or("id")}, {"records", *records}});
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

Task<Result<Value>> fork(const Services& services, CallContext context, Value args) {
  const Result<agent::ThreadInfo> forked =
      co_await services.engine->fork(context.scope, args.string_or("id"), args.int_or("at", 0));
  if (!forked) co_return fail(forked.error());
  co_return thread_view(*forked);
}

Value thread_schema() {
  return schema(R"({"type": "object", "properties": {
    "id": {"type": "string"}, "state": {"type": "string"}, "turn_count": {"type": "integer"}, "title": {"type": "string"},
    "created_at": {"type": "string"}, "updated_at": {"type": "string"}, "agent": {"type": "string"},
    "channel": {"type": "string"}, "external_thread": {"type": "string"}}})");
}

}  // namespace

Result<> add_threads(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation listing{
      .id = "thread::list",
      .help = "The user's threads, the most recently used first.",
      .in = schema(R"({"type": "object", "properties": {
        "limit": {"type": "integer", "minimum": 1, "maximum": 500, "default": 50},
        "channel": {"type": "string", "description": "only those of this channel, and its active thread"}}})"),
      .out = schema(R"({"type": "object", "properties": {
        "threads": {"type": "array", "items": {"type": "object"}}, "active_thread": {"type": ["string", "null"]}}})"),
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
  return add_all(registry, {listing, creating, logging, replaying, forking});
}

}  // namespace chela::api
