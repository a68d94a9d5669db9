#include "infer/answers.h"

#include <array>

#include "base/strings.h"
#include "base/time.h"
#include "infer/words.h"

namespace chela::infer {
namespace {

constexpr auto kDays = std::to_array<std::string_view>(
    {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"});
constexpr auto kMonths =
    std::to_array<std::string_view>({"January", "February", "March", "April", "May", "June", "July", "August",
                                     "September", "October", "November", "December"});

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

// A scalar as people write it; objects and arrays as JSON.
std::string plain(const json::Value& value) {
  return value.as_string() != nullptr ? *value.as_string() : json::write(value);
}

// The first of these members that is there, as text.
std::string member(const json::Value& value, std::initializer_list<std::string_view> keys) {
  for (const auto key : keys) {
    if (const auto* found = value.find(key); found != nullptr && !found->is_null()) return plain(*found);
  }
  return {};
}

std::string calculator(const json::Value& arguments, const ToolResult& result) {
  const auto expression = arguments.string_or("expression", result.value.string_or("expression"));
  const auto value = result.value.is_object() ? member(result.value, {"result", "value", "answer"})
                                              : std::string(strings::trim(result.text));
  if (value.empty()) return result.text;
  // Some calculators answer with the whole equation.
  return expression.empty() || value.contains('=') ? value : fmt::format("{} = {}", expression, value);
}

std::string amount(double value, std::string_view unit) {
  auto number = fmt::format("{:.2f}", value);
  while (number.contains('.') && (number.ends_with('0') || number.ends_with('.'))) {
    const bool dot = number.ends_with('.');
    number.pop_back();
    if (dot) break;
  }
  return fmt::format("{} {}{}", number, unit, number == "1" ? "" : "s");
}

std::string time_answer(const json::Value& arguments, const ToolResult& result) {
  const auto& value = result.value;
  if (const auto difference = member(value, {"text"}); !difference.empty())
    return fmt::format("It is {}.", difference);
  if (const auto* days = value.find("days"); days != nullptr && days->as_double()) {
    const double count = *days->as_double();
    if (count >= 1 || count <= -1) return fmt::format("It is {}.", amount(count, "day"));
    if (const auto* hours = value.find("hours"); hours != nullptr && hours->as_double())
      return fmt::format("It is {}.", amount(*hours->as_double(), "hour"));
  }
  const auto formatted = member(value, {"formatted", "local", "converted", "output", "result"});
  const auto iso = member(value, {"iso", "utc", "time", "now"});
  const auto zone = member(value, {"timezone"});
  const auto shown = spoken_time(!formatted.empty() ? formatted : !iso.empty() ? iso : result.text);
  const auto place = zone.empty() ? arguments.string_or("timezone") : zone;
  const bool names_zone = place.empty() || place == "UTC" || shown.contains(place);
  return names_zone ? fmt::format("It is {}.", shown) : fmt::format("It is {}, {}.", shown, place);
}

std::string memory_write(const json::Value& arguments, const ToolResult& result) {
  if (result.value.string_or("status") == "cleared")
    return fmt::format("I have cleared {}.", result.value.string_or("path", "it"));
  const auto content = arguments.string_or("content");
  const auto path = result.value.string_or("path");
  if (content.empty()) return "I have noted it.";
  return path.empty() || path == "MEMORY.md" ? fmt::format("I will remember: {}", quoted(content))
                                             : fmt::format("I have noted in {}: {}", path, quoted(content));
}

std::string block(std::string_view title, std::string_view body) {
  if (strings::trim(body).empty()) return fmt::format("{} is empty.", title);
  return fmt::format("{}:\n\n{}", title, body);
}

// The text of a document: alone, or beside the path it came from. A JSON file is text too.
std::string document(const ToolResult& result) {
  const auto* content = result.value.find("content");
  const bool described =
      content != nullptr && content->as_string() != nullptr && result.value.find("path") != nullptr;
  return described ? *content->as_string() : result.text;
}

void list_names(const json::Value& value, int depth, std::string& out) {
  constexpr int kMaxDepth = 16;
  if (depth > kMaxDepth) return;
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  if (const auto* names = value.as_array()) {
    for (const auto& entry : *names) list_names(entry, depth, out);
  } else if (const auto* text = value.as_string()) {
    out += fmt::format("{}- {}\n", indent, *text);
  } else if (const auto* object = value.as_object()) {
    // {"dir/": [children]} of a tree, or {"name": ..., "size": ...} of a listing.
    const auto name = member(value, {"name", "path", "entry"});
    if (!name.empty()) {
      const auto size = member(value, {"size", "size_bytes"});
      out += size.empty() ? fmt::format("{}- {}\n", indent, name)
                          : fmt::format("{}- {} ({} bytes)\n", indent, name, size);
      if (const auto* children = value.find("children")) list_names(*children, depth + 1, out);
      return;
    }
    for (const auto& [key, children] : *object) {
      out += fmt::format("{}- {}\n", indent, key);
      list_names(children, depth + 1, out);
    }
  }
}

std::string listing(std::string_view title, const ToolResult& result) {
  const json::Value* entries = &result.value;
  for (const std::string_view key : {"entries", "items", "files", "tree"}) {
    if (const auto* found = result.value.find(key)) entries = found;
  }
  std::string lines;
  list_names(*entries, 0, lines);
  if (lines.empty()) lines = result.value.is_null() ? result.text : "";
  if (lines.ends_with('\n')) lines.pop_back();
  return block(title, lines);
}

std::string shell(const json::Value& arguments, const ToolResult& result) {
  const auto output = result.value.is_object() ? member(result.value, {"output", "stdout"}) : result.text;
  const auto code = result.value.int_or("exit_code", 0);
  auto out = strings::trim(output).empty()
                 ? fmt::format("{} printed nothing.", arguments.string_or("command", "The command"))
                 : output;
  if (code != 0) out += fmt::format("\n\nIt ended with exit code {}.", code);
  return out;
}

std::string named(const json::Value& arguments, std::string_view fallback) {
  const auto path = arguments.string_or("path");
  return path.empty() ? std::string(fallback) : path;
}

std::string json_answer(const ToolResult& result) {
  if (const auto* valid = result.value.find("valid"); valid != nullptr && valid->as_bool()) {
    if (*valid->as_bool()) return "Yes, it is valid JSON.";
    const auto why = member(result.value, {"error", "message", "reason"});
    return why.empty() ? "No, it is not valid JSON." : fmt::format("No, it is not valid JSON: {}", why);
  }
  if (const auto* inner = result.value.find("result"))
    return inner->as_string() != nullptr ? *inner->as_string() : json::write_pretty(*inner);
  return result.value.is_null() ? result.text : json::write_pretty(result.value);
}

}  // namespace

std::string spoken_time(std::string_view rfc3339) {
  const auto time = parse_rfc3339(rfc3339);
  if (!time) return std::string(rfc3339);
  // The wall clock that the text shows, whatever its offset: an offset is shown beside it.
  const auto wall = parse_rfc3339(std::string(rfc3339.substr(0, 19)) + "Z");
  const auto civil = to_civil(wall ? *wall : *time);
  const auto sign = rfc3339.find_last_of("+-");
  const bool utc = sign == std::string_view::npos || sign < 19 || rfc3339.substr(sign + 1) == "00:00";
  return fmt::format("{}, {} {} {}, {:02}:{:02} {}", kDays[static_cast<std::size_t>(civil.weekday)],
                     civil.day, kMonths[static_cast<std::size_t>(civil.month - 1)], civil.year, civil.hour,
                     civil.minute, utc ? "UTC" : fmt::format("(UTC{})", rfc3339.substr(sign)));
}

std::string answer_from(std::string_view tool, const json::Value& arguments, const ToolResult& result) {
  if (result.is_declined) return "I have not done that, as you declined it.";
  // The long-term memory comes into being with the first thing to remember.
  if (result.is_error && tool == "memory_read" && arguments.string_or("path") == "MEMORY.md")
    return "I remember nothing about you yet. Tell me: \"Remember that ...\".";
  if (result.is_error)
    return fmt::format("That did not work: {}",
                       result.text.empty() ? "the tool gave no reason" : result.text);
  if (tool == "calculator") return calculator(arguments, result);
  if (tool == "time") return time_answer(arguments, result);
  if (tool == "memory_write") return memory_write(arguments, result);
  if (tool == "memory_read") return block(named(arguments, "The document"), document(result));
  if (tool == "memory_tree") return listing("In memory", result);
  if (tool == "read_file") return block(named(arguments, "The file"), document(result));
  if (tool == "list_dir") return listing(named(arguments, "The folder"), result);
  if (tool == "write_file") return fmt::format("I have written {}.", named(arguments, "the file"));
  if (tool == "json") return json_answer(result);
  if (tool == "shell") return shell(arguments, result);
  if (tool == "echo" && result.value.is_object()) return member(result.value, {"message", "text", "result"});
  if (result.text.empty()) return fmt::format("{} is done.", tool);
  return result.value.is_null() ? result.text
                                : fmt::format("{} gave:\n\n{}", tool, json::write_pretty(result.value));
}

std::vector<std::string> remembered_texts(const ToolResult& result) {
  std::vector<std::string> out;
  if (result.is_error) return out;
  const auto* list = result.value.find("results");
  if (list == nullptr && result.value.is_array()) list = &result.value;
  if (list != nullptr && list->as_array() != nullptr) {
    for (const auto& entry : *list->as_array())
      out.push_back(entry.as_string() != nullptr ? *entry.as_string() : entry.string_or("content"));
  } else if (const auto* content = result.value.find("content");
             content != nullptr && content->as_string() != nullptr) {
    out.push_back(*content->as_string());
  } else if (result.value.is_null()) {
    out.push_back(result.text);
  }
  std::erase_if(out, [](const std::string& text) { return text.empty(); });
  return out;
}

std::string quote_memories(const std::vector<RankedSentence>& sentences) {
  const bool sure = sentences.front().score >= kSurelyRelevant;
  const std::string_view lead = sure ? "You told me: " : "I am not sure that this is it, but I remember: ";
  std::string out(lead);
  for (std::size_t i = 0; i < sentences.size(); ++i) out += (i > 0 ? "\n" : "") + quoted(sentences[i].text);
  return out;
}

std::string nothing_remembered(std::string_view about) {
  return about.empty() ? "I have nothing about that in my memory."
                       : fmt::format("I have nothing about {} in my memory. Tell me: \"Remember that ...\".",
                                     quoted(about));
}

std::string about_itself(std::span<const ToolSpec> tools) {
  std::string out =
      "I am Chela's small local model. I run on this computer and need no account, but I am tiny: good for "
      "trying Chela and for private notes, reminders, sums and files. For real work add a provider or a "
      "bigger model (chela models).";
  constexpr auto kAbilities = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"memory_write", "\"Remember that my dentist is on Friday at 9.\""},
      {"memory_search", "\"When is my dentist?\""},
      {"calculator", "\"What is 17*23?\""},
      {"time", "\"What time is it in Tokyo?\""},
      {"list_dir", "\"List my files.\""},
      {"read_file", "\"Read notes.txt.\""},
      {"write_file", "\"Write buy milk to todo.txt.\""},
      {"shell", "\"Run git status.\""},
  });
  std::string lines;
  for (const auto& [name, example] : kAbilities) {
    for (const auto& tool : tools) {
      if (tool.name == name && is_known(tool)) lines += fmt::format("\n- {}", example);
    }
  }
  if (!lines.empty()) out += "\n\nYou can say, for example:" + lines;
  return out;
}

std::string ask_which(std::string_view tool, std::string_view other) {
  return fmt::format("Which do you want: {} or {}?", words_of_name(tool), words_of_name(other));
}

std::string cannot_run_commands() { return "I cannot run commands here: no tool for that is switched on."; }

}  // namespace chela::infer
