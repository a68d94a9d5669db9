#include <set>

#include "api/operations.h"
#include "api/schema_text.h"
#include "memory/workspace.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

// Every folder on the way to a document, then the document: what a tree view draws, each path once and in order.
Task<Result<Value>> tree(const Services& services, CallContext context) {
  const Result<std::vector<store::DocumentInfo>> documents =
      co_await services.memory->list(context.scope, "");
  if (!documents) co_return fail(documents.error());
  std::set<std::string> folders;
  Value entries = Value::array();
  for (const store::DocumentInfo& each : *documents) {
    for (size_t slash = each.path.find('/'); slash != std::string::npos;
         slash = each.path.find('/', slash + 1)) {
      const std::string folder = each.path.substr(0, slash);
      if (folders.insert(folder).second)
        entries.push_back(Value::object({{"path", folder}, {"is_dir", true}}));
    }
    entries.push_back(Value::object({{"path", each.path}, {"is_dir", false}}));
  }
  co_return Value::object({{"entries", std::move(entries)}});
}

Task<Result<Value>> list(const Services& services, CallContext context, Value args) {
  const std::string folder = args.string_or("path");
  const Result<std::vector<memory::Entry>> children =
      co_await services.memory->children(context.scope, folder);
  if (!children) co_return fail(children.error());
  Value entries = Value::array();
  for (const memory::Entry& each : *children) {
    entries.push_back(Value::object({{"name", each.name},
                                     {"path", each.path},
                                     {"is_dir", each.is_directory},
                                     {"updated_at", format_rfc3339(each.updated_at)}}));
  }
  co_return Value::object({{"path", folder}, {"entries", std::move(entries)}});
}

Task<Result<Value>> read(const Services& services, CallContext context, Value args) {
  const Result<store::DocumentRow> row =
      co_await services.memory->read(context.scope, args.string_or("path"));
  if (!row) co_return fail(row.error());
  co_return Value::object(
      {{"path", row->path}, {"content", row->content}, {"updated_at", format_rfc3339(row->updated_at)}});
}

Task<Result<Value>> write(const Services& services, CallContext context, Value args) {
  const Result<store::DocumentRow> row =
      co_await services.memory->write(context.scope, args.string_or("path"), args.string_or("content"));
  if (!row) co_return fail(row.error());
  co_return Value::object({{"path", row->path}, {"status", "written"}});
}

Task<Result<Value>> search(const Services& services, CallContext context, Value args) {
  const auto limit = static_cast<size_t>(args.int_or("limit", 10));
  const Result<std::vector<memory::SearchResult>> found =
      co_await services.memory->search(context.scope, args.string_or("query"), limit);
  if (!found) co_return fail(found.error());
  Value results = Value::array();
  for (const memory::SearchResult& each : *found) {
    results.push_back(Value::object({{"path", each.path},
                                     {"content", each.content},
                                     {"score", each.score},
                                     {"document_id", each.document_id}}));
  }
  co_return Value::object({{"results", std::move(results)}});
}

}  // namespace

Result<> add_memory(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation drawing{
      .id = "memory::tree",
      .help = "All documents and the folders they are in.",
      .in = no_input(),
      .out = schema(
          R"({"type": "object", "properties": {"entries": {"type": "array", "items": {"type": "object", "properties": {
        "path": {"type": "string"}, "is_dir": {"type": "boolean"}}}}}})"),
      .permission = "memory:read",
      .routes = {route("GET", "/api/memory/tree")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value) { return tree(*s, std::move(c)); }};
  op::Operation listing{
      .id = "memory::list",
      .help = "What is directly in a folder.",
      .in = schema(
          R"({"type": "object", "properties": {"path": {"type": "string", "default": "", "description": "the folder; empty is the root"}}})"),
      .out = schema(
          R"({"type": "object", "properties": {"path": {"type": "string"}, "entries": {"type": "array", "items": {
        "type": "object", "properties": {"name": {"type": "string"}, "path": {"type": "string"}, "is_dir": {"type": "boolean"},
        "updated_at": {"type": "string"}}}}}})"),
      .permission = "memory:read",
      .routes = {route("GET", "/api/memory/list")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return list(*s, std::move(c), std::move(a)); }};
  op::Operation reading{
      .id = "memory::read",
      .help = "One document.",
      .in = schema(
          R"({"type": "object", "required": ["path"], "properties": {"path": {"type": "string", "minLength": 1}}})"),
      .out = schema(R"({"type": "object", "properties": {
        "path": {"type": "string"}, "content": {"type": "string"}, "updated_at": {"type": "string"}}})"),
      .permission = "memory:read",
      .routes = {route("GET", "/api/memory/read")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return read(*s, std::move(c), std::move(a)); }};
  op::Operation writing{
      .id = "memory::write",
      .help = "Creates or replaces a document.",
      .in = schema(R"({"type": "object", "required": ["path", "content"], "properties": {
        "path": {"type": "string", "minLength": 1}, "content": {"type": "string"}}})"),
      .out = schema(
          R"({"type": "object", "properties": {"path": {"type": "string"}, "status": {"const": "written"}}})"),
      .permission = "memory:write",
      .routes = {route("POST", "/api/memory/write")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return write(*s, std::move(c), std::move(a)); }};
  op::Operation searching{
      .id = "memory::search",
      .help = "The parts of documents that fit a query, best first.",
      .in = schema(R"({"type": "object", "required": ["query"], "properties": {
        "query": {"type": "string", "minLength": 1}, "limit": {"type": "integer", "minimum": 1, "maximum": 20, "default": 10}}})"),
      .out = schema(
          R"({"type": "object", "properties": {"results": {"type": "array", "items": {"type": "object", "properties": {
        "path": {"type": "string"}, "content": {"type": "string"}, "score": {"type": "number"}, "document_id": {"type": "string"}}}}}})"),
      .permission = "memory:read",
      .routes = {route("POST", "/api/memory/search")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return search(*s, std::move(c), std::move(a)); }};
  return add_all(registry, {drawing, listing, reading, writing, searching});
}

}  // namespace chela::api
