#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.h"

namespace chela::json {
namespace {

// The number form of ECMAScript, which RFC 8785 prescribes: shortest digits, fixed from 1e-6 to below 1e21, else d.ddde+xx.
void write_number(std::string& out, double d) {
  if (!std::isfinite(d)) {
    out += "null";
    return;
  }
  if (d == 0) {
    out += '0';
    return;
  }
  char buffer[400];
  const double size = std::fabs(d);
  const bool fixed = size >= 1e-6 && size < 1e21;
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, d,
                                    fixed ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, static_cast<size_t>(result.ptr - buffer));
  if (!fixed) {
    // to_chars writes at least two exponent digits, ECMAScript as few as needed.
    const size_t digits = text.find('e') + 2;
    if (text[digits] == '0') text.erase(digits, 1);
  }
  out += text;
}

// RFC 8785 sorts keys by UTF-16 code units. That differs from byte order only where a character past U+FFFF meets one from
// U+E000 on: in UTF-16 the former starts with a surrogate, which is smaller.
bool utf16_less(std::string_view a, std::string_view b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end() || y == b.end()) return x == a.end() && y != b.end();
  const auto p = static_cast<unsigned char>(*x);
  const auto q = static_cast<unsigned char>(*y);
  const auto rank = [](unsigned char c) { return c >= 0xf0 ? 0 : c >= 0xee ? 1 : -1; };
  if (rank(p) >= 0 && rank(q) >= 0 && rank(p) != rank(q)) return rank(p) < rank(q);
  return p < q;
}

void write_canonical(std::string& out, const Value& value) {
  if (const Array* a = value.as_array()) {
    out += '[';
    for (size_t i = 0; i < a->size(); ++i) {
      if (i > 0) out += ',';
      write_canonical(out, (*a)[i]);
    }
    out += ']';
  } else if (const Object* o = value.as_object()) {
    std::vector<const Member*> sorted;
    for (const Member& m : *o) sorted.push_back(&m);
    std::sort(sorted.begin(), sorted.end(),
              [](const Member* x, const Member* y) { return utf16_less(x->key, y->key); });
    out += '{';
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (i > 0) out += ',';
      write_string_to(out, sorted[i]->key);
      out += ':';
      write_canonical(out, sorted[i]->value);
    }
    out += '}';
  } else if (const double* d = std::get_if<double>(&value.data())) {
    write_number(out, *d);
  } else {
    write_to(out, value);
  }
}

}  // namespace

std::string canonical(const Value& value) {
  std::string out;
  write_canonical(out, value);
  return out;
}

}  // namespace chela::json
