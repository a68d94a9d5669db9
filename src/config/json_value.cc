#include "config/json_value.h"

#include "base/limits.h"
#include "base/strings.h"
#include "config/values.h"

namespace chela::config {
namespace {

std::optional<std::string> scalar(const json::Value& value) {
  if (const std::string* text = value.as_string()) return *text;
  if (value.is_number() || value.is_bool()) return json::write(value);
  return std::nullopt;
}

}  // namespace

Result<std::string> text_of(const Key& key, const json::Value& value) {
  std::optional<std::string> text = scalar(value);
  if (const json::Array* items = value.as_array(); items && key.type == Type::kList) {
    std::vector<std::string> parts;
    for (const json::Value& item : *items) {
      const std::optional<std::string> part = scalar(item);
      if (!part || part->find(',') != std::string::npos)
        return fail(Code::kUnprocessable, "{} must be a list of texts without commas", key.name);
      parts.push_back(*part);
    }
    text = strings::join(parts, ",");
  }
  if (!text)
    return fail(Code::kUnprocessable, "{} must be {}, not {}", key.name, type_text(key.type),
                value.type_name());
  if (text->size() > kMaxSettingBytes)
    return fail(Code::kUnprocessable, "{} is longer than {} bytes", key.name, kMaxSettingBytes);
  if (const Result<> good = check_value(key, *text); !good)
    return fail(Code::kUnprocessable, "{}", good.error().message);
  return std::move(*text);
}

json::Value json_of(const Key& key, std::string_view text) {
  if (text.empty() && key.type != Type::kList)
    return key.type == Type::kString ? json::Value("") : json::Value();
  switch (key.type) {
    case Type::kInt:
      return int_value(text);
    case Type::kNumber:
      return number_value(text);
    case Type::kBool:
      return bool_value(text);
    case Type::kList: {
      json::Value list = json::Value::array();
      for (std::string& item : list_value(text)) list.push_back(std::move(item));
      return list;
    }
    default:
      return text;
  }
}

}  // namespace chela::config
