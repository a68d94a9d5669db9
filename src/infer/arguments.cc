#include "infer/arguments.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace chela::infer {
namespace {

constexpr std::string_view kLongTermMemory = "MEMORY.md";

Regex words(std::string_view pattern) { return Regex::literal(pattern, Regex::Case::kInsensitive); }

constexpr auto kNoFolders = std::to_array<std::string_view>(
    {"this", "the",      "current", "my",        "working", "which", "what",   "a",
     "here", "that",     "your",    "any",       "same",    "and",   "is",     "are",
     "in",   "of",       "all",     "listing",   "list",    "me",    "inside", "have",
     "with", "contents", "content", "including", "also",    "other", "each",   "every"});

Filled ask(std::string_view text) { return Question{std::string(text)}; }

// Content of a file is kept as written; only the full stop that ends the person's own sentence goes.
std::string file_content(std::string_view text) {
  text = strings::trim(text);
  if (text.size() >= 2 && text.front() == text.back() &&
      (text.front() == '"' || text.front() == '\'' || text.front() == '`'))
    return std::string(text.substr(1, text.size() - 2));
  if (text.find('\n') == std::string_view::npos && text.ends_with('.') && !text.ends_with(".."))
    text.remove_suffix(1);
  return std::string(text);
}

// The JSON text inside a request: from the first bracket to the last that makes it whole.
std::string json_inside(std::string_view text) {
  const auto begin = text.find_first_of("{[");
  if (begin == std::string_view::npos) return {};
  constexpr int kMaxTries = 16;  // closing brackets that are tried, from the end
  auto end = text.size();
  for (int tries = 0; tries < kMaxTries; ++tries) {
    end = text.find_last_of("}]", end - 1);
    if (end == std::string_view::npos || end <= begin) break;
    const auto candidate = text.substr(begin, end + 1 - begin);
    if (json::parse(candidate)) return std::string(candidate);
  }
  return std::string(strings::trim(text.substr(begin)));  // broken JSON is what "validate" is for
}

}  // namespace

Places parse_places(std::string_view tsv) {
  Places out;
  for (const auto line : strings::split(tsv, '\n')) {
    const auto tab = line.find('\t');
    if (line.starts_with('#') || tab == std::string_view::npos) continue;
    out.emplace(std::string(line.substr(0, tab)), std::string(strings::trim(line.substr(tab + 1))));
  }
  return out;
}

ArgumentRules::ArgumentRules(Places places)
    : places_(std::move(places)),
      date_(
          words(R"(\b(\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?))")),
      zone_(Regex::literal(
          R"(\b((?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?|UTC|GMT)\b)")),
      since_(words(R"(\b(since|ago|passed after)\b)")),
      until_(words(R"(\b(until|till|to|before|how (long|many|much)|left|remain)\b)")),
      store_lead_(words(
          R"(^\W*(?:(?:please|hey|hi|hello|ok|okay|so|from now on|now)\b\W*)*(?:(?:can|could|would|will) you (?:please )?)?)"
          R"((?:remember|keep in mind|note (?:for you|for today|to self|down)|note|(?:make|take) a note|(?:do not|don'?t) forget|memori[sz]e|jot (?:this |that |it )?down|)"
          R"(save|add|write|put|store|learn|you should know|remind (?:me|yourself)|for (?:later|the record))\b)"
          R"((?: (?:this|it|down)\b)?(?: (?:to|in|into) (?:your |my |the )?(?:long-term )?(?:memory|notes|daily log|journal))?\s*(?:that\b|of\b)?\s*[:,]?\s*)")),
      store_tail_(words(
          R"([,.;:]?\s+(?:please[, ]+)?(?:and )?(?:remember|(?:do not|don'?t) forget|note|keep in mind|memori[sz]e)(?: (?:that|it|this))?(?:,? (?:please|ok|okay|for me))*\W*$)")),
      store_place_(words(
          R"(\s+(?:to|in|into) (?:your |my |the )?(?:long-term )?(?:memory|notes|daily log|journal)\W*$)")),
      relative_day_(words(
          R"(\b(today|tonight|tomorrow|yesterday|this (week|month|morning|afternoon|evening)|next (week|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b)")),
      first_lines_(words(R"(\bfirst (\d{1,6}) lines?\b)")),
      line_range_(words(R"(\blines? (\d{1,6}) ?(?:to|-|until|through) ?(\d{1,6})\b)")),
      quoted_(Regex::literal(R"re((?:^|[\s:(])(?:"([^"]+)"|'([^']+(?:'[a-z][^']*)*)'|`([^`]+)`))re")),
      content_after_(words(
          R"((?s)^["'`,]*\s*(?:and\s+)?(?:(?:that\s+|which\s+)?(?:containing|contains?|says?|saying|with|holding|reading)\b(?:\s+(?:the|this|these|a)\b)?(?:\s+(?:text|words?|contents?|lines?|number)\b)?(?:\s+in it)?\s*:?|:|and (?:write|put)\b(?:\s+in(?:to)? it)?)\s*(.+)$)")),
      content_before_(words(
          R"((?s)\b(?:write|save|put|store|add|append)\s+(?:(?:this|the|these|a)\s+)?(?:(?:text|words?|lines?|number|sentence|following)\b)?\s*:?\s*(.+?)\s+(?:to|into|in|as|on)\s+(?:the\s+|a\s+|my\s+)?(?:new\s+)?(?:file\s+)?(?:called\s+|named\s+)?["'`]?$)")),
      content_passive_(words(
          R"((?s)\b(?:need|want|like|have)\s+(?:to have\s+)?(.+?)\s+(?:saved|written|stored|put)\s+(?:to|into|in|as|on)\s+(?:the\s+|a\s+|my\s+)?(?:new\s+)?(?:file\s+)?(?:called\s+|named\s+)?["'`]?$)")),
      in_it_(words(R"(\s+in it\W*$)")),
      folder_(words(R"(\b(?:folder|directory|dir|subfolder)\s+(?:called\s+|named\s+)?["'`]?([\w./~-]+))")),
      folder_before_(words(R"(["'`]?([\w./~-]+)["'`]?\s+(?:folder|directory|dir|subfolder)\b)")),
      recursive_(
          words(R"(\b(recursive(ly)?|sub-?(folders|directories)|all levels|whole tree|everything below)\b)")),
      json_path_(words(
          R"(\b(?:get|extract|value of|value at|field|key|path|what is|what's|find|read|query|take)\s+(?:the\s+)?(?:(?:value|field|key|entry|path)\s+(?:of\s+|at\s+)?)?["'`]?([A-Za-z_$][\w.\[\]$-]*)["'`]?\s+(?:out of|of|from|in)\b)")),
      json_valid_(words(R"(\b(valid(ate)?|correct|well-formed|check)\b)")),
      json_compact_(words(R"(\b(compact|minif(y|ied)|stringify|one line|single line|shrink)\b)")) {}

Filled ArgumentRules::fill(std::string_view tool, const Request& request) const {
  const auto& cues = request.cues;
  if (tool == "time") return time(request);
  if (tool == "json") return json_call(request);
  if (tool == "memory_write") return memory_write(request);
  if (tool == "memory_read") return memory_read(request);
  if (tool == "read_file") return read_file(request);
  if (tool == "write_file") return write_file(request);
  if (tool == "list_dir") return list_dir(request);
  if (tool == "calculator") {
    if (!cues.arithmetic) return ask("Which sum should I work out? Write it like 17*23 or 250 divided by 8.");
    return json::Value::object({{"expression", cues.arithmetic->expression}});
  }
  if (tool == "echo") {
    if (!cues.echo.empty()) return json::Value::object({{"message", cues.echo}});
    if (const auto colon = request.text.find(':');
        colon != std::string::npos && colon + 1 < request.text.size()) {
      return json::Value::object(
          {{"message", std::string(value_of(std::string_view(request.text).substr(colon + 1)))}});
    }
    return ask("What should I repeat?");
  }
  if (tool == "shell") {
    // Never a command of the model's own: only words that the person wrote.
    if (cues.run.empty()) return ask("Which command should I run? Please write it out: run ...");
    return json::Value::object({{"command", cues.run}});
  }
  if (tool == "memory_search") {
    const auto query = strings::join(keywords_of(request.text), " ");
    return json::Value::object({{"query", query.empty() ? std::string(value_of(request.text)) : query}});
  }
  return json::Value::object();  // memory_tree: everything
}

std::string ArgumentRules::place_in(std::string_view text) const {
  if (const auto match = zone_.match(text)) return std::string((*match)[1]);
  const auto low = " " + strings::join(words_of(text), " ") + " ";
  std::string_view best;
  std::string zone;
  for (const auto& [place, name] : places_) {
    if (place.size() > best.size() && low.contains(" " + place + " ")) {
      best = place;
      zone = name;
    }
  }
  return zone;
}

Filled ArgumentRules::time(const Request& request) const {
  std::vector<std::string> dates;
  std::string_view rest = request.text;
  for (auto match = date_.match(rest); match && dates.size() < 2; match = date_.match(rest)) {
    dates.emplace_back((*match)[1]);
    rest.remove_prefix(static_cast<std::size_t>((*match)[1].data() - rest.data()) + (*match)[1].size());
  }
  const auto zone = place_in(request.text);
  if (dates.size() == 2)
    return json::Value::object({{"operation", "diff"}, {"timestamp", dates[0]}, {"timestamp2", dates[1]}});
  if (dates.size() == 1) {
    if (since_.found_in(request.text))
      return json::Value::object({{"operation", "diff"}, {"timestamp", dates[0]}, {"timestamp2", "now"}});
    if (zone.empty() && until_.found_in(request.text))
      return json::Value::object({{"operation", "diff"}, {"timestamp", "now"}, {"timestamp2", dates[0]}});
    if (!zone.empty())
      return json::Value::object({{"operation", "convert"}, {"timestamp", dates[0]}, {"timezone", zone}});
    return json::Value::object({{"operation", "parse"}, {"timestamp", dates[0]}});
  }
  auto out = json::Value::object({{"operation", "now"}});
  if (!zone.empty()) out.set("timezone", zone);
  return out;
}

Filled ArgumentRules::json_call(const Request& request) const {
  const auto data = json_inside(request.text);
  if (data.empty()) return ask("Which JSON do you mean? Please write it into your message.");
  const auto around = std::string_view(request.text).substr(0, request.text.find(data));
  const auto after =
      std::string_view(request.text).substr(std::min(request.text.size(), around.size() + data.size()));
  const auto said = std::string(around) + " " + std::string(after);
  if (json_valid_.found_in(said)) return json::Value::object({{"operation", "validate"}, {"data", data}});
  if (json_compact_.found_in(said)) return json::Value::object({{"operation", "stringify"}, {"data", data}});
  if (const auto match = json_path_.match(said)) {
    return json::Value::object({{"operation", "query"}, {"data", data}, {"path", std::string((*match)[1])}});
  }
  return json::Value::object({{"operation", "parse"}, {"data", data}});
}

Filled ArgumentRules::memory_write(const Request& request) const {
  auto content = store_lead_.replace_first(request.text, "");
  content = store_tail_.replace_first(content, "");
  content = store_place_.replace_first(content, "");
  auto value = std::string(value_of(content));
  if (value.empty()) return ask("What should I remember?");
  // "tomorrow" means nothing next week: keep the day it was said.
  if (request.now && relative_day_.found_in(value)) value += " (noted " + request.now->substr(0, 10) + ")";
  return json::Value::object({{"content", value}, {"target", request.cues.daily ? "daily_log" : "memory"}});
}

Filled ArgumentRules::memory_read(const Request& request) const {
  if (request.cues.path) return json::Value::object({{"path", request.cues.path->path}});
  if (!request.cues.daily) return json::Value::object({{"path", kLongTermMemory}});
  if (const auto match = date_.match(request.text))
    return json::Value::object({{"path", "daily/" + std::string((*match)[1].substr(0, 10)) + ".md"}});
  if (!request.now) return ask("The log of which day? Please write the date like 2026-01-31.");
  return json::Value::object({{"path", "daily/" + request.now->substr(0, 10) + ".md"}});
}

Filled ArgumentRules::read_file(const Request& request) const {
  if (!request.cues.path) return ask("Which file should I read? Please write its name.");
  auto out = json::Value::object({{"path", request.cues.path->path}});
  if (const auto match = first_lines_.match(request.text)) {
    out.set("limit", *strings::parse_int<int>((*match)[1]));
  } else if (const auto range = line_range_.match(request.text)) {
    const int first = *strings::parse_int<int>((*range)[1]);
    const int last = *strings::parse_int<int>((*range)[2]);
    if (first >= 1 && last >= first) {
      out.set("offset", first);
      out.set("limit", last - first + 1);
    }
  }
  return out;
}

Filled ArgumentRules::write_file(const Request& request) const {
  if (!request.cues.path) return ask("Which file should I write to? Please write its name and the text.");
  const auto& mention = *request.cues.path;
  const std::string_view text = request.text;
  const auto before = text.substr(0, mention.begin);
  // Punctuation glued to the path ("out.txt:") belongs to what follows.
  const auto glued = text.substr(mention.begin, mention.end - mention.begin);
  const auto after = text.substr(mention.begin + glued.find(mention.path) + mention.path.size());
  std::string content;
  if (const auto match = content_after_.match(after)) {
    content = file_content(in_it_.replace_first((*match)[1], ""));
  } else if (const auto quote = quoted_.match(before)) {
    for (std::size_t i = 1; i <= 3; ++i) content += (*quote)[i];
  } else if (const auto match_before = content_before_.match(before)) {
    content = file_content((*match_before)[1]);
  } else if (const auto passive = content_passive_.match(before)) {
    content = file_content((*passive)[1]);
  }
  if (content.empty()) return Question{fmt::format("What should I write into {}?", mention.path)};
  return json::Value::object({{"path", mention.path}, {"content", content}});
}

Filled ArgumentRules::list_dir(const Request& request) const {
  auto out = json::Value::object();
  const auto usable = [](std::string_view name) {
    return !name.empty() &&
           std::find(kNoFolders.begin(), kNoFolders.end(), strings::lower(name)) == kNoFolders.end();
  };
  std::string path;
  if (request.cues.path) path = request.cues.path->path;
  for (const auto* pattern : {&folder_, &folder_before_}) {
    if (!path.empty()) break;
    if (const auto match = pattern->match(request.text)) {
      const auto name = value_of((*match)[1]);
      if (usable(name)) path = std::string(name);
    }
  }
  if (!path.empty()) out.set("path", path);
  if (recursive_.found_in(request.text)) out.set("recursive", true);
  return out;
}

}  // namespace chela::infer
