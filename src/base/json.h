#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "base/result.h"

// JSON values. Key order is kept, the last of duplicate keys wins, numbers survive unchanged (what neither a 64-bit integer nor a
// double of 17 digits holds exactly is kept as its text), strings are valid UTF-8.
namespace chela::json {

class Value;
struct Member;

using Array = std::vector<Value>;

// A number that no built-in type holds exactly, in JSON's own notation.
struct BigNumber {
  std::string text;
  bool operator==(const BigNumber&) const = default;
};

// An ordered map. Look-up is linear: objects of messages are small, and order matters more.
class Object {
 public:
  Object();
  Object(std::initializer_list<Member> members);
  Object(const Object&);
  Object(Object&&) noexcept;
  Object& operator=(const Object&);
  Object& operator=(Object&&) noexcept;
  ~Object();

  const Value* find(std::string_view key) const;  // nullptr when absent
  Value* find(std::string_view key);
  Value& set(std::string key, Value value);  // replaces in place, or appends
  bool erase(std::string_view key);
  void append(std::string key, Value value);  // the caller knows that the key is new

  size_t size() const;
  bool empty() const;
  std::vector<Member>::const_iterator begin() const;
  std::vector<Member>::const_iterator end() const;
  std::vector<Member>::iterator begin();
  std::vector<Member>::iterator end();

  bool operator==(const Object& other) const;  // key order does not matter

 private:
  std::vector<Member> members_;
};

class Value {
 public:
  Value() = default;
  Value(std::nullptr_t) {}
  Value(bool b) : data_(b) {}
  Value(int i) : data_(static_cast<std::int64_t>(i)) {}
  Value(long i) : data_(static_cast<std::int64_t>(i)) {}
  Value(long long i) : data_(static_cast<std::int64_t>(i)) {}
  Value(unsigned i) : data_(static_cast<std::int64_t>(i)) {}
  Value(unsigned long i) { assign_unsigned(i); }
  Value(unsigned long long i) { assign_unsigned(i); }
  Value(double d) : data_(d) {}
  Value(BigNumber n) : data_(std::move(n)) {}
  Value(std::string s) : data_(std::move(s)) {}
  Value(std::string_view s) : data_(std::string(s)) {}
  Value(const char* s) : data_(std::string(s)) {}
  Value(Array a) : data_(std::move(a)) {}
  Value(Object o) : data_(std::move(o)) {}

  // Value::object({{"a", 1}, {"b", "text"}})
  static Value object(std::initializer_list<Member> members = {});
  static Value array(std::initializer_list<Value> values = {});

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_number() const;
  bool is_integer() const;  // also an integral double
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_array() const { return std::holds_alternative<Array>(data_); }
  bool is_object() const { return std::holds_alternative<Object>(data_); }
  std::string_view type_name() const;  // "null", "boolean", "integer", "number", "string", "array", "object"

  // The content when the value is of that kind, else nothing or nullptr.
  std::optional<bool> as_bool() const;
  std::optional<std::int64_t> as_int() const;  // integers and integral doubles in range
  std::optional<double> as_double() const;     // any number
  const std::string* as_string() const { return std::get_if<std::string>(&data_); }
  const Array* as_array() const { return std::get_if<Array>(&data_); }
  Array* as_array() { return std::get_if<Array>(&data_); }
  const Object* as_object() const { return std::get_if<Object>(&data_); }
  Object* as_object() { return std::get_if<Object>(&data_); }
  const std::uint64_t* as_big_unsigned() const { return std::get_if<std::uint64_t>(&data_); }
  const BigNumber* as_big_number() const { return std::get_if<BigNumber>(&data_); }

  // Member of an object; nullptr when this is no object or has no such key.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  // Makes this an object if it is null, then sets the key.
  Value& set(std::string key, Value value);
  // Makes this an array if it is null, then appends.
  void push_back(Value value);

  // Shorthands for optional members; a member of another kind counts as absent.
  std::string string_or(std::string_view key, std::string_view fallback = {}) const;
  std::int64_t int_or(std::string_view key, std::int64_t fallback) const;
  double double_or(std::string_view key, double fallback) const;
  bool bool_or(std::string_view key, bool fallback) const;

  bool operator==(const Value& other) const;  // 1 and 1.0 are equal

  using Data = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, BigNumber, std::string,
                            Array, Object>;
  const Data& data() const { return data_; }

 private:
  void assign_unsigned(std::uint64_t i);

  Data data_;  // uint64_t only for what int64_t cannot hold
};

struct Member {
  std::string key;
  Value value;
};

// A value that is copied by counting: for schemas and the like, which many hold and nobody changes.
class Shared {
 public:
  Shared() : Shared(Value()) {}
  Shared(Value value) : value_(std::make_shared<const Value>(std::move(value))) {}
  Shared(Object object) : Shared(Value(std::move(object))) {}

  const Value& operator*() const { return *value_; }
  const Value* operator->() const { return value_.get(); }
  operator const Value&() const { return *value_; }
  bool operator==(const Shared& other) const { return value_ == other.value_ || *value_ == *other.value_; }

 private:
  std::shared_ptr<const Value> value_;  // never null
};

// Parses one JSON text (RFC 8259). Errors are kInvalidArgument and say the byte offset.
Result<Value> parse(std::string_view text, size_t max_depth = kMaxJsonDepth);

// Compact text. Infinity and NaN, which JSON has not, become null.
std::string write(const Value& value);
void write_to(std::string& out, const Value& value);
std::string write_pretty(const Value& value);

// Appends a JSON string literal, quotes included; invalid UTF-8 becomes U+FFFD.
void write_string_to(std::string& out, std::string_view text);

// RFC 8785: sorted keys, ECMAScript numbers. For hashes and equality of arguments.
std::string canonical(const Value& value);

// The public form of an error: {"code","message","context","retry_after_ms"?}.
Value from_error(const Error& error);

}  // namespace chela::json
