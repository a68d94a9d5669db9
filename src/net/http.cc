#include "net/http.h"

#include <algorithm>

#include "base/strings.h"

namespace chela::net {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte that text[at..at+2] encodes; -1 when that is no escape.
int escaped_byte(std::string_view text, size_t at) {
  if (at + 2 >= text.size() || text[at] != '%') return -1;
  const int high = hex_digit(text[at + 1]);
  const int low = hex_digit(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::string decode_query_part(std::string_view part) {
  std::string out;
  out.reserve(part.size());
  for (size_t i = 0; i < part.size(); ++i) {
    if (const int byte = escaped_byte(part, i); byte >= 0) {
      out.push_back(static_cast<char>(byte));
      i += 2;
    } else {
      out.push_back(part[i] == '+' ? ' ' : part[i]);
    }
  }
  return out;
}

}  // namespace

const std::string* Headers::find(std::string_view name) const {
  for (const auto& [n, v] : fields) {
    if (strings::iequals(n, name)) return &v;
  }
  return nullptr;
}

std::string_view Headers::value_or(std::string_view name, std::string_view fallback) const {
  const std::string* value = find(name);
  return value ? std::string_view(*value) : fallback;
}

void Headers::add(std::string_view name, std::string_view value) { fields.emplace_back(name, value); }

void Headers::set(std::string_view name, std::string_view value) {
  std::string copy(value);  // the value may lie in a field that erase() destroys
  std::string key(name);
  erase(key);
  fields.emplace_back(std::move(key), std::move(copy));
}

void Headers::erase(std::string_view name) {
  std::erase_if(fields, [name](const auto& field) { return strings::iequals(field.first, name); });
}

size_t Headers::count(std::string_view name) const {
  return static_cast<size_t>(std::ranges::count_if(
      fields, [name](const auto& field) { return strings::iequals(field.first, name); }));
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 402:
      return "Payment Required";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 426:
      return "Upgrade Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const int byte = escaped_byte(text, i);
    if (byte <= 0) return std::nullopt;
    out.push_back(static_cast<char>(byte));
    i += 2;
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (alnum || c == '-' || c == '.' || c == '_' || c == '~') {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view raw) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string_view part : strings::split(raw, '&')) {
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      out.emplace_back(decode_query_part(part), "");
    } else {
      out.emplace_back(decode_query_part(part.substr(0, equals)), decode_query_part(part.substr(equals + 1)));
    }
  }
  return out;
}

bool valid_field(FieldPart part, std::string_view text) {
  if (part == FieldPart::kValue) {
    return std::ranges::all_of(text, [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return c == '\t' || (byte >= 0x20 && byte != 0x7f);
    });
  }
  constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kTokenMarks.contains(c);
  });
}

}  // namespace chela::net
