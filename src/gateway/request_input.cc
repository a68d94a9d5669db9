#include "gateway/request_input.h"

#include "base/strings.h"
#include "base/utf8.h"

namespace chela::gateway {
namespace {

constexpr std::string_view kTokenParam = "token";

bool is_json_type(std::string_view content_type) {
  const std::string type = strings::lower(strings::trim(content_type.substr(0, content_type.find(';'))));
  return type == "application/json" || (type.starts_with("application/") && type.ends_with("+json"));
}

}  // namespace

Result<json::Value> json_body(const net::HttpRequest& request) {
  if (request.body.empty()) return json::Value();
  const std::string_view type = request.headers.value_or("Content-Type");
  if (!is_json_type(type)) {
    return fail(Code::kInvalidArgument, "the Content-Type is '{}'; send application/json", type);
  }
  if (!utf8::valid(request.body)) return fail(Code::kInvalidArgument, "the body is not valid UTF-8");
  Result<json::Value> body = json::parse(request.body);
  if (!body) return fail(Code::kInvalidArgument, "the body is not valid JSON: {}", body.error().message);
  return body;
}

Result<op::Params> query_params(const net::HttpRequest& request) {
  op::Params params;
  for (auto& [name, value] : net::parse_query(request.query)) {
    if (name == kTokenParam) continue;
    if (!utf8::valid(name) || !utf8::valid(value))
      return fail(Code::kInvalidArgument, "the query is not valid UTF-8");
    params.emplace_back(std::move(name), std::move(value));
  }
  return params;
}

std::string bearer_token(const net::HttpRequest& request) {
  if (const std::string* header = request.headers.find("Authorization")) {
    const size_t blank = header->find(' ');
    if (blank == std::string::npos || !strings::iequals(std::string_view(*header).substr(0, blank), "Bearer"))
      return {};
    return std::string(strings::trim(std::string_view(*header).substr(blank)));
  }
  if (const std::string* key = request.headers.find("X-Api-Key")) return std::string(strings::trim(*key));
  for (auto& [name, value] : net::parse_query(request.query)) {
    if (name == kTokenParam) return value;
  }
  return {};
}

bool has_token_header(const net::HttpRequest& request) {
  return request.headers.find("Authorization") || request.headers.find("X-Api-Key");
}

std::map<std::string, std::string, std::less<>> public_headers(const net::HttpRequest& request) {
  std::map<std::string, std::string, std::less<>> headers;
  for (const auto& [name, value] : request.headers.fields) {
    std::string lower = strings::lower(name);
    if (lower != "authorization" && lower != "x-api-key" && lower != "cookie")
      headers.try_emplace(std::move(lower), value);
  }
  return headers;
}

}  // namespace chela::gateway
