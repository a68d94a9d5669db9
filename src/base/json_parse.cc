#include <boost/json/basic_parser_impl.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/json.h"

namespace chela::json {
namespace {

namespace bj = boost::json;

// A decimal number as digits without zeros at either end, and the power of ten of the last digit.
struct Decimal {
  std::string digits;
  long exponent = 0;
  bool operator==(const Decimal&) const = default;
};

Decimal decimal(std::string_view text) {
  Decimal d;
  bool fraction = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == 'e' || c == 'E') {
      d.exponent += std::strtol(text.data() + i + 1, nullptr, 10);
      break;
    }
    if (c == '.') fraction = true;
    if (c < '0' || c > '9') continue;
    if (fraction) --d.exponent;
    if (c != '0' || !d.digits.empty()) d.digits += c;
  }
  while (d.digits.ends_with('0')) {
    d.digits.pop_back();
    ++d.exponent;
  }
  if (d.digits.empty()) d.exponent = 0;
  return d;
}

bool has_twins(const Object& few) {
  for (auto each = few.begin(); each != few.end(); ++each) {
    if (std::any_of(each + 1, few.end(), [&](const Member& later) { return later.key == each->key; }))
      return true;
  }
  return false;
}

// Of members with one key the last one stands where the first was. Looking each up when it comes would take hours for a large object.
void unite(Object& object) {
  constexpr size_t kFew = 16;
  if (object.size() <= kFew && !has_twins(object)) return;
  // Sorted, so that no choice of keys makes it slow.
  std::vector<Member*> order;
  for (Member& each : object) order.push_back(&each);
  std::ranges::sort(order, {},
                    [](const Member* each) { return std::pair(std::string_view(each->key), each); });
  std::vector<bool> gone(order.size());
  bool twins = false;
  for (size_t first = 0, next = 1; next < order.size(); ++next) {
    if (order[next]->key != order[first]->key) {
      first = next;
      continue;
    }
    order[first]->value = std::move(order[next]->value);
    gone[static_cast<size_t>(order[next] - &*object.begin())] = twins = true;
  }
  if (!twins) return;
  Object united;
  size_t place = 0;
  for (Member& each : object) {
    if (!gone[place++]) united.append(std::move(each.key), std::move(each.value));
  }
  object = std::move(united);
}

// Receives the events of Boost.JSON's parser and builds a Value.
class Builder {
 public:
  using error_code = boost::system::error_code;
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return open(Value(Object())); }
  bool on_object_end(std::size_t, error_code&) { return close(); }
  bool on_array_begin(error_code&) { return open(Value(Array())); }
  bool on_array_end(std::size_t, error_code&) { return close(); }

  bool on_key_part(bj::string_view s, std::size_t, error_code&) {
    text_.append(s.data(), s.size());
    return true;
  }
  bool on_key(bj::string_view s, std::size_t, error_code&) {
    text_.append(s.data(), s.size());
    keys_.push_back(std::exchange(text_, {}));
    return true;
  }
  bool on_string_part(bj::string_view s, std::size_t, error_code&) {
    text_.append(s.data(), s.size());
    return true;
  }
  bool on_string(bj::string_view s, std::size_t, error_code&) {
    text_.append(s.data(), s.size());
    return add(Value(std::exchange(text_, {})));
  }
  bool on_number_part(bj::string_view s, error_code&) {
    text_.append(s.data(), s.size());
    return true;
  }
  bool on_int64(std::int64_t i, bj::string_view s, error_code&) {
    text_.append(s.data(), s.size());
    const bool negative_zero = i == 0 && text_.starts_with('-');
    text_.clear();
    return negative_zero ? add(Value(-0.0)) : add(Value(static_cast<long long>(i)));
  }
  bool on_uint64(std::uint64_t u, bj::string_view, error_code&) {
    text_.clear();
    return add(Value(static_cast<unsigned long long>(u)));
  }
  bool on_double(double, bj::string_view s, error_code&) {
    text_.append(s.data(), s.size());
    const std::string number = std::exchange(text_, {});
    // Boost's fast conversion may be off by one unit in the last place; strtod is exact.
    const double exact = std::strtod(number.c_str(), nullptr);
    const bool integer = number.find_first_of(".eE") == std::string::npos;
    if (integer || !std::isfinite(exact) || decimal(number) != decimal(write(Value(exact)))) {
      return add(Value(BigNumber{number}));
    }
    return add(Value(exact));
  }
  bool on_bool(bool b, error_code&) { return add(Value(b)); }
  bool on_null(error_code&) { return add(Value()); }
  bool on_comment_part(bj::string_view, error_code&) { return true; }
  bool on_comment(bj::string_view, error_code&) { return true; }

  Value take() { return std::move(root_); }

 private:
  bool open(Value container) {
    stack_.push_back(std::move(container));
    return true;
  }
  bool close() {
    Value done = std::move(stack_.back());
    stack_.pop_back();
    if (Object* object = done.as_object()) unite(*object);
    return add(std::move(done));
  }
  bool add(Value value) {
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (Array* array = stack_.back().as_array()) {
      array->push_back(std::move(value));
    } else {
      Object* object = stack_.back().as_object();
      object->append(std::move(keys_.back()), std::move(value));
      keys_.pop_back();
    }
    return true;
  }

  Value root_;
  std::vector<Value> stack_;
  std::vector<std::string> keys_;
  std::string text_;
};

}  // namespace

Result<Value> parse(std::string_view text, size_t max_depth) {
  bj::parse_options options;
  options.max_depth = max_depth;
  bj::basic_parser<Builder> parser(options);
  boost::system::error_code ec;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && read < text.size() && text.find_first_not_of(" \t\r\n", read) != std::string_view::npos) {
    ec = bj::error::extra_data;
  }
  if (!ec && !parser.done()) ec = bj::error::incomplete;
  if (ec) {
    return fail(Code::kInvalidArgument, "invalid JSON at byte {}: {}", read, ec.message());
  }
  return parser.handler().take();
}

}  // namespace chela::json
