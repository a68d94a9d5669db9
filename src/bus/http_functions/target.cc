#include "bus/http_functions/target.h"

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "bus/http_functions/limits.h"
#include "crypto/hash.h"

namespace chela::bus::http_functions {
namespace {

constexpr std::array<std::string_view, 5> kMethods = {"GET", "POST", "PUT", "PATCH", "DELETE"};

Failure bus_error(Code code, std::string_view bus_code, std::string message) {
  return fail(Error{.code = code, .message = std::move(message)}.with("bus_code", std::string(bus_code)));
}

Result<net::Headers> read_headers(const json::Value* given) {
  net::Headers headers;
  if (given == nullptr || given->is_null()) return headers;
  const json::Object* map = given->as_object();
  if (map == nullptr) return fail(Code::kInvalidArgument, "headers must be an object of texts");
  if (map->size() > kMaxHeaders)
    return fail(Code::kTooLarge, "{} headers are too many; at most {} are taken", map->size(), kMaxHeaders);
  for (const json::Member& each : *map) {
    const std::string* value = each.value.as_string();
    if (value == nullptr || !net::valid_field(net::FieldPart::kName, each.key) ||
        !net::valid_field(net::FieldPart::kValue, *value))
      return fail(Code::kInvalidArgument, "the header {} cannot be sent", utf8::prefix(each.key, 100));
    headers.set(each.key, *value);
  }
  return headers;
}

// A secret by the name of the variable that holds it.
Result<std::string> secret(const json::Value& auth, std::string_view key, const Target::Variable& variable) {
  const std::string name = auth.string_or(key);
  if (name.empty()) return fail(Code::kInvalidArgument, "auth needs {}, the name of a variable", key);
  Result<std::string> value = variable(name);
  if (value && !net::valid_field(net::FieldPart::kValue, *value))
    return fail(Code::kInvalidArgument, "the value of {} cannot be sent in a header", name);
  return value;
}

Result<Auth> read_auth(const json::Value* auth, const Target::Variable& variable) {
  if (auth == nullptr || auth->is_null()) return Auth();
  const std::string type = auth->string_or("type");
  if (type == "hmac") {
    Result<std::string> value = secret(*auth, "secret_key", variable);
    if (!value) return fail(value.error());
    return Auth(Hmac{.secret = std::move(*value)});
  }
  if (type == "bearer") {
    Result<std::string> value = secret(*auth, "token_key", variable);
    if (!value) return fail(value.error());
    return Auth(Bearer{.token = std::move(*value)});
  }
  if (type != "api_key") return fail(Code::kInvalidArgument, "auth.type must be hmac, bearer or api_key");
  const std::string header = auth->string_or("header");
  if (!net::valid_field(net::FieldPart::kName, header))
    return fail(Code::kInvalidArgument, "auth.header must be the name of a header");
  Result<std::string> value = secret(*auth, "value_key", variable);
  if (!value) return fail(value.error());
  return Auth(ApiKey{.header = header, .value = std::move(*value)});
}

}  // namespace

Result<Target> Target::read(const json::Value& invocation, const Variable& variable) {
  Target target{.url = invocation.string_or("url"), .method = invocation.string_or("method", "POST")};
  if (target.url.empty() || target.url.size() > kMaxUrlBytes)
    return fail(Code::kInvalidArgument, "invocation.url must be an address of at most {} bytes",
                kMaxUrlBytes);
  for (char& c : target.method) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (std::ranges::find(kMethods, target.method) == kMethods.end())
    return fail(Code::kInvalidArgument, "invocation.method must be one of {}", fmt::join(kMethods, ", "));
  const std::int64_t most = std::chrono::milliseconds(kMaxTimeout).count();
  const std::int64_t wanted =
      invocation.int_or("timeout_ms", std::chrono::milliseconds(kDefaultTimeout).count());
  target.timeout = std::chrono::milliseconds(std::clamp<std::int64_t>(wanted, 1, most));
  Result<net::Headers> headers = read_headers(invocation.find("headers"));
  if (!headers) return fail(headers.error());
  target.headers = std::move(*headers);
  Result<Auth> auth = read_auth(invocation.find("auth"), variable);
  if (!auth) return fail(auth.error());
  target.auth = std::move(*auth);
  return target;
}

net::Headers headers_of(const Target& target, const Told& told, std::string_view body) {
  net::Headers headers = target.headers;
  const std::string timestamp = std::to_string(told.unix_seconds);
  headers.set("Content-Type", "application/json");
  headers.set("x-iii-Function-Path", told.function_id);
  headers.set("x-iii-Invocation-ID", told.invocation_id);
  headers.set("x-iii-Timestamp", timestamp);
  if (!told.trace_id.empty()) headers.set("x-iii-Trace-ID", told.trace_id);
  if (const Hmac* hmac = std::get_if<Hmac>(&target.auth)) {
    const std::string mac =
        crypto::hmac_sha256(hmac->secret, fmt::format("{}:{}", timestamp, base64::encode(body)));
    headers.set("x-iii-Signature", "sha256=" + crypto::to_hex(mac));
  } else if (const Bearer* bearer = std::get_if<Bearer>(&target.auth)) {
    headers.set("Authorization", "Bearer " + bearer->token);
  } else if (const ApiKey* key = std::get_if<ApiKey>(&target.auth)) {
    headers.set(key->header, key->value);
  }
  return headers;
}

Result<std::string> result_of(const net::HttpResponse& answer) {
  if (strings::trim(answer.body).empty() && answer.status < 400) return std::string();
  const Result<json::Value> value = json::parse(answer.body);
  if (answer.status >= 400) {
    const json::Value* error = value ? value->find("error") : nullptr;
    std::string code = error == nullptr ? "" : error->string_or("code");
    std::string message = error == nullptr ? "" : error->string_or("message");
    if (code.empty()) code = "http_error";
    if (message.empty()) message = fmt::format("HTTP {}", answer.status);
    return bus_error(Code::kUpstream, code, std::move(message));
  }
  if (value) return answer.body;
  if (answer.status >= 300) return std::string();  // redirects are not followed
  return bus_error(Code::kUpstream, "invalid_response", "the function's answer is no JSON");
}

}  // namespace chela::bus::http_functions
