#include "tools/builtin/json_query.h"

#include "base/strings.h"
#include "base/utf8.h"

namespace chela::tools {
namespace {

constexpr std::size_t kMaxShownKeys = 20;
constexpr std::size_t kMaxShownBytes = 80;

std::string shown(std::string_view path) {
  return path.empty() ? "the whole" : fmt::format("'{}'", utf8::prefix(path, kMaxShownBytes));
}

Failure no_key(const json::Value& value, std::string_view key, std::string_view reached) {
  const json::Object* object = value.as_object();
  if (object == nullptr)
    return fail(Code::kNotFound, "{} is {} {}, it has no key '{}'", shown(reached),
                value.is_array() ? "an" : "a", value.type_name(), utf8::prefix(key, kMaxShownBytes));
  std::vector<std::string> keys;
  for (const json::Member& member : *object) {
    if (keys.size() == kMaxShownKeys) break;
    keys.push_back(std::string(utf8::prefix(member.key, kMaxShownBytes)));
  }
  return fail(Code::kNotFound, "{} has no key '{}'; its keys: {}", shown(reached),
              utf8::prefix(key, kMaxShownBytes), strings::join(keys, ", "));
}

Failure no_element(const json::Value& value, std::string_view index, std::string_view reached) {
  const json::Array* array = value.as_array();
  if (array == nullptr)
    return fail(Code::kNotFound, "{} is a {}, no array: [{}] does not apply", shown(reached),
                value.type_name(), utf8::prefix(index, kMaxShownBytes));
  return fail(Code::kNotFound, "{} has {} elements, counted from 0: there is no [{}]", shown(reached),
              array->size(), utf8::prefix(index, kMaxShownBytes));
}

// Steps through `["key"]` or `[n]` at the front of `rest`.
Result<const json::Value*> bracket(const json::Value& value, std::string_view& rest,
                                   std::string_view reached) {
  const bool quoted = rest.starts_with("[\"") || rest.starts_with("['");
  const std::size_t close = quoted ? rest.find(std::string{rest[1], ']'}, 2) : rest.find(']');
  if (close == std::string_view::npos)
    return fail(Code::kInvalidArgument, "the path has no ']' after {}", shown(reached));
  const std::string_view inside =
      quoted ? rest.substr(2, close - 2) : strings::trim(rest.substr(1, close - 1));
  rest.remove_prefix(close + (quoted ? 2 : 1));
  if (quoted) {
    const json::Value* found = value.find(inside);
    return found ? Result<const json::Value*>(found) : no_key(value, inside, reached);
  }
  const auto index = strings::parse_int<std::size_t>(inside);
  if (!index)
    return fail(Code::kInvalidArgument, "[{}] in the path is no index such as [0]",
                utf8::prefix(inside, kMaxShownBytes));
  const json::Array* array = value.as_array();
  if (array == nullptr || *index >= array->size()) return no_element(value, inside, reached);
  return &(*array)[*index];
}

Result<const json::Value*> member(const json::Value& value, std::string_view& rest,
                                  std::string_view reached) {
  const std::string_view key = rest.substr(0, rest.find_first_of(".["));
  if (key.empty()) return fail(Code::kInvalidArgument, "the path has an empty key after {}", shown(reached));
  rest.remove_prefix(key.size());
  const json::Value* found = value.find(key);
  return found ? Result<const json::Value*>(found) : no_key(value, key, reached);
}

}  // namespace

Result<json::Value> query(const json::Value& value, std::string_view path) {
  path = strings::trim(path);
  if (path == "$" || path.starts_with("$.") || path.starts_with("$[")) path.remove_prefix(1);
  std::string_view rest = path;
  if (rest.starts_with('.')) rest.remove_prefix(1);
  const json::Value* at = &value;
  while (!rest.empty()) {
    const std::string_view reached = path.substr(0, path.size() - rest.size());
    const Result<const json::Value*> next =
        rest[0] == '[' ? bracket(*at, rest, reached) : member(*at, rest, reached);
    if (!next) return fail(next.error());
    at = *next;
    if (!rest.starts_with('.')) {
      if (rest.empty() || rest[0] == '[') continue;
      return fail(Code::kInvalidArgument, "expected '.' or '[' in the path at '{}'",
                  utf8::prefix(rest, kMaxShownBytes));
    }
    rest.remove_prefix(1);
    if (rest.empty()) return fail(Code::kInvalidArgument, "the path ends with a dot");
  }
  return *at;
}

}  // namespace chela::tools
