#include "base/json.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace chela::json {
namespace {

bool integral_in_range(double d) {
  return std::floor(d) == d && d >= -9.2233720368547748e18 && d < 9.2233720368547748e18;
}

}  // namespace

Object::Object() = default;
Object::Object(std::initializer_list<Member> members) {
  members_.reserve(members.size());
  for (const Member& m : members) set(m.key, m.value);
}
Object::Object(const Object&) = default;
Object::Object(Object&&) noexcept = default;
Object& Object::operator=(const Object&) = default;
Object& Object::operator=(Object&&) noexcept = default;
Object::~Object() = default;

const Value* Object::find(std::string_view key) const {
  for (const Member& m : members_) {
    if (m.key == key) return &m.value;
  }
  return nullptr;
}

Value* Object::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

Value& Object::set(std::string key, Value value) {
  if (Value* found = find(key)) {
    *found = std::move(value);
    return *found;
  }
  return members_.emplace_back(Member{std::move(key), std::move(value)}).value;
}

bool Object::erase(std::string_view key) {
  return std::erase_if(members_, [key](const Member& m) { return m.key == key; }) > 0;
}

void Object::append(std::string key, Value value) { members_.push_back({std::move(key), std::move(value)}); }
size_t Object::size() const { return members_.size(); }
bool Object::empty() const { return members_.empty(); }
std::vector<Member>::const_iterator Object::begin() const { return members_.begin(); }
std::vector<Member>::const_iterator Object::end() const { return members_.end(); }
std::vector<Member>::iterator Object::begin() { return members_.begin(); }
std::vector<Member>::iterator Object::end() { return members_.end(); }

bool Object::operator==(const Object& other) const {
  if (size() != other.size()) return false;
  for (const Member& m : members_) {
    const Value* theirs = other.find(m.key);
    if (theirs == nullptr || !(*theirs == m.value)) return false;
  }
  return true;
}

Value Value::object(std::initializer_list<Member> members) { return Value(Object(members)); }
Value Value::array(std::initializer_list<Value> values) { return Value(Array(values)); }

void Value::assign_unsigned(std::uint64_t i) {
  if (i <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    data_ = static_cast<std::int64_t>(i);
  } else {
    data_ = i;
  }
}

bool Value::is_number() const { return data_.index() >= 2 && data_.index() <= 5; }

bool Value::is_integer() const {
  if (const double* d = std::get_if<double>(&data_)) return std::isfinite(*d) && std::floor(*d) == *d;
  if (const BigNumber* n = std::get_if<BigNumber>(&data_))
    return n->text.find_first_of(".eE") == std::string::npos;
  return is_number();
}

std::string_view Value::type_name() const {
  if (is_null()) return "null";
  if (is_bool()) return "boolean";
  if (is_integer()) return "integer";
  if (is_number()) return "number";
  if (is_string()) return "string";
  return is_array() ? "array" : "object";
}

std::optional<bool> Value::as_bool() const {
  if (const bool* b = std::get_if<bool>(&data_)) return *b;
  return std::nullopt;
}

std::optional<std::int64_t> Value::as_int() const {
  if (const std::int64_t* i = std::get_if<std::int64_t>(&data_)) return *i;
  if (const double* d = std::get_if<double>(&data_); d != nullptr && integral_in_range(*d))
    return static_cast<std::int64_t>(*d);
  return std::nullopt;
}

std::optional<double> Value::as_double() const {
  if (const double* d = std::get_if<double>(&data_)) return *d;
  if (const std::int64_t* i = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*i);
  if (const std::uint64_t* u = std::get_if<std::uint64_t>(&data_)) return static_cast<double>(*u);
  if (const BigNumber* n = std::get_if<BigNumber>(&data_)) return std::strtod(n->text.c_str(), nullptr);
  return std::nullopt;
}

const Value* Value::find(std::string_view key) const {
  const Object* o = as_object();
  return o == nullptr ? nullptr : o->find(key);
}

Value* Value::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

Value& Value::set(std::string key, Value value) {
  if (is_null()) data_ = Object();
  Object* o = as_object();
  CHELA_CHECK(o != nullptr, "set() on a JSON value that is no object");
  return o->set(std::move(key), std::move(value));
}

void Value::push_back(Value value) {
  if (is_null()) data_ = Array();
  Array* a = as_array();
  CHELA_CHECK(a != nullptr, "push_back() on a JSON value that is no array");
  a->push_back(std::move(value));
}

std::string Value::string_or(std::string_view key, std::string_view fallback) const {
  const Value* v = find(key);
  const std::string* s = v == nullptr ? nullptr : v->as_string();
  return s == nullptr ? std::string(fallback) : *s;
}

std::int64_t Value::int_or(std::string_view key, std::int64_t fallback) const {
  const Value* v = find(key);
  return v == nullptr ? fallback : v->as_int().value_or(fallback);
}

double Value::double_or(std::string_view key, double fallback) const {
  const Value* v = find(key);
  return v == nullptr ? fallback : v->as_double().value_or(fallback);
}

bool Value::bool_or(std::string_view key, bool fallback) const {
  const Value* v = find(key);
  return v == nullptr ? fallback : v->as_bool().value_or(fallback);
}

bool Value::operator==(const Value& other) const {
  if (data_.index() == other.data_.index()) return data_ == other.data_;
  if (!is_number() || !other.is_number()) return false;
  if (as_big_number() != nullptr || other.as_big_number() != nullptr) return false;
  return as_double() == other.as_double() && as_int() == other.as_int();
}

Value from_error(const Error& error) {
  Object context;
  for (const auto& [key, value] : error.context) context.set(key, value);
  Value out = Value::object(
      {{"code", code_name(error.code)}, {"message", error.message}, {"context", std::move(context)}});
  if (error.retry_after) out.set("retry_after_ms", static_cast<std::int64_t>(error.retry_after->count()));
  return out;
}

}  // namespace chela::json
