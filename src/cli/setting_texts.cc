#include "cli/setting_texts.h"

#include "base/strings.h"

namespace chela::cli {
namespace {

using json::Value;

std::string words(const Value* list) {
  std::vector<std::string> all;
  if (list && list->is_array()) {
    for (const Value& each : *list->as_array())
      all.push_back(each.as_string() ? *each.as_string() : json::write(each));
  }
  return strings::join(all, ", ");
}

std::string shown(const Value* value) {
  if (!value || value->is_null()) return "(not set)";
  if (value->is_array()) return value->as_array()->empty() ? "(not set)" : words(value);
  if (const std::string* text = value->as_string()) return text->empty() ? "(not set)" : *text;
  return json::write(*value);
}

std::string line_of(const Value& entry) {
  const std::string reference = entry.string_or("reference", "[hidden]");
  const std::string value =
      entry.bool_or("is_set", false) || reference != "[hidden]" ? reference : shown(entry.find("value"));
  std::string out = fmt::format("{} = {}  ({})", entry.string_or("key"), value,
                                entry.string_or("origin", entry.string_or("source")));
  if (entry.bool_or("restart_required", false)) out += "  from the next start on";
  return out + "\n";
}

}  // namespace

std::string settings_text(const Value& value) {
  std::string out;
  const Value* settings = value.find("settings");
  if (!settings || !settings->is_array()) return out;
  for (const Value& each : *settings->as_array()) out += line_of(each);
  return out;
}

std::string setting_text(const Value& entry) {
  std::string out = line_of(entry);
  if (const std::string help = entry.string_or("help"); !help.empty()) out += help + "\n";
  out += "type: " + entry.string_or("type") + "\n";
  if (const Value* choices = entry.find("choices")) out += "one of: " + words(choices) + "\n";
  out += "default: " + shown(entry.find("default")) + "\n";
  if (const Value* variables = entry.find("environment")) out += "environment: " + words(variables) + "\n";
  out += entry.bool_or("reloadable", false) ? "a change counts at once\n"
                                            : "a change counts at the next start\n";
  return out;
}

}  // namespace chela::cli
