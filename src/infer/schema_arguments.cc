#include "infer/schema_arguments.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "infer/arithmetic_tokens.h"

namespace chela::infer {
namespace {

constexpr auto kPlaceNames = std::to_array<std::string_view>(
    {"city", "location", "place", "town", "country", "address", "region", "destination", "where"});
constexpr auto kQueryNames = std::to_array<std::string_view>(
    {"query", "q", "search", "term", "terms", "keyword", "keywords", "topic"});
constexpr auto kWholeTextNames = std::to_array<std::string_view>(
    {"prompt", "question", "request", "instruction", "instructions", "input", "task", "goal"});

constexpr auto kTimeWords = std::to_array<std::string_view>(
    {"today", "tomorrow", "tonight", "right", "currently", "later", "next", "monday", "tuesday", "wednesday",
     "thursday", "friday", "saturday", "sunday"});

bool any_word_in(const std::vector<std::string>& words, auto& list) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  });
}

std::string type_of(const json::Value& schema) {
  const auto* type = schema.find("type");
  if (type == nullptr) return schema.find("enum") != nullptr ? "string" : "";
  if (const auto* one = type->as_string()) return *one;
  if (const auto* several = type->as_array()) {
    for (const auto& entry : *several) {
      if (entry.as_string() != nullptr && *entry.as_string() != "null") return *entry.as_string();
    }
  }
  return "";
}

std::optional<std::string> quoted_text(std::string_view text) {
  for (const char quote : {'"', '`'}) {
    const auto begin = text.find(quote);
    if (begin == std::string_view::npos) continue;
    const auto end = text.find(quote, begin + 1);
    if (end != std::string_view::npos && end > begin + 1)
      return std::string(text.substr(begin + 1, end - begin - 1));
  }
  return std::nullopt;
}

std::optional<std::string> word_with(std::string_view text, std::string_view mark) {
  for (const auto word : strings::split(text, ' ')) {
    if (word.contains(mark)) return std::string(value_of(word));
  }
  return std::nullopt;
}

// "weather in New York tomorrow" -> "New York": the capitalised words after a preposition, or the lower-case ones up to a word that
// speaks of something else.
std::optional<std::string> place_after_preposition(std::string_view text) {
  const auto words = strings::split(text, ' ');
  constexpr auto kPrepositions =
      std::to_array<std::string_view>({"in", "at", "for", "near", "to", "from", "around", "of"});
  std::optional<std::string> lower;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (std::find(kPrepositions.begin(), kPrepositions.end(), strings::lower(words[i])) ==
        kPrepositions.end())
      continue;
    std::string place;
    for (std::size_t k = i + 1;
         k < words.size() && !words[k].empty() && words[k][0] >= 'A' && words[k][0] <= 'Z'; ++k) {
      place += (place.empty() ? "" : " ") + std::string(value_of(words[k]));
      if (words[k].find_last_of(",.?!") != std::string_view::npos) break;
    }
    if (!place.empty()) return place;
    if (lower) continue;
    constexpr std::size_t kMaxWords = 3;
    for (std::size_t k = i + 1; k < words.size() && k <= i + kMaxWords; ++k) {
      const auto word = value_of(words[k]);
      if (keywords_of(word).size() != 1 ||
          std::find(kTimeWords.begin(), kTimeWords.end(), strings::lower(word)) != kTimeWords.end())
        break;
      place += (place.empty() ? "" : " ") + std::string(word);
      if (words[k].find_last_of(",.?!") != std::string_view::npos) break;
    }
    if (!place.empty()) lower = place;
  }
  return lower;
}

class Filler {
 public:
  Filler(const ToolSpec& tool, const Request& request) : tool_(tool), request_(request) {
    for (const auto& token : arithmetic_tokens(request.text)) {
      if (token.kind == ArithmeticToken::Kind::kNumber && token.text != "pi") numbers_.push_back(token.text);
    }
  }

  // The value that the words give for sure.
  std::optional<json::Value> value(const std::string& name, const json::Value& schema, bool required) {
    const auto type = type_of(schema);
    const auto names = words_of(words_of_name(name));
    if (const auto* choices = schema.find("enum"); choices != nullptr && choices->as_array() != nullptr)
      return choice(*choices->as_array(), required);
    if (type == "integer" || type == "number") return number(names, type, required);
    if (type == "boolean") return flag(names, schema, required);
    if (!required) return std::nullopt;
    if (type == "array") {
      const auto* items = schema.find("items");
      if (items == nullptr || type_of(*items) != "string") return std::nullopt;
      auto one = text(names, schema);
      return one ? std::optional(json::Value::array({json::Value(*one)})) : std::nullopt;
    }
    if (type != "string" && !type.empty()) return std::nullopt;
    auto found = text(names, schema);
    return found ? std::optional(json::Value(*found)) : std::nullopt;
  }

 private:
  std::optional<json::Value> choice(const json::Array& choices, bool required) const {
    const auto words = words_of(request_.text);
    const json::Value* best = nullptr;
    float most = 0;
    for (const auto& entry : choices) {
      if (entry.as_string() == nullptr) continue;
      const float share = overlap(words_of(words_of_name(*entry.as_string())), words);
      if (share > most) {
        most = share;
        best = &entry;
      }
    }
    if (best != nullptr && most >= 0.5F) return *best;
    if (required && choices.size() == 1) return choices.front();
    return std::nullopt;
  }

  std::optional<json::Value> number(const std::vector<std::string>& names, std::string_view type,
                                    bool required) {
    // An optional number is meant only when its name is said: "limit 5".
    if (!required && overlap(names, words_of(request_.text)) < 1.0F) return std::nullopt;
    for (; next_number_ < numbers_.size(); ++next_number_) {
      auto parsed = json::parse(numbers_[next_number_]);
      if (!parsed || (type == "integer" && !parsed->is_integer())) continue;
      ++next_number_;
      return *std::move(parsed);
    }
    return std::nullopt;
  }

  std::optional<json::Value> flag(const std::vector<std::string>& names, const json::Value& schema,
                                  bool required) const {
    const auto words = words_of(request_.text);
    const bool said = overlap(names, words) >= 0.5F;
    const bool negated = std::any_of(words.begin(), words.end(), [](const std::string& word) {
      return word == "not" || word == "don't" || word == "without" || word == "no";
    });
    if (said) return json::Value(!negated);
    if (!required) return std::nullopt;
    return json::Value(schema.bool_or("default", false));
  }

  std::optional<std::string> text(const std::vector<std::string>& names, const json::Value& schema) const {
    const auto format = schema.string_or("format");
    const auto has = [&](std::string_view word) {
      return std::find(names.begin(), names.end(), word) != names.end();
    };
    if (format == "uri" || has("url") || has("uri") || has("link")) return word_with(request_.text, "://");
    if (format == "email" || has("email")) return word_with(request_.text, "@");
    if (has("path") || has("file") || has("filename"))
      return request_.cues.path ? std::optional(request_.cues.path->path) : std::nullopt;
    if (auto quoted = quoted_text(request_.text)) return quoted;
    if (any_word_in(names, kPlaceNames)) return place_after_preposition(request_.text);
    if (any_word_in(names, kQueryNames)) {
      auto words = keywords_of(request_.text);
      // The words that only name the tool ("weather") are no part of what is looked for, unless nothing else is left.
      const auto all = words;
      const auto tool_words = words_of(words_of_name(tool_.name));
      std::erase_if(words, [&](const std::string& word) {
        return std::find(tool_words.begin(), tool_words.end(), word) != tool_words.end();
      });
      const auto& kept = words.empty() ? all : words;
      return kept.empty() ? std::nullopt : std::optional(strings::join(kept, " "));
    }
    if (any_word_in(names, kWholeTextNames)) return request_.text;
    if (const auto colon = request_.text.find(": ");
        colon != std::string::npos && colon + 2 < request_.text.size()) {
      return std::string(value_of(std::string_view(request_.text).substr(colon + 2)));
    }
    return std::nullopt;
  }

  const ToolSpec& tool_;
  const Request& request_;
  std::vector<std::string> numbers_;
  std::size_t next_number_ = 0;
};

Question question_for(const ToolSpec& tool, const std::string& name) {
  const auto* schema = tool.property(name);
  std::string choices;
  if (const auto* list = schema == nullptr ? nullptr : schema->find("enum");
      list != nullptr && list->as_array() != nullptr) {
    for (const auto& entry : *list->as_array())
      choices += (choices.empty() ? " (" : ", ") +
                 (entry.as_string() != nullptr ? *entry.as_string() : json::write(entry));
    if (!choices.empty()) choices += ")";
  }
  return Question{fmt::format("What should I use as the {} for {}{}?", words_of_name(name),
                              words_of_name(tool.name), choices)};
}

bool is_text(const json::Value* schema) {
  if (schema == nullptr) return true;
  const auto type = type_of(*schema);
  return (type == "string" || type.empty()) && schema->find("enum") == nullptr;
}

}  // namespace

Result<Filled> fill_by_schema(const ToolSpec& tool, const Request& request, const SpanChooser& choose) {
  const auto required = tool.required();
  const auto is_required = [&](const std::string& name) {
    return std::find(required.begin(), required.end(), name) != required.end();
  };
  auto arguments = json::Value::object();
  Filler filler(tool, request);
  for (const auto& name : tool.property_names()) {
    if (auto found = filler.value(name, *tool.property(name), is_required(name)))
      arguments.set(name, *std::move(found));
  }
  std::vector<std::string> missing;
  for (const auto& name : required) {
    if (arguments.find(name) == nullptr && is_text(tool.property(name))) missing.push_back(name);
  }
  if (!missing.empty()) {
    auto chosen = choose(tool, request.text, missing);
    if (!chosen) return fail(chosen.error());
    for (const auto& name : missing) {
      const auto* value = *chosen ? (*chosen)->find(name) : nullptr;
      if (value == nullptr || value->as_string() == nullptr || value->as_string()->empty()) continue;
      if (request.text.contains(*value->as_string())) arguments.set(name, *value);
    }
  }
  for (const auto& name : required) {
    if (arguments.find(name) == nullptr) return Filled(question_for(tool, name));
  }
  return Filled(std::move(arguments));
}

Extraction extraction_for(const ToolSpec& tool) {
  Extraction out;
  const auto sentences = sentences_of(tool.description);
  out.system =
      fmt::format("Extract the arguments of the tool {} ({}) from the request, as JSON.",
                  words_of_name(tool.name), sentences.empty() ? words_of_name(tool.name) : sentences.front());
  out.examples = {
      {"what is the weather like in Oslo right now", R"({"city":"Oslo"})"},
      {"send a message to Ben saying I will be late", R"({"recipient":"Ben","text":"I will be late"})"},
      {"play something by Miles Davis", R"({"artist":"Miles Davis"})"},
      {"create a ticket called broken door for the office", R"({"title":"broken door","project":"office"})"},
  };
  return out;
}

}  // namespace chela::infer
