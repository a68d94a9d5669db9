#include <algorithm>
#include <array>

#include "agent/traces/limits.h"
#include "agent/traces/trace.h"
#include "base/regex.h"

namespace chela::agent::traces {
namespace {

using json::Array;
using json::Value;

constexpr std::array<std::string_view, 3> kSettingGroups{"agent.", "limits.", "tools."};

Failure wrong(std::string_view where, std::string_view expected, const Value* given) {
  return fail(Code::kInvalidArgument, "{}: expected {}, not {}", where, expected,
              given == nullptr ? "nothing" : given->type_name());
}

// A member that is there; null counts as absent.
const Value* member(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  return found != nullptr && !found->is_null() ? found : nullptr;
}

// Reads one document, and remembers the first thing that is wrong with it.
class Reader {
 public:
  Result<Trace> read(const Value& root) {
    Trace trace;
    if (!root.is_object()) return wrong("the trace", "an object", &root);
    trace.model_name = text(root, "model_name", "", Presence::kOptional).value_or("");
    trace.memory = documents(root, "memory_snapshot");
    trace.files = documents(root, "files");
    trace.left_out = texts(root, "left_out", "");
    trace.settings = settings(member(root, "settings"));
    for (const auto& [item, where] : items(root, "http_exchanges", "", kMaxTraceExchanges))
      trace.exchanges.push_back(exchange(*item, where));
    trace.expects = expects(member(root, "expects"), "expects");
    if (member(root, "turns") != nullptr) {
      for (const auto& [item, where] : items(root, "turns", "", kMaxTraceTurns))
        trace.turns.push_back(turn(*item, where));
    } else if (member(root, "steps") != nullptr) {
      trace.turns = cut(steps(root, ""));
    } else {
      note_error(wrong("the trace", "turns or steps", nullptr).error());
    }
    if (error_) return fail(*error_);
    trace.notes = std::move(notes_);
    return trace;
  }

 private:
  enum class Presence { kRequired, kOptional };
  using Items = std::vector<std::pair<const Value*, std::string>>;

  void note_error(Error error) {
    if (!error_) error_ = std::move(error);
  }
  static std::string path(std::string_view where, std::string_view key) {
    return where.empty() ? std::string(key) : fmt::format("{}.{}", where, key);
  }

  std::optional<std::string> text(const Value& value, std::string_view key, std::string_view where,
                                  Presence presence) {
    const Value* found = member(value, key);
    if (found != nullptr && found->as_string() != nullptr) return *found->as_string();
    if (found != nullptr || presence == Presence::kRequired)
      note_error(wrong(path(where, key), "a text", found).error());
    return std::nullopt;
  }
  std::string required(const Value& value, std::string_view key, std::string_view where) {
    return text(value, key, where, Presence::kRequired).value_or("");
  }
  std::optional<std::int64_t> number(const Value& value, std::string_view key, std::string_view where) {
    const Value* found = member(value, key);
    if (found == nullptr) return std::nullopt;
    const std::optional<std::int64_t> count = found->as_int();
    if (!count || *count < 0) {
      note_error(wrong(path(where, key), "a whole number from 0 on", found).error());
      return std::nullopt;
    }
    return count;
  }
  std::vector<std::string> texts(const Value& value, std::string_view key, std::string_view where) {
    std::vector<std::string> out;
    for (const auto& [item, at] : items(value, key, where, kMaxTraceSteps)) {
      if (const std::string* each = item->as_string())
        out.push_back(*each);
      else
        note_error(wrong(at, "a text", item).error());
    }
    return out;
  }
  Items items(const Value& value, std::string_view key, std::string_view where, size_t limit) {
    Items out;
    const Value* found = member(value, key);
    if (found == nullptr) return out;
    const Array* array = found->as_array();
    if (array == nullptr) {
      note_error(wrong(path(where, key), "a list", found).error());
      return out;
    }
    if (array->size() > limit) {
      note_error(
          fail(Code::kTooLarge, "{}: {} entries; at most {} are read", path(where, key), array->size(), limit)
              .error());
      return out;
    }
    for (size_t i = 0; i < array->size(); ++i)
      out.emplace_back(&(*array)[i], fmt::format("{}[{}]", path(where, key), i));
    return out;
  }

  std::vector<TraceDocument> documents(const Value& root, std::string_view key) {
    std::vector<TraceDocument> out;
    for (const auto& [item, where] : items(root, key, "", kMaxTraceDocuments))
      out.push_back({required(*item, "path", where), required(*item, "content", where)});
    return out;
  }

  std::vector<std::pair<std::string, std::string>> settings(const Value* value) {
    std::vector<std::pair<std::string, std::string>> out;
    if (value == nullptr) return out;
    const json::Object* object = value->as_object();
    if (object == nullptr || object->size() > kMaxTraceSettings) {
      note_error(wrong("settings", fmt::format("an object of at most {} members", kMaxTraceSettings), value)
                     .error());
      return out;
    }
    for (const json::Member& each : *object) {
      // What a trace may set is how its own run goes, not where it writes or whom it talks to.
      if (std::none_of(kSettingGroups.begin(), kSettingGroups.end(),
                       [&](std::string_view group) { return each.key.starts_with(group); }))
        note_error(fail(Code::kInvalidArgument, "settings.{}: a trace may set agent.*, limits.* and tools.*",
                        each.key)
                       .error());
      if (each.value.is_object() || each.value.is_array() || each.value.is_null())
        note_error(wrong(path("settings", each.key), "a text, a number or a truth", &each.value).error());
      const std::string* word = each.value.as_string();
      out.emplace_back(each.key, word != nullptr ? *word : json::write(each.value));
    }
    return out;
  }

  std::vector<std::pair<std::string, std::string>> headers(const Value& value, std::string_view where) {
    std::vector<std::pair<std::string, std::string>> out;
    const Value* found = member(value, "headers");
    // A map as well as a list of pairs.
    if (found != nullptr && found->is_object()) {
      for (const json::Member& each : *found->as_object())
        out.emplace_back(each.key, required(*found, each.key, path(where, "headers")));
      return out;
    }
    for (const auto& [item, at] : items(value, "headers", where, kMaxTraceExchanges)) {
      const Array* pair = item->as_array();
      if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string())
        note_error(wrong(at, "a pair of texts", item).error());
      else
        out.emplace_back(*(*pair)[0].as_string(), *(*pair)[1].as_string());
    }
    return out;
  }

  TraceExchange exchange(const Value& value, const std::string& where) {
    static const Value kNothing;
    const Value* request = member(value, "request");
    const Value* response = member(value, "response");
    if (request == nullptr || response == nullptr)
      note_error(wrong(where, "an object with request and response", &value).error());
    if (request == nullptr) request = &kNothing;
    if (response == nullptr) response = &kNothing;
    const std::string asked = path(where, "request");
    const std::string answered = path(where, "response");
    TraceExchange out{.method = required(*request, "method", asked),
                      .url = required(*request, "url", asked),
                      .request_headers = headers(*request, asked),
                      .request_body = text(*request, "body", asked, Presence::kOptional),
                      .response_headers = headers(*response, answered),
                      .response_body = text(*response, "body", answered, Presence::kOptional).value_or("")};
    const std::int64_t status = number(*response, "status", answered).value_or(0);
    if (status < 100 || status > 999)
      note_error(
          fail(Code::kInvalidArgument, "{}.status: expected 100 to 999, not {}", answered, status).error());
    out.status = static_cast<int>(std::clamp<std::int64_t>(status, 0, 999));
    return out;
  }

  Expects expects(const Value* value, const std::string& where) {
    Expects out;
    if (value == nullptr) return out;
    if (!value->is_object()) {
      note_error(wrong(where, "an object", value).error());
      return out;
    }
    out.response_contains = texts(*value, "response_contains", where);
    out.response_not_contains = texts(*value, "response_not_contains", where);
    out.response_matches = text(*value, "response_matches", where, Presence::kOptional);
    if (out.response_matches) {
      if (const Result<Regex> regex = Regex::create(*out.response_matches); !regex)
        note_error(
            fail(Code::kInvalidArgument, "{}.response_matches: {}", where, regex.error().message).error());
    }
    out.tools_used = texts(*value, "tools_used", where);
    out.tools_not_used = texts(*value, "tools_not_used", where);
    if (const Value* all = member(*value, "all_tools_succeeded")) {
      out.all_tools_succeeded = all->as_bool();
      if (!all->is_bool())
        note_error(wrong(path(where, "all_tools_succeeded"), "true or false", all).error());
    }
    out.max_tool_calls = number(*value, "max_tool_calls", where);
    out.min_responses = number(*value, "min_responses", where);
    out.tool_results_contain = results_contain(member(*value, "tool_results_contain"), where);
    out.tools_failed = texts(*value, "tools_failed", where);
    out.state = text(*value, "state", where, Presence::kOptional);
    out.error_contains = text(*value, "error_contains", where, Presence::kOptional);
    out.model_calls = number(*value, "model_calls", where);
    out.requests_contain = texts(*value, "requests_contain", where);
    out.requests_not_contain = texts(*value, "requests_not_contain", where);
    static constexpr std::array<std::string_view, 15> kKnown{"response_contains",
                                                             "response_not_contains",
                                                             "response_matches",
                                                             "tools_used",
                                                             "tools_not_used",
                                                             "all_tools_succeeded",
                                                             "max_tool_calls",
                                                             "min_responses",
                                                             "tool_results_contain",
                                                             "tools_failed",
                                                             "state",
                                                             "error_contains",
                                                             "model_calls",
                                                             "requests_contain",
                                                             "requests_not_contain"};
    for (const json::Member& each : *value->as_object()) {
      if (std::find(kKnown.begin(), kKnown.end(), each.key) == kKnown.end())
        notes_.push_back(fmt::format("{}.{}: not known, so nobody checks it", where, each.key));
    }
    return out;
  }

  std::vector<std::pair<std::string, std::string>> results_contain(const Value* value,
                                                                   const std::string& where) {
    std::vector<std::pair<std::string, std::string>> out;
    if (value == nullptr) return out;
    const std::string at = path(where, "tool_results_contain");
    if (!value->is_object()) {
      note_error(wrong(at, "an object of texts", value).error());
      return out;
    }
    for (const json::Member& each : *value->as_object()) {
      if (each.value.is_array()) {
        for (std::string& one : texts(*value, each.key, at)) out.emplace_back(each.key, std::move(one));
      } else {
        out.emplace_back(each.key, required(*value, each.key, at));
      }
    }
    return out;
  }

  TraceTurn turn(const Value& value, const std::string& where) {
    return {.user_input = required(value, "user_input", where),
            .steps = steps(value, where),
            .expects = expects(member(value, "expects"), path(where, "expects"))};
  }

  std::vector<TraceStep> steps(const Value& value, const std::string& where) {
    std::vector<TraceStep> out;
    for (const auto& [item, at] : items(value, "steps", where, kMaxTraceSteps)) {
      if (++steps_ > kMaxTraceSteps) {
        note_error(fail(Code::kTooLarge, "{}: more than {} steps", at, kMaxTraceSteps).error());
        break;
      }
      out.push_back(step(*item, at));
    }
    return out;
  }

  TraceStep step(const Value& value, const std::string& where) {
    using Kind = TraceStep::Kind;
    TraceStep out;
    if (const Value* hint = member(value, "request_hint")) {
      const std::string at = path(where, "request_hint");
      out.hint = {
          .last_user_message_contains = text(*hint, "last_user_message_contains", at, Presence::kOptional),
          .min_message_count = number(*hint, "min_message_count", at)};
    }
    for (const auto& [item, at] : items(value, "expected_tool_results", where, kMaxTraceSteps))
      out.expected_results.push_back({required(*item, "tool_call_id", at),
                                      text(*item, "name", at, Presence::kOptional).value_or(""),
                                      required(*item, "content", at)});
    const Value* response = member(value, "response");
    const std::string at = path(where, "response");
    if (response == nullptr || !response->is_object()) {
      note_error(wrong(at, "an object", response).error());
      return out;
    }
    const std::string type = required(*response, "type", at);
    if (type == "error") {
      out.kind = Kind::kError;
      out.code = required(*response, "code", at);
      if (!code_from_name(out.code))
        note_error(
            fail(Code::kInvalidArgument, "{}.code: there is no error code '{}'", at, out.code).error());
      out.content = text(*response, "message", at, Presence::kOptional).value_or("");
      out.reason = text(*response, "reason", at, Presence::kOptional).value_or("");
      out.retry_after_ms = number(*response, "retry_after_ms", at);
      return out;
    }
    out.content =
        text(*response, "content", at, type == "tool_calls" ? Presence::kOptional : Presence::kRequired)
            .value_or("");
    if (type == "user_input") {
      out.kind = Kind::kUserInput;
      return out;
    }
    out.input_tokens = number(*response, "input_tokens", at).value_or(0);
    out.output_tokens = number(*response, "output_tokens", at).value_or(0);
    out.finish_reason = text(*response, "finish_reason", at, Presence::kOptional).value_or("");
    if (type == "tool_calls") {
      out.kind = Kind::kToolCalls;
      for (const auto& [item, call] : items(*response, "tool_calls", at, kMaxTraceSteps)) {
        const Value* arguments = item->find("arguments");
        out.calls.push_back({text(*item, "id", call, Presence::kOptional).value_or(""),
                             required(*item, "name", call),
                             arguments != nullptr ? *arguments : Value::object()});
      }
    } else if (type != "text") {
      note_error(fail(Code::kInvalidArgument,
                      "{}.type: expected text, tool_calls, user_input or error, not '{}'", at, type)
                     .error());
    }
    return out;
  }

  // What somebody says after an answer begins the next turn; after calls it joins the one that runs.
  std::vector<TraceTurn> cut(std::vector<TraceStep> all) {
    using Kind = TraceStep::Kind;
    std::vector<TraceTurn> turns;
    for (TraceStep& each : all) {
      const bool runs = !turns.empty() && !turns.back().steps.empty() &&
                        turns.back().steps.back().kind != Kind::kText &&
                        turns.back().steps.back().kind != Kind::kError;
      if (each.kind == Kind::kUserInput && !runs) {
        turns.push_back({.user_input = std::move(each.content)});
        continue;
      }
      if (turns.empty()) {
        if (!each.hint.last_user_message_contains)
          note_error(fail(Code::kInvalidArgument,
                          "steps: nothing says what the person said; add a step of the type user_input, or a "
                          "request_hint")
                         .error());
        turns.push_back({.user_input = each.hint.last_user_message_contains.value_or("")});
      }
      turns.back().steps.push_back(std::move(each));
    }
    return turns;
  }

  std::optional<Error> error_;
  std::vector<std::string> notes_;
  size_t steps_ = 0;
};

}  // namespace

Result<Trace> read_trace(std::string_view text) {
  if (text.size() > kMaxTraceBytes)
    return fail(Code::kTooLarge, "the trace has {} bytes; at most {} are read", text.size(), kMaxTraceBytes);
  const Result<Value> root = json::parse(text);
  if (!root) return fail(root.error());
  // Written, it has turns and lies so much deeper.
  constexpr size_t kDepthOfTurns = 2;
  const bool flat = root->is_object() && member(*root, "turns") == nullptr;
  if (flat && !json::parse(text, kMaxJsonDepth - kDepthOfTurns))
    return fail(Code::kInvalidArgument, "the trace is nested more than {} deep",
                kMaxJsonDepth - kDepthOfTurns);
  return Reader().read(*root);
}

}  // namespace chela::agent::traces
