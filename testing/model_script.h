#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/regex.h"
#include "base/result.h"

// What a scripted model says and when: the JSON of testing/README.md, checked strictly so that a typing error in a test is seen.
namespace chela::testing {

struct ScriptedCall {
  std::string id;
  std::string name;
  std::string arguments;  // as it is sent, well-formed or not
};

struct ScriptedUsage {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t cached = 0;
};

enum class Sending { kAsAsked, kWhole };  // as the request's `stream` says, or never as a stream

struct Reply {
  std::string text;  // {last} and {last_user} stand for the content of those messages
  std::string reasoning;
  std::vector<ScriptedCall> calls;
  std::string finish_reason;  // "": what fits
  std::optional<ScriptedUsage> usage;
  std::vector<json::Value> events;  // instead of all above: texts are sent as they are, others as JSON

  int status = 200;
  std::optional<json::Value> error;  // the body's "error" when the status is none of success
  std::optional<std::string> body;   // the whole body, instead of everything
  std::string content_type;
  std::map<std::string, std::string> headers;

  Sending sending = Sending::kAsAsked;
  size_t chunk_bytes = 0;     // of text in one event; 0: a word
  size_t fragment_bytes = 0;  // of a call's arguments in one event; 0: all
  size_t write_bytes = 0;     // of the body in one write; 0: an event
  std::chrono::milliseconds first_delay{};
  std::chrono::milliseconds chunk_delay{};
  std::optional<size_t> stall_after;    // events; then nothing more ever comes
  std::optional<size_t> cut_after;      // events and a half; then the connection is cut
  std::optional<size_t> garbage_after;  // events; then bytes that mean nothing
  bool answered = true;                 // false: not even headers come
  bool invalid_utf8 = false;            // a stray byte inside the text
  bool done = true;                     // whether [DONE] ends the stream

  std::optional<int> times;  // how often it is given; nothing: once in a list, for ever elsewhere
};

struct When {
  std::string last_user_contains, last_contains, system_contains, has_tool, last_role, model;
  std::optional<Regex> last_user_matches, last_matches;
  std::optional<int> min_messages;
};

struct Rule {
  When when;
  std::vector<Reply> replies;  // one after the other; the last one stays unless it has `times`
  size_t given = 0;            // of the first reply that is not used up
};

// What a request says, as far as rules look at it.
struct Asked {
  std::string model, last, last_role, last_user, system;
  std::vector<std::string> tools;
  int messages = 0;

  static Asked read(const json::Value& body);
};

class Script {
 public:
  static Result<Script> parse(std::string_view json_text);

  // The reply to this request: of the first rule that fits and is not used up, else the next of `replies`, else the default.
  Reply next(const Asked& asked);

  bool instant() const { return instant_; }
  const std::string& model() const { return model_; }
  // Listed beside it.
  const std::vector<std::string>& more_models() const { return more_models_; }
  const Reply& fallback() const { return fallback_; }

 private:
  std::string model_ = "scripted";
  std::vector<std::string> more_models_;
  std::vector<Rule> rules_;
  Rule queue_;
  Reply fallback_ = {.text = "echo: {last_user}"};
  bool instant_ = false;
};

}  // namespace chela::testing
