#include "bus/http_functions/http_functions.h"

#include "bus/config_reader.h"
#include "bus/http_functions/limits.h"
#include "os/environment.h"
#include "runtime/asio_loop.h"

namespace chela::bus::http_functions {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"modules::http_functions::HttpFunctionsModule",
                                                    "iii-http-functions"};
constexpr std::string_view kEnvPermission = "bus:env:";
constexpr size_t kTraceIdAt = 3;  // of a traceparent
constexpr size_t kTraceIdBytes = 32;

Result<Security> read_security(const json::Value& config) {
  ConfigReader reader(std::string(kNames[0]), config);
  ConfigReader part = reader.section("security");
  Security security;
  if (part.has("url_allowlist")) security.hosts = part.texts("url_allowlist");
  if (security.hosts.size() > kMaxAllowedHosts)
    part.refuse("url_allowlist", fmt::format("at most {} hosts are taken", kMaxAllowedHosts));
  if (!part.flag("block_private_ips").value_or(true)) security.addresses = Addresses::kAny;
  if (!part.flag("require_https").value_or(true)) security.schemes = Schemes::kHttpToo;
  if (Result<> good = part.finish(); !good) return fail(good.error());
  if (Result<> good = reader.finish(); !good) return fail(good.error());
  return security;
}

// The wire's own codes for what went wrong on the way.
Error on_the_way(Error error) {
  const std::string_view code = error.code == Code::kPermissionDenied || error.code == Code::kInvalidArgument
                                    ? "url_validation_failed"
                                : error.code == Code::kTooLarge ? "http_response_failed"
                                                                : "http_request_failed";
  return std::move(error).with("bus_code", std::string(code));
}

Error missing(const std::string& name) {
  return Error{.code = Code::kInvalidArgument,
               .message = fmt::format("the variable {} is not set in the engine's environment", name)}
      .with("bus_code", "missing_env_var");
}

}  // namespace

ModuleKind kind() {
  return {
      .names = {kNames.begin(), kNames.end()},
      .make = [](ModuleParts& parts, const json::Value& config) -> Result<std::unique_ptr<Module>> {
        Result<Security> security = read_security(config);
        if (!security) return fail(security.error());
        return std::make_unique<HttpFunctions>(
            HttpFunctions::Parts{.loop = parts.loop, .bus = parts.bus, .ids = parts.ids, .http = parts.http},
            std::move(*security));
      },
      .when = ModuleKind::When::kAlways};
}

HttpFunctions::HttpFunctions(Parts parts, Security security)
    : loop_(parts.loop), ids_(parts.ids), http_(parts.http), egress_(guard(std::move(security))) {
  parts.bus.set_outside_functions(*this);
}

Task<Result<>> HttpFunctions::start() { co_return Result<>{}; }
Task<> HttpFunctions::stop() { co_return; }

Result<LocalFunction> HttpFunctions::make(FunctionSpec spec, const json::Value& invocation,
                                          const Rights& owner) {
  const auto variable = [&owner](const std::string& name) -> Result<std::string> {
    if (!owner.principal.allows(fmt::format("{}{}", kEnvPermission, name)))
      return fail(Code::kPermissionDenied, "using the engine's variable {} needs the permission {}{}", name,
                  kEnvPermission, name);
    const std::map<std::string, std::string> all = os::environment();
    const auto found = all.find(name);
    if (found == all.end()) return fail(missing(name));
    return found->second;
  };
  Result<Target> target = Target::read(invocation, variable);
  if (!target) return fail(target.error());
  if (Result<> allowed = egress_->check_url(target->url); !allowed) return fail(on_the_way(allowed.error()));
  const auto shared = std::make_shared<const Target>(std::move(*target));
  const std::string id = spec.id;
  return LocalFunction{.spec = std::move(spec), .text = [this, shared, id](TextCall told) {
                         return call(shared, id, std::move(told));
                       }};
}

Task<Result<std::string>> HttpFunctions::call(std::shared_ptr<const Target> target, std::string id,
                                              TextCall call) {
  Told told{
      .function_id = std::move(id), .invocation_id = ids_.next(), .unix_seconds = loop_.clock().now() / 1000};
  if (call.traceparent.size() >= kTraceIdAt + kTraceIdBytes)
    told.trace_id = call.traceparent.substr(kTraceIdAt, kTraceIdBytes);
  const SteadyTime latest = loop_.clock().steady() + target->timeout;
  net::ClientRequest request{.method = target->method,
                             .url = target->url,
                             .body = std::string(call.data),
                             .deadline = std::min(latest, call.context.deadline.value_or(latest)),
                             .max_body = kMaxAnswerBytes,
                             .egress = egress_};
  request.headers = headers_of(*target, told, request.body);
  const Result<net::HttpResponse> answer = co_await http_.fetch(std::move(request), call.context.stop);
  if (!answer) co_return fail(on_the_way(answer.error()));
  co_return result_of(*answer);
}

}  // namespace chela::bus::http_functions
