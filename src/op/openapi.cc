#include "base/strings.h"
#include "op/registry.h"

namespace chela::op {
namespace {

using json::Value;

bool in_path(const Route& route, std::string_view name) {
  return template_of(route.path).find(fmt::format("{{{}}}", name)) != std::string::npos;
}
bool takes_slashes(const Route& route, std::string_view name) {
  return route.path.ends_with(fmt::format("{{{}...}}", name));
}

bool has_body(std::string_view method) { return method == "POST" || method == "PUT" || method == "PATCH"; }

bool is_required(const Value& schema, std::string_view name) {
  const Value* required = schema.find("required");
  if (!required || !required->is_array()) return false;
  for (const Value& each : *required->as_array()) {
    if (each == Value(name)) return true;
  }
  return false;
}

Value parameter(std::string_view name, std::string_view where, const Value& schema, bool required) {
  Value out = Value::object({{"name", name}, {"in", where}, {"required", required}});
  if (const std::string help = schema.string_or("description"); !help.empty()) out.set("description", help);
  out.set("schema", schema);
  return out;
}

// The input's properties, split into what stands in the path, in the query (methods without a body) and in the body.
void describe_input(const Operation& operation, const Route& route, Value& out) {
  Value parameters = Value::array();
  Value body = operation.in;
  Value rest = Value::object();
  Value required = Value::array();
  if (const Value* properties = operation.in.find("properties"); properties && properties->is_object()) {
    for (const json::Member& member : *properties->as_object()) {
      const bool needed = is_required(operation.in, member.key);
      if (in_path(route, member.key)) {
        Value described = parameter(member.key, "path", member.value, true);
        if (takes_slashes(route, member.key)) {
          const std::string help = member.value.string_or("description");
          described.set("description", help.empty() ? "may hold slashes" : help + "; may hold slashes");
        }
        parameters.push_back(std::move(described));
      } else if (!has_body(route.method)) {
        parameters.push_back(parameter(member.key, "query", member.value, needed));
      } else {
        rest.set(member.key, member.value);
        if (needed) required.push_back(member.key);
      }
    }
  }
  if (!parameters.as_array()->empty()) out.set("parameters", std::move(parameters));
  if (!has_body(route.method)) return;
  body.set("type", "object");
  body.set("properties", std::move(rest));
  body.as_object()->erase("required");
  const bool any = !required.as_array()->empty();
  if (any) body.set("required", std::move(required));
  out.set(
      "requestBody",
      Value::object({{"required", any},
                     {"content",
                      Value::object({{"application/json", Value::object({{"schema", std::move(body)}})}})}}));
}

std::string_view content_type(Kind kind) {
  switch (kind) {
    case Kind::kValue:
      return "application/json";
    case Kind::kEvents:
      return "text/event-stream";
    case Kind::kBytes:
      return "application/octet-stream";
  }
  return "";
}

Value describe(const Operation& operation, const Route& route) {
  Value out = Value::object({{"operationId", operation.id}, {"summary", operation.help}});
  describe_input(operation, route, out);
  const Value content = Value::object(
      {{std::string(content_type(operation.kind)), Value::object({{"schema", operation.out}})}});
  Value responses = Value::object(
      {{std::to_string(route.status), Value::object({{"description", "success"}, {"content", content}})}});
  const std::string_view error = route.envelope == Envelope::kChela    ? "Error"
                                 : route.envelope == Envelope::kOpenAi ? "OpenAiError"
                                                                       : "AnthropicError";
  const Value reference = Value::object({{"$ref", fmt::format("#/components/schemas/{}", error)}});
  responses.set(
      "default",
      Value::object(
          {{"description", "an error"},
           {"content", Value::object({{"application/json", Value::object({{"schema", reference}})}})}}));
  out.set("responses", std::move(responses));
  if (operation.permission.empty()) {
    out.set("security", Value::array());
  } else {
    out.set("x-permission", operation.permission);
  }
  return out;
}

Value error_schema(std::initializer_list<json::Member> properties) {
  Value text = Value::object({{"type", "object"}, {"properties", json::Object(properties)}});
  return Value::object({{"type", "object"},
                        {"required", Value::array({"error"})},
                        {"properties", Value::object({{"error", std::move(text)}})}});
}

}  // namespace

Value openapi(const Registry& registry, Surface surface, std::string_view title, std::string_view version) {
  const Value text = Value::object({{"type", "string"}});
  Value paths = Value::object();
  for (const std::shared_ptr<const Operation>& operation : registry.list()) {
    for (const Route& route : operation->routes) {
      if (route.surface != surface) continue;
      const std::string name = template_of(route.path);
      Value* path = paths.find(name);
      if (!path) path = &paths.set(name, Value::object());
      Value described = describe(*operation, route);
      // An operation with several routes has one id each: the document wants them unique.
      if (&route != &operation->routes.front())
        described.set("operationId", fmt::format("{} {} {}", operation->id, route.method, name));
      path->set(strings::lower(route.method), std::move(described));
    }
  }
  Value schemas = Value::object();
  schemas.set("Error", error_schema({{"code", text},
                                     {"message", text},
                                     {"context", Value::object({{"type", "object"}})},
                                     {"retry_after_ms", Value::object({{"type", "integer"}})}}));
  schemas.set(
      "OpenAiError",
      error_schema(
          {{"message", text}, {"type", text}, {"param", Value::object()}, {"code", Value::object()}}));
  schemas.set("AnthropicError", error_schema({{"type", text}, {"message", text}}));
  const Value bearer = Value::object({{"type", "http"}, {"scheme", "bearer"}});
  return Value::object({
      {"openapi", "3.1.0"},
      {"info", Value::object({{"title", title}, {"version", version}})},
      {"security", Value::array({Value::object({{"bearer", Value::array()}})})},
      {"paths", std::move(paths)},
      {"components", Value::object({{"schemas", std::move(schemas)},
                                    {"securitySchemes", Value::object({{"bearer", bearer}})}})},
  });
}

}  // namespace chela::op
