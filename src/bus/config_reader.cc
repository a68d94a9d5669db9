#include "bus/config_reader.h"

#include <algorithm>

#include "base/strings.h"

namespace chela::bus {
namespace {

const json::Value& nothing() {
  static const json::Value kNothing = json::Value::object();
  return kNothing;
}

}  // namespace

ConfigReader::ConfigReader(std::string where, const json::Value& config)
    : where_(std::move(where)), config_(config.is_null() ? &nothing() : &config) {
  if (config_->as_object() != nullptr) return;
  problem_ =
      Error{.code = Code::kInvalidArgument, .message = where_ + ": must be a mapping of keys to values"};
  config_ = &nothing();
}

void ConfigReader::refuse(std::string_view key, std::string_view problem) {
  if (problem_) return;
  problem_ =
      Error{.code = Code::kInvalidArgument, .message = fmt::format("{}: {}: {}", where_, key, problem)};
}

const json::Value* ConfigReader::value(std::string_view key) {
  asked_.insert(std::string(key));
  const json::Value* found = config_->find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool ConfigReader::has(std::string_view key) const {
  const json::Value* found = config_->find(key);
  return found != nullptr && !found->is_null();
}

std::string ConfigReader::text(std::string_view key, std::string_view otherwise) {
  const json::Value* found = value(key);
  if (found == nullptr) return std::string(otherwise);
  if (const std::string* text = found->as_string()) return *text;
  if (found->as_int()) return json::write(*found);  // a name that is a number: `user: 7`
  refuse(key, fmt::format("must be a text, not {}", json::write(*found)));
  return std::string(otherwise);
}

std::int64_t ConfigReader::integer(std::string_view key, std::int64_t otherwise, std::int64_t least,
                                   std::int64_t most) {
  const json::Value* found = value(key);
  if (found == nullptr) return otherwise;
  std::optional<std::int64_t> number = found->as_int();
  if (const std::string* text = found->as_string()) number = strings::parse_int<std::int64_t>(*text);
  if (number && *number >= least && *number <= most) return *number;
  refuse(key, fmt::format("must be a whole number from {} to {}, not {}", least, most, json::write(*found)));
  return otherwise;
}

std::optional<double> ConfigReader::number(std::string_view key) {
  const json::Value* found = value(key);
  if (found == nullptr) return std::nullopt;
  const std::optional<double> number = found->as_double();
  if (!number) refuse(key, fmt::format("must be a number, not {}", json::write(*found)));
  return number;
}

std::optional<bool> ConfigReader::flag(std::string_view key) {
  const json::Value* found = value(key);
  if (found == nullptr) return std::nullopt;
  if (*found == json::Value(true) || *found == json::Value("true")) return true;
  if (*found == json::Value(false) || *found == json::Value("false")) return false;
  refuse(key, fmt::format("must be true or false, not {}", json::write(*found)));
  return std::nullopt;
}

std::string ConfigReader::choice(std::string_view key, std::span<const std::string_view> allowed) {
  std::string chosen = text(key, allowed.front());
  if (std::ranges::find(allowed, chosen) == allowed.end())
    refuse(key, fmt::format("must be one of {}, not '{}'", fmt::join(allowed, ", "), chosen));
  return chosen;
}

std::vector<std::string> ConfigReader::texts(std::string_view key) {
  const json::Value* found = value(key);
  if (found == nullptr) return {};
  std::vector<std::string> all;
  if (const json::Array* list = found->as_array()) {
    for (const json::Value& each : *list) {
      if (each.as_string() == nullptr) {
        refuse(key, fmt::format("must be a list of texts; {} is none", json::write(each)));
        return {};
      }
      all.push_back(*each.as_string());
    }
    return all;
  }
  refuse(key, fmt::format("must be a list of texts, not {}", json::write(*found)));
  return {};
}

ConfigReader ConfigReader::section(std::string_view key) {
  const json::Value* found = value(key);
  return {fmt::format("{}: {}", where_, key), found == nullptr ? nothing() : *found};
}

std::vector<ConfigReader> ConfigReader::sections(std::string_view key) {
  std::vector<ConfigReader> all;
  const json::Value* found = value(key);
  if (found == nullptr) return all;
  const json::Array* list = found->as_array();
  if (list == nullptr) refuse(key, fmt::format("must be a list, not {}", json::write(*found)));
  for (size_t i = 0; list != nullptr && i < list->size(); ++i)
    all.emplace_back(fmt::format("{}: {}[{}]", where_, key, i), (*list)[i]);
  return all;
}

Result<> ConfigReader::finish() const {
  if (problem_) return fail(*problem_);
  for (const auto& [key, unused] : *config_->as_object()) {
    if (asked_.contains(key)) continue;
    const std::string known =
        asked_.empty() ? "it has no keys" : fmt::format("known: {}", fmt::join(asked_, ", "));
    return fail(Code::kInvalidArgument, "{}: unknown key '{}' ({})", where_, key, known);
  }
  return {};
}

}  // namespace chela::bus
