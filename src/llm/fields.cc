#include "llm/fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace chela::llm {
namespace {

void lay_over(json::Value& base, const json::Value& over) {
  const json::Object* from = over.as_object();
  if (from == nullptr || !base.is_object()) {
    base = over;
    return;
  }
  for (const json::Member& member : *from) {
    if (json::Value* there = base.find(member.key)) {
      lay_over(*there, member.value);
    } else {
      base.set(member.key, member.value);
    }
  }
}

}  // namespace

json::Value overlaid(const std::vector<DataFile>& files) {
  json::Value all = json::Value::object();
  for (const DataFile& file : files) lay_over(all, file.root);
  return all;
}

std::string_view origin_of(const std::vector<DataFile>& files, std::string_view section,
                           std::string_view entry) {
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const json::Value* table = file->root.find(section);
    if (table != nullptr && (entry.empty() || table->find(entry) != nullptr)) return file->path;
  }
  return files.empty() ? std::string_view() : std::string_view(files.front().path);
}

const json::Value* Fields::find(std::string_view key) {
  known_.push_back(key);
  return table_.find(key);
}

void Fields::fail_with(std::string why) {
  if (error_.empty()) error_ = fmt::format("{}: {}", where_, why);
}

void Fields::wrong(std::string_view key, std::string_view expected) {
  fail_with(fmt::format("'{}' must be {}", key, expected));
}

void Fields::read(std::string_view key, std::string& out) {
  const json::Value* value = find(key);
  if (value == nullptr) return;
  if (value->as_string() == nullptr) return wrong(key, "a text");
  out = *value->as_string();
}

void Fields::read(std::string_view key, bool& out) {
  const json::Value* value = find(key);
  if (value == nullptr) return;
  if (!value->as_bool()) return wrong(key, "true or false");
  out = *value->as_bool();
}

void Fields::read(std::string_view key, std::int64_t& out) {
  const json::Value* value = find(key);
  if (value == nullptr) return;
  const std::optional<std::int64_t> number = value->as_int();
  if (!number || *number < 0) return wrong(key, "a whole number from 0 on");
  out = *number;
}

void Fields::read(std::string_view key, std::optional<double>& out) {
  const json::Value* value = find(key);
  if (value == nullptr) return;
  const std::optional<double> number = value->as_double();
  if (!number || !(*number >= 0)) return wrong(key, "a number from 0 on");
  out = *number;
}

void Fields::read(std::string_view key, std::vector<std::string>& out) {
  const json::Value* value = find(key);
  if (value == nullptr) return;
  const json::Array* items = value->as_array();
  const bool texts = items != nullptr &&
                     std::ranges::all_of(*items, [](const json::Value& each) { return each.is_string(); });
  if (!texts) return wrong(key, "a list of texts");
  out.clear();
  for (const json::Value& item : *items) out.push_back(*item.as_string());
}

void Fields::read(std::string_view key, std::vector<std::pair<std::string, std::string>>& out) {
  const json::Object* texts = table(key);
  if (texts == nullptr) return;
  out.clear();
  for (const json::Member& member : *texts) {
    if (!member.value.is_string()) return wrong(key, "a table of texts");
    out.emplace_back(member.key, *member.value.as_string());
  }
}

const json::Object* Fields::table(std::string_view key) {
  const json::Value* value = find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) wrong(key, "a table");
  return value->as_object();
}

Result<> Fields::finish() {
  for (const json::Member& member : table_) {
    if (std::ranges::find(known_, member.key) == known_.end())
      fail_with(fmt::format("there is no key '{}'", member.key));
  }
  if (!error_.empty()) return fail(Code::kInvalidArgument, "{}", error_);
  return {};
}

}  // namespace chela::llm
