#include "bus/http/message.h"

#include <charconv>
#include <unordered_map>

#include "base/strings.h"
#include "base/utf8.h"
#include "bus/http/limits.h"

namespace chela::bus::http {
namespace {

constexpr std::string_view kContentType = "Content-Type";
constexpr std::string_view kJson = "application/json";
constexpr std::string_view kSpace = " \t\r\n";  // between the tokens of JSON
constexpr int kLeastStatus = 200;               // what is below is no answer
constexpr int kMostStatus = 599;

std::string clean(std::string_view text) {
  return utf8::valid(text) ? std::string(text) : utf8::sanitize(text);
}

void member(std::string& out, std::string_view key) {
  if (out.back() != '{') out += ',';
  json::write_string_to(out, key);
  out += ':';
}

void text_member(std::string& out, std::string_view key, std::string_view value) {
  member(out, key);
  json::write_string_to(out, value);
}

// Repeated fields are one list, as RFC 9110 has it.
void header_map(std::string& out, const net::Headers& headers) {
  const auto& fields = headers.fields;
  const auto repeats = [&fields](size_t later, size_t first) {
    return strings::iequals(fields[later].first, fields[first].first);
  };
  out += '{';
  for (size_t i = 0; i < fields.size(); ++i) {
    size_t before = 0;
    while (before < i && !repeats(i, before)) ++before;
    if (before < i) continue;
    const std::string name = strings::lower(fields[i].first);
    std::string joined;
    for (size_t later = i + 1; later < fields.size(); ++later) {
      if (!repeats(later, i)) continue;
      if (joined.empty()) joined = fields[i].second;
      joined += name == "cookie" ? "; " : ", ";
      joined += fields[later].second;
    }
    text_member(out, name, joined.empty() ? fields[i].second : joined);
  }
  out += '}';
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Of repeated names the last counts.
void text_map(std::string& out, const Pairs& pairs) {
  out += '{';
  if (pairs.size() < 2) {
    for (const auto& [name, value] : pairs) text_member(out, name, value);
  } else {
    std::unordered_map<std::string, std::string_view> last;
    for (const auto& [name, value] : pairs) last[clean(name)] = value;
    for (const auto& [name, value] : pairs) {
      if (const auto found = last.find(clean(name)); found != last.end()) {
        text_member(out, name, found->second);
        last.erase(found);
      }
    }
  }
  out += '}';
}

// The members that all who are shown a request see, into an object that was begun.
void request_head(std::string& out, const net::HttpRequest& request, const Routes::Match& match) {
  member(out, "query_params");
  text_map(out, request.query.empty() ? Pairs() : net::parse_query(request.query));
  member(out, "path_params");
  text_map(out, match.parameters);
  member(out, "headers");
  header_map(out, request.headers);
  text_member(out, "method", request.method);
}

void reference(std::string& out, const channels::Offer& offer, channels::End end) {
  out += '{';
  text_member(out, "channel_id", offer.id());
  text_member(out, "access_key", offer.key(end));
  text_member(out, "direction", end == channels::End::kRead ? "read" : "write");
  out += '}';
}

bool says_json(const net::HttpRequest& request) {
  const std::string_view type = request.headers.value_or(kContentType);
  return type == kJson || strings::lower(type).contains(kJson);
}

std::string_view without_space(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

constexpr size_t kBodyMember = 5;  // of what functions are called with
constexpr size_t kInputMembers = 9;

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

BodyKind body_kind(const net::HttpRequest& head) {
  if (!says_json(head)) return BodyKind::kStreamed;
  const std::string_view length = head.headers.value_or("Content-Length");
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bytes);
  const bool fits = length.empty() || (error == std::errc() && bytes <= kMaxJsonBytes);
  return fits ? BodyKind::kJson : BodyKind::kTooLong;
}

std::string function_input(const net::HttpRequest& request, const Routes::Match& match,
                           const channels::Offer& offer, Scanner& scanner) {
  const Route& route = *match.route;
  const auto written = [&](std::string_view body) {
    std::string out;
    out.reserve(1024 + body.size());
    out += '{';
    request_head(out, request, match);
    text_member(out, "path", route.path);
    member(out, "body");
    out += body;
    member(out, "trigger");
    out += '{';
    text_member(out, "type", "http");
    text_member(out, "path", route.path);
    text_member(out, "method", request.method);
    out += '}';
    member(out, "request_body");
    reference(out, offer, channels::End::kRead);
    member(out, "response");
    reference(out, offer, channels::End::kWrite);
    out += '}';
    return out;
  };
  const std::string_view body = without_space(request.body);
  if (body.empty() || !says_json(request)) return written("null");
  std::string out = written(body);
  // It is one value when it is the one member that it should be.
  const Result<std::span<const RawMember>> members = scanner.scan(out);
  const bool good =
      members && members->size() == kInputMembers && (*members)[kBodyMember].value.size() == body.size();
  return good ? out : written("null");
}

std::string middleware_input(const net::HttpRequest& request, const Routes::Match& match) {
  std::string out = R"({"phase":"preHandler","request":{)";
  request_head(out, request, match);
  out += R"(},"context":{}})";
  return out;
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

Result<net::HttpResponse> response_of(const Payload& value, Scanner& scanner) {
  const auto of_document = [&value]() -> Result<net::HttpResponse> {
    const Result<json::Value> whole = value.value();
    if (!whole) return fail(whole.error());
    return response_of(*whole);
  };
  const std::string& text = value.text();
  const Result<std::span<const RawMember>> members =
      text.starts_with('{') ? scanner.scan(text) : fail(Code::kInvalidArgument, "no object");
  if (!members) return of_document();
  std::optional<std::string_view> status, headers, body;
  for (const RawMember& each : *members) {
    if (each.key == "status_code") status = each.value;
    if (each.key == "headers") headers = each.value;
    if (each.key == "body") body = each.value;
    // A name that is written in another way.
    if (each.key.contains('\\')) return of_document();
  }
  net::HttpResponse response;
  if (!status && !headers && !body) {
    response.headers.add(kContentType, kJson);
    response.body = text;
    return response;
  }
  if (status && *status != "null") {
    const Result<json::Value> parsed = json::parse(*status);
    if (!parsed) return fail(parsed.error());
    if (Result<> set = set_status(*parsed, response.status); !set) return fail(set.error());
  }
  if (headers) {
    const Result<json::Value> parsed = json::parse(*headers);
    if (!parsed) return fail(parsed.error());
    if (Result<> set = set_headers(*parsed, response.headers); !set) return fail(set.error());
  }
  const bool said = response.headers.find(kContentType) != nullptr;
  if (said && body && body->starts_with('"')) {
    Result<json::Value> parsed = json::parse(*body);
    if (!parsed) return fail(parsed.error());
    set_body(*parsed, response);
  } else if (!body || *body != "null") {
    if (!said) response.headers.add(kContentType, kJson);
    response.body = body.value_or("{}");
  }
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
