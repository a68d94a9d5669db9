#include "bus/items/ops.h"

#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "bus/items/limits.h"

namespace chela::bus::items {
namespace {

using json::Value;
using Path = std::vector<std::string_view>;

constexpr std::array<std::string_view, 6> kTypes{"set",       "merge",  "increment",
                                                 "decrement", "remove", "append"};
// Keys that change what every object of a careless JavaScript consumer inherits from.
constexpr std::array<std::string_view, 3> kPolluting{"__proto__", "constructor", "prototype"};

bool pollutes(std::string_view key) { return std::ranges::find(kPolluting, key) != kPolluting.end(); }

size_t depth_of(const Value& value) {
  size_t deepest = 0;
  if (const json::Array* array = value.as_array()) {
    for (const Value& each : *array) deepest = std::max(deepest, depth_of(each));
    return deepest + 1;
  }
  if (const json::Object* object = value.as_object()) {
    for (const json::Member& each : *object) deepest = std::max(deepest, depth_of(each.value));
    return deepest + 1;
  }
  return 0;
}

// One update under way.
class Update {
 public:
  explicit Update(std::optional<Value> value) : missing_(!value) {
    updated_.value = value ? std::move(*value) : Value::object();
  }

  Result<> apply(size_t index, const Value& op) {
    index_ = index;
    const std::string* type = op.find("type") != nullptr ? op.find("type")->as_string() : nullptr;
    if (type == nullptr || std::ranges::find(kTypes, *type) == kTypes.end())
      return fail(Code::kInvalidArgument,
                  "ops[{}] needs a type: set, merge, increment, decrement, remove or append", index);
    type_ = *type;
    Result<Path> path = path_of(op);
    if (!path) return fail(std::move(path.error()));
    if (!good_path(*path)) return {};
    if (type_ == "set") return set(*path, op);
    if (type_ == "merge") return merge(*path, op);
    if (type_ == "append") return append(*path, op);
    if (type_ == "remove") return remove(*path);
    return add(*path, op);
  }

  Updated take() { return std::move(updated_); }

 private:
  void refuse(std::string_view what, std::string message) {
    updated_.errors.push_back(
        {.index = index_, .code = fmt::format("{}.{}", type_, what), .message = std::move(message)});
  }

  Result<> work(size_t steps) {
    work_ += steps;
    if (work_ <= kMaxUpdateWork) return {};
    return fail(Code::kTooLarge, "the update looks at more than {} members: make it smaller", kMaxUpdateWork);
  }

  Result<Path> path_of(const Value& op) const {
    const Value* path = op.find("path");
    const bool nested = type_ == "merge" || type_ == "append";
    if (path == nullptr || path->is_null()) {
      if (nested) return Path();
      return fail(Code::kInvalidArgument, "ops[{}]: {} needs a path", index_, type_);
    }
    if (const std::string* key = path->as_string()) return key->empty() ? Path() : Path{*key};
    const json::Array* keys = path->as_array();
    if (keys == nullptr || !nested)
      return fail(Code::kInvalidArgument, "ops[{}]: the path of {} is {}", index_, type_,
                  nested ? "a text or an array of texts" : "a text");
    Path made;
    for (const Value& each : *keys) {
      const std::string* key = each.as_string();
      if (key == nullptr)
        return fail(Code::kInvalidArgument, "ops[{}]: the path of {} is an array of texts", index_, type_);
      made.emplace_back(*key);
    }
    return made;
  }

  bool good_path(const Path& path) {
    if (path.size() > kMaxPathSegments) {
      refuse("path.too_deep",
             fmt::format("a path of {} keys; the limit is {}", path.size(), kMaxPathSegments));
      return false;
    }
    for (const std::string_view key : path) {
      if (key.empty()) {
        refuse("path.empty_segment", "a key of the path is empty");
      } else if (key.size() > kMaxPathSegmentBytes) {
        refuse("path.segment_too_long", fmt::format("a key of the path has {} bytes; the limit is {}",
                                                    key.size(), kMaxPathSegmentBytes));
      } else if (pollutes(key)) {
        refuse("path.proto_polluted", fmt::format("the path must not contain the key {}", key));
      } else {
        continue;
      }
      return false;
    }
    return true;
  }

  // Whether a value may lie there; deeper ones could not be read back.
  bool good_depth(const Path& path, const Value& value) {
    const size_t depth = path.size() + 1 + depth_of(value);
    if (depth <= kMaxUpdatedDepth) return true;
    refuse("value.too_deep",
           fmt::format("the value would be {} levels deep; the limit is {}", depth, kMaxUpdatedDepth));
    return false;
  }

  // The value as an object; an error without one.
  json::Object* root_object(std::string_view key) {
    if (updated_.value.is_null()) updated_.value = Value::object();
    json::Object* object = updated_.value.as_object();
    if (object == nullptr)
      refuse("target_not_object",
             fmt::format("the value is no object, it is of type {}: there is no place for the key {}",
                         updated_.value.type_name(), key));
    return object;
  }

  Result<> set(const Path& path, const Value& op) {
    const Value* value = op.find("value");
    const Value null;
    if (value == nullptr) value = &null;
    if (!good_depth(path, *value)) return {};
    if (path.empty()) {
      updated_.value = *value;
    } else if (json::Object* object = root_object(path[0])) {
      if (Result<> done = work(object->size()); !done) return done;
      object->set(std::string(path[0]), *value);
    }
    missing_ = false;
    return {};
  }

  Result<> remove(const Path& path) {
    if (path.empty()) {
      refuse("path.empty_segment", "remove needs the key that it removes");
      return {};
    }
    if (json::Object* object = root_object(path[0])) {
      if (Result<> done = work(object->size()); !done) return done;
      object->erase(path[0]);
    }
    missing_ = false;
    return {};
  }

  // The sum as an integer where both are, else as a double.
  std::optional<Value> sum(const Value& have, const Value& by) const {
    const auto is_whole = [](const Value& v) { return std::holds_alternative<std::int64_t>(v.data()); };
    if (is_whole(have) && is_whole(by)) {
      std::int64_t out = 0;
      const bool over = type_ == "increment" ? __builtin_add_overflow(*have.as_int(), *by.as_int(), &out)
                                             : __builtin_sub_overflow(*have.as_int(), *by.as_int(), &out);
      if (over) return std::nullopt;
      return Value(out);
    }
    const double out =
        type_ == "increment" ? *have.as_double() + *by.as_double() : *have.as_double() - *by.as_double();
    if (!std::isfinite(out)) return std::nullopt;
    return Value(out);
  }

  Result<> add(const Path& path, const Value& op) {
    const Value* by = op.find("by");
    if (by == nullptr || !by->is_number())
      return fail(Code::kInvalidArgument, "ops[{}]: {} needs a number \"by\"", index_, type_);
    Value* have = nullptr;
    if (path.empty()) {
      if (missing_) updated_.value = Value(0);
      have = &updated_.value;
    } else {
      json::Object* object = root_object(path[0]);
      if (object == nullptr) return {};
      if (Result<> done = work(object->size()); !done) return done;
      have = object->find(path[0]);
      if (have == nullptr) have = &object->set(std::string(path[0]), Value(0));
    }
    missing_ = false;
    const std::string_view name = path.empty() ? "the value" : path[0];
    if (!have->is_number()) {
      refuse("not_number", fmt::format("{} is no number, it is of type {}", name, have->type_name()));
    } else if (std::optional<Value> out = sum(*have, *by)) {
      *have = std::move(*out);
    } else {
      refuse("out_of_range", fmt::format("{} would be too large a number", name));
    }
    return {};
  }

  // The member `key` of what must be an object and is made one when it is not; nothing there: null.
  Result<Value*> enter(Value& holder, std::string_view key) {
    if (!holder.is_object()) holder = Value::object();
    json::Object& object = *holder.as_object();
    if (Result<> done = work(object.size()); !done) return fail(std::move(done.error()));
    Value* found = object.find(key);
    return found != nullptr ? found : &object.set(std::string(key), Value());
  }

  // Where the path leads; objects are made on the way. Null after an error in the errors.
  Result<Value*> walk(const Path& path) {
    if (path.empty()) return &updated_.value;
    if (root_object(path[0]) == nullptr) return nullptr;
    Value* at = &updated_.value;
    for (const std::string_view key : path) {
      Result<Value*> next = enter(*at, key);
      if (!next) return next;
      at = *next;
    }
    return at;
  }

  Result<> merge(const Path& path, const Value& op) {
    const Value* value = op.find("value");
    const json::Object* from = value != nullptr ? value->as_object() : nullptr;
    if (from == nullptr) {
      refuse("value.not_an_object", "merge needs an object as its value");
      return {};
    }
    if (from->size() > kMaxMergeKeys) {
      refuse("value.too_many_keys",
             fmt::format("a merged value of {} keys; the limit is {}", from->size(), kMaxMergeKeys));
      return {};
    }
    if (const size_t depth = depth_of(*value); depth > kMaxMergeDepth) {
      refuse("value.too_deep",
             fmt::format("a merged value of {} levels; the limit is {}", depth, kMaxMergeDepth));
      return {};
    }
    for (const json::Member& member : *from) {
      if (!pollutes(member.key)) continue;
      refuse("value.proto_polluted", fmt::format("a merged value must not have the key {}", member.key));
      return {};
    }
    Result<Value*> target = walk(path);
    if (!target) return fail(std::move(target.error()));
    if (*target == nullptr || (path.empty() && root_object("") == nullptr)) return {};
    missing_ = false;
    if (!(*target)->is_object()) **target = Value::object();
    return merge_into(*(*target)->as_object(), *from);
  }

  // With an index over the target: both may be large.
  Result<> merge_into(json::Object& into, const json::Object& from) {
    if (Result<> done = work(into.size() + from.size()); !done) return done;
    std::unordered_map<std::string_view, Value*> places;
    for (json::Member& member : into) places.emplace(member.key, &member.value);
    std::vector<const json::Member*> added;
    for (const json::Member& member : from) {
      if (const auto place = places.find(member.key); place != places.end()) {
        *place->second = member.value;
      } else {
        added.push_back(&member);
      }
    }
    places.clear();  // adding moves the members
    for (const json::Member* member : added) into.append(member->key, member->value);
    return {};
  }

  Result<> append(const Path& path, const Value& op) {
    const Value* value = op.find("value");
    if (value == nullptr) return fail(Code::kInvalidArgument, "ops[{}]: append needs a value", index_);
    if (!good_depth(path, *value)) return {};
    if (path.empty() && missing_) updated_.value = Value();
    Result<Value*> target = walk(path);
    if (!target) return fail(std::move(target.error()));
    if (*target == nullptr) return {};
    missing_ = false;
    // The text is made anew; bytes are cheaper than members.
    if (const std::string* text = (*target)->as_string()) {
      if (Result<> done = work(text->size() / 16); !done) return done;
    }
    append_to(**target, *value, path);
    return {};
  }

  void append_to(Value& target, const Value& value, const Path& path) {
    if (json::Array* array = target.as_array()) {
      array->push_back(value);
    } else if (target.is_null()) {
      // A text begins a text, but at the end of a nested path always a list.
      target = value.is_string() && path.size() < 2 ? value : Value::array({value});
    } else if (target.is_string() && value.is_string()) {
      target = Value(*target.as_string() + *value.as_string());
    } else {
      refuse("type_mismatch",
             fmt::format("a value of type {} cannot be appended to {}, which is of type {}",
                         value.type_name(), path.empty() ? "the value" : path.back(), target.type_name()));
    }
  }

  Updated updated_;
  bool missing_;  // nothing was there, and no operation has put something
  size_t index_ = 0;
  std::string_view type_;
  size_t work_ = 0;
};

}  // namespace

Result<Updated> apply_ops(std::optional<Value> value, const Value& ops) {
  const json::Array* list = ops.as_array();
  if (list == nullptr) return fail(Code::kInvalidArgument, "ops must be an array of operations");
  if (list->size() > kMaxUpdateOps)
    return fail(Code::kTooLarge, "{} operations in one update; the limit is {}", list->size(), kMaxUpdateOps);
  Update update(std::move(value));
  for (size_t i = 0; i < list->size(); ++i) {
    if (Result<> done = update.apply(i, (*list)[i]); !done) return fail(std::move(done.error()));
  }
  return update.take();
}

Value to_json(const std::vector<OpError>& errors) {
  Value list = Value::array();
  for (const OpError& each : errors) {
    list.push_back(Value::object({{"op_index", each.index}, {"code", each.code}, {"message", each.message}}));
  }
  return list;
}

}  // namespace chela::bus::items
