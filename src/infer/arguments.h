// Fills the arguments of Chela's own tools by rules: from the words of the request, without a language model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "infer/cues.h"

namespace chela::infer {

// "tokyo" -> "Asia/Tokyo"
using Places = std::map<std::string, std::string, std::less<>>;
// Lines "place<TAB>zone"; lines without a tab and those with '#' are skipped.
Places parse_places(std::string_view tsv);

struct Request {
  std::string text;                // what the person wrote, with plain quotes
  std::optional<std::string> now;  // the time of the message, RFC 3339
  Cues cues;
};

// A question back, when the request does not say what the tool needs.
struct Question {
  std::string text;
};
using Filled = std::variant<json::Value, Question>;

// Immutable.
class ArgumentRules {
 public:
  explicit ArgumentRules(Places places);

  // `tool` is one of the names that is_known() knows.
  Filled fill(std::string_view tool, const Request& request) const;

 private:
  Filled time(const Request& request) const;
  Filled json_call(const Request& request) const;
  Filled memory_write(const Request& request) const;
  Filled memory_read(const Request& request) const;
  Filled read_file(const Request& request) const;
  Filled write_file(const Request& request) const;
  Filled list_dir(const Request& request) const;
  std::string place_in(std::string_view text) const;

  Places places_;
  Regex date_, zone_, since_, until_;
  Regex store_lead_, store_tail_, store_place_, relative_day_;
  Regex first_lines_, line_range_;
  Regex quoted_, content_after_, content_before_, content_passive_, in_it_;
  Regex folder_, folder_before_, recursive_;
  Regex json_path_, json_valid_, json_compact_;
};

}  // namespace chela::infer
