#include "tools/bus/worker_tool.h"

#include "base/utf8.h"
#include "tools/bus/limits.h"
#include "tools/bus/tool_names.h"
#include "tools/registry.h"

namespace chela::tools {
namespace {

Result<json::Value> parameters_of(const bus::FunctionSpec& spec) {
  if (spec.request_format.size() > kMaxWorkerToolSchemaBytes)
    return fail(Code::kTooLarge, "its request_format has {} bytes; a tool's may have {}",
                spec.request_format.size(), kMaxWorkerToolSchemaBytes);
  json::Value schema = json::Value::object();
  if (!spec.request_format.empty()) {
    Result<json::Value> parsed = json::parse(spec.request_format);
    if (!parsed) return fail(parsed.error());
    schema = std::move(*parsed);
  }
  if (schema.as_object() == nullptr)
    return fail(Code::kInvalidArgument, "its request_format is no JSON Schema of an object");
  if (schema.find("type") == nullptr) schema.set("type", "object");
  if (schema.find("properties") == nullptr) schema.set("properties", json::Value::object());
  return schema;
}

Result<Approval> approval_of(const bus::FunctionSpec& spec) {
  if (spec.metadata.empty()) return Approval::kUnlessAutoApproved;
  const Result<json::Value> metadata = json::parse(spec.metadata);
  if (!metadata) return fail(metadata.error());
  const json::Value* level = metadata->find("approval");
  if (level == nullptr || level->is_null()) return Approval::kUnlessAutoApproved;
  const std::string word = metadata->string_or("approval");
  if (word == "never") return Approval::kNever;
  if (word == "unless_auto_approved") return Approval::kUnlessAutoApproved;
  if (word == "always") return Approval::kAlways;
  return fail(Code::kInvalidArgument,
              "its metadata has another approval than never, unless_auto_approved or always");
}

ToolResult outside(ToolResult result) {
  result.taint = Taint::kUntrusted;
  return result;
}

}  // namespace

Result<ToolPtr> WorkerTool::create(bus::Bus& bus, const bus::FunctionSpec& spec) {
  Result<json::Value> parameters = parameters_of(spec);
  if (!parameters) return fail(parameters.error());
  std::string name = tool_name(spec.id);
  if (Result<> usable = check_parameters(name, *parameters); !usable) return fail(usable.error());
  const Result<Approval> approval = approval_of(spec);
  if (!approval) return fail(approval.error());
  std::string description(utf8::prefix(spec.description, kMaxWorkerToolDescriptionBytes));
  if (description.empty()) description = "The function " + spec.id + " of a worker.";
  const size_t bytes = name.size() + description.size() + spec.request_format.size();
  ToolInfo info{.name = std::move(name),
                .description = std::move(description),
                .parameters = std::move(*parameters),
                .idempotence = Idempotence::kOnce};
  return ToolPtr(new WorkerTool(bus, spec.id, bytes, std::move(info), *approval));
}

Task<Result<ToolResult>> WorkerTool::call(ToolContext context, json::Value arguments) {
  const std::stop_token stop = context.stop;
  Result<json::Value> value =
      co_await bus_.call_permitted({.principal = {.realm = context.scope.realm,
                                                  .user = context.scope.user,
                                                  .permissions = std::move(context.permissions)},
                                    .scope = context.scope,
                                    .deadline = context.deadline,
                                    .stop = std::move(context.stop)},
                                   function_id_, std::move(arguments));
  if (!value) {
    if (stop.stop_requested()) co_return fail(value.error());
    if (value.error().detail("bus_code") == "invocation_stopped")
      co_return ToolResult::error(
          fmt::format("the worker that ran {} has gone in mid-call; whether the call took effect is unknown",
                      info().name));
    co_return outside(ToolResult::error(value.error().message));
  }
  if (value->is_null()) co_return outside(ToolResult::text("(no result)"));
  if (const std::string* text = value->as_string()) co_return outside(ToolResult::text(*text));
  co_return outside(ToolResult::json(std::move(*value)));
}

}  // namespace chela::tools
