#include "op/operation.h"

#include "schema/schema.h"

namespace chela::op {

bool allows(const Permissions& permissions, std::string_view permission) {
  if (permissions.contains("*") || permissions.contains(permission)) return true;
  // "tools:shell:run" is covered by "tools:*" and "tools:shell:*".
  for (size_t colon = permission.find(':'); colon != std::string_view::npos;
       colon = permission.find(':', colon + 1)) {
    if (permissions.contains(std::string(permission.substr(0, colon + 1)) + "*")) return true;
  }
  return false;
}

Permissions common(const Permissions& a, const Permissions& b) {
  Permissions both;
  for (const std::string& each : a) {
    if (allows(b, each)) both.insert(each);
  }
  for (const std::string& each : b) {
    if (allows(a, each)) both.insert(each);
  }
  return both;
}

std::string_view CallContext::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view{} : std::string_view(found->second);
}

Result<json::Value> prepare(const Operation& operation, const Principal& principal, json::Value args) {
  if (!operation.permission.empty() && !principal.allows(operation.permission)) {
    return fail(
        Error{.code = Code::kPermissionDenied,
              .message = fmt::format("{} needs the permission {}", operation.id, operation.permission)}
            .with("permission", operation.permission));
  }
  if (args.is_null()) args = json::Value::object();
  schema::apply_defaults(operation.in, args);
  if (Result<> fits = schema::validate(operation.in, args); !fits) return fail(std::move(fits.error()));
  return args;
}

}  // namespace chela::op
