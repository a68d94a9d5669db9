#include "bus/http/message.h"

#include "base/strings.h"
#include "base/utf8.h"
#include "bus/http/limits.h"

namespace chela::bus::http {
namespace {

constexpr std::string_view kContentType = "Content-Type";
constexpr std::string_view kJson = "application/json";
constexpr int kLeastStatus = 200;  // what is below is no answer
constexpr int kMostStatus = 599;

std::string clean(std::string_view text) {
  return utf8::valid(text) ? std::string(text) : utf8::sanitize(text);
}

// Repeated fields are one list, as RFC 9110 has it.
json::Value header_map(const net::Headers& headers) {
  json::Object map;
  for (const auto& [name, value] : headers.fields) {
    const std::string key = strings::lower(name);
    json::Value* before = map.find(key);
    if (before == nullptr) {
      map.append(key, clean(value));
    } else {
      *before = *before->as_string() + (key == "cookie" ? "; " : ", ") + clean(value);
    }
  }
  return map;
}

json::Value text_map(const std::vector<std::pair<std::string, std::string>>& pairs) {
  json::Object map;
  for (const auto& [name, value] : pairs) map.set(clean(name), clean(value));
  return map;
}

Result<> set_status(const json::Value& value, int& status) {
  const std::optional<std::int64_t> wanted = value.as_int();
  if (!wanted || *wanted < kLeastStatus || *wanted > kMostStatus)
    return fail(Code::kInvalidArgument, "status_code must be from {} to {}, not {}", kLeastStatus,
                kMostStatus, utf8::prefix(json::write(value), 100));
  status = static_cast<int>(*wanted);
  return {};
}

Result<> set_header(std::string_view name, std::string_view value, net::Headers& headers) {
  if (!net::valid_field(net::FieldPart::kName, name) || !net::valid_field(net::FieldPart::kValue, value))
    return fail(Code::kInvalidArgument, "the header {} cannot be sent", utf8::prefix(clean(name), 100));
  if (strings::iequals(name, "Set-Cookie")) {
    headers.add(name, value);
  } else {
    headers.set(name, value);
  }
  return {};
}

std::string text_of(const json::Value& value) {
  return value.is_string() ? *value.as_string() : json::write(value);
}

// {"name": "value"}, {"name": ["a", "b"]} or ["name: value"].
Result<> set_headers(const json::Value& given, net::Headers& headers) {
  if (const json::Object* map = given.as_object()) {
    for (const json::Member& member : *map) {
      const json::Array* several = member.value.as_array();
      if (several == nullptr) {
        if (Result<> set = set_header(member.key, text_of(member.value), headers); !set) return set;
        continue;
      }
      for (const json::Value& each : *several) {
        if (Result<> set = set_header(member.key, text_of(each), headers); !set) return set;
      }
    }
    return {};
  }
  const json::Array* lines = given.as_array();
  if (lines == nullptr && !given.is_null())
    return fail(Code::kInvalidArgument, "headers must be an object or a list of texts");
  if (lines == nullptr) return {};
  for (const json::Value& line : *lines) {
    const std::string* text = line.as_string();
    const size_t colon = text == nullptr ? std::string::npos : text->find(':');
    if (colon == std::string::npos)
      return fail(Code::kInvalidArgument, "a header must look like \"Name: value\", not {}",
                  utf8::prefix(json::write(line), 100));
    const std::string_view view(*text);
    if (Result<> set =
            set_header(strings::trim(view.substr(0, colon)), strings::trim(view.substr(colon + 1)), headers);
        !set)
      return set;
  }
  return {};
}

// The body in the words of its content type, which is JSON unless the function says another.
void set_body(const json::Value& body, net::HttpResponse& response) {
  const bool said = response.headers.find(kContentType) != nullptr;
  if (body.is_null()) return;
  if (!said) response.headers.add(kContentType, kJson);
  response.body = said && body.is_string() ? *body.as_string() : json::write(body);
}

}  // namespace

json::Object request_head(const net::HttpRequest& request, const Routes::Match& match) {
  json::Object head;
  head.append("query_params", text_map(net::parse_query(request.query)));
  head.append("path_params", text_map(match.parameters));
  head.append("headers", header_map(request.headers));
  head.append("method", request.method);
  return head;
}

json::Value function_input(json::Object head, const Route& route, json::Value body, json::Value request_body,
                           json::Value response) {
  const std::string method = *head.find("method")->as_string();
  head.append("path", route.path);
  head.append("body", std::move(body));
  head.append("trigger", json::Value::object({{"type", "http"}, {"path", route.path}, {"method", method}}));
  head.append("request_body", std::move(request_body));
  head.append("response", std::move(response));
  return head;
}

json::Value middleware_input(json::Object head) {
  return json::Value::object({{"phase", "preHandler"},
                              {"request", json::Value(std::move(head))},
                              {"context", json::Value::object()}});
}

bool says_json(const net::HttpRequest& request) {
  return strings::lower(request.headers.value_or(kContentType)).contains(kJson);
}

json::Value json_body(const net::HttpRequest& request) {
  if (!says_json(request)) return {};
  Result<json::Value> parsed = json::parse(request.body);
  return parsed ? std::move(*parsed) : json::Value();
}

Result<net::HttpResponse> response_of(const json::Value& value) {
  net::HttpResponse response;
  const json::Value* status = value.find("status_code");
  const json::Value* headers = value.find("headers");
  const json::Value* body = value.find("body");
  if (status == nullptr && headers == nullptr && body == nullptr) {
    set_body(value, response);
    return response;
  }
  if (status != nullptr && !status->is_null()) {
    if (Result<> set = set_status(*status, response.status); !set) return fail(set.error());
  }
  if (headers != nullptr) {
    if (Result<> set = set_headers(*headers, response.headers); !set) return fail(set.error());
  }
  set_body(body == nullptr ? json::Value::object() : *body, response);
  return response;
}

Result<> apply_control(std::string_view text, Head& head) {
  if (text.size() > kMaxControlBytes)
    return fail(Code::kTooLarge, "a message of a response channel has {} bytes; at most {} are taken",
                text.size(), kMaxControlBytes);
  const Result<json::Value> message = json::parse(text);
  if (!message) return {};
  const std::string type = message->string_or("type");
  if (type == "set_status") {
    const json::Value* status = message->find("status_code");
    return set_status(status == nullptr ? json::Value() : *status, head.status);
  }
  if (type == "set_headers") {
    const json::Value* headers = message->find("headers");
    return set_headers(headers == nullptr ? json::Value() : *headers, head.headers);
  }
  return {};
}

}  // namespace chela::bus::http
