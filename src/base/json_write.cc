#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"

namespace chela::json {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void write_double(std::string& out, double d) {
  if (!std::isfinite(d)) {
    out += "null";
    return;
  }
  char buffer[400];  // the longest fixed form of a double below 1e21 fits easily
  const bool fixed = d == 0 || (std::fabs(d) >= 1e-7 && std::fabs(d) < 1e21);
  const auto result = fixed ? std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed)
                            : std::to_chars(buffer, buffer + sizeof buffer, d);
  const std::string_view text(buffer, static_cast<size_t>(result.ptr - buffer));
  out += text;
  // The fraction tells readers that distinguish them that this is no integer.
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void newline(std::string& out, int indent) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent) * 2, ' ');
}

// indent < 0: compact
void write_value(std::string& out, const Value& value, int indent) {
  const int inner = indent < 0 ? -1 : indent + 1;
  if (value.is_null()) {
    out += "null";
  } else if (const auto b = value.as_bool()) {
    out += *b ? "true" : "false";
  } else if (const std::string* s = value.as_string()) {
    write_string_to(out, *s);
  } else if (const Array* a = value.as_array()) {
    out += '[';
    bool first = true;
    for (const Value& v : *a) {
      if (!std::exchange(first, false)) out += ',';
      newline(out, inner);
      write_value(out, v, inner);
    }
    if (!a->empty()) newline(out, indent);
    out += ']';
  } else if (const Object* o = value.as_object()) {
    out += '{';
    bool first = true;
    for (const Member& m : *o) {
      if (!std::exchange(first, false)) out += ',';
      newline(out, inner);
      write_string_to(out, m.key);
      out += indent < 0 ? ":" : ": ";
      write_value(out, m.value, inner);
    }
    if (!o->empty()) newline(out, indent);
    out += '}';
  } else if (const BigNumber* n = value.as_big_number()) {
    out += n->text;
  } else if (const std::uint64_t* u = value.as_big_unsigned()) {
    fmt::format_to(std::back_inserter(out), "{}", *u);
  } else if (const double* d = std::get_if<double>(&value.data())) {
    write_double(out, *d);
  } else {
    fmt::format_to(std::back_inserter(out), "{}", std::get<std::int64_t>(value.data()));
  }
}

}  // namespace

void write_string_to(std::string& out, std::string_view text) {
  if (!utf8::valid(text)) {
    write_string_to(out, utf8::sanitize(text));
    return;
  }
  out += '"';
  size_t plain = 0;  // start of the run not copied yet
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text.substr(plain, i - plain));
    plain = i + 1;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        out += kHex[c >> 4];
        out += kHex[c & 15];
    }
  }
  out.append(text.substr(plain));
  out += '"';
}

std::string write(const Value& value) {
  std::string out;
  write_to(out, value);
  return out;
}

void write_to(std::string& out, const Value& value) { write_value(out, value, -1); }

std::string write_pretty(const Value& value) {
  std::string out;
  write_value(out, value, 0);
  return out;
}

}  // namespace chela::json
