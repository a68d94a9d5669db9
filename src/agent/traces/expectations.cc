#include "agent/traces/expectations.h"

#include <algorithm>

#include "agent/traces/limits.h"
#include "agent/traces/templates.h"
#include "base/regex.h"
#include "base/strings.h"
#include "base/utf8.h"

namespace chela::agent::traces {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool contains_in_any_case(const std::vector<std::string>& texts, std::string_view part) {
  const std::string wanted = strings::lower(part);
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& each) { return contains(strings::lower(each), wanted); });
}

bool any_contains(const std::vector<std::string>& texts, std::string_view part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& each) { return contains(each, part); });
}

bool any_matches(const std::vector<std::string>& texts, const std::string& pattern) {
  const Result<Regex> regex = Regex::create(pattern);
  return regex && std::any_of(texts.begin(), texts.end(),
                              [&](const std::string& each) { return regex->found_in(each); });
}

bool has_name(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Each once, in the order of their first call.
std::vector<std::string> names_of(const Observed& observed, bool (*wanted)(const ObservedCall&)) {
  std::vector<std::string> names;
  for (const ObservedCall& each : observed.calls) {
    if (wanted(each) && !has_name(names, each.name)) names.push_back(each.name);
  }
  return names;
}

std::vector<std::string> used_names(const Observed& observed) {
  return names_of(observed, [](const ObservedCall&) { return true; });
}
std::vector<std::string> failed_names(const Observed& observed) {
  return names_of(observed, [](const ObservedCall& call) { return call.is_error; });
}

bool result_contains(const Observed& observed, std::string_view tool, std::string_view part) {
  return std::any_of(observed.calls.begin(), observed.calls.end(), [&](const ObservedCall& each) {
    return each.name == tool && contains(each.text, part);
  });
}

std::string quoted(std::string_view text) {
  const std::string_view shown = utf8::prefix(text, kMaxQuotedBytes);
  return fmt::format("'{}{}'", shown, shown.size() < text.size() ? "..." : "");
}

std::string quoted(const std::vector<std::string>& texts) {
  if (texts.empty()) return "none";
  return quoted(strings::join(texts, "', '"));
}

// The beginning of a text, at a word's end, for an expectation of it.
std::string head_of(std::string_view text) {
  text = strings::trim(text);
  std::string_view head = utf8::prefix(text, kMaxTraceReplyBytes);
  const size_t space = head.find_last_of(" \n");
  if (head.size() < text.size() && space != std::string_view::npos && space > 0) head = head.substr(0, space);
  return std::string(strings::trim(head));
}

std::string results_of(const Observed& observed, std::string_view tool) {
  std::vector<std::string> texts;
  for (const ObservedCall& each : observed.calls) {
    if (each.name == tool) texts.push_back(each.text);
  }
  return quoted(texts);
}

// Takes out what does not hold; true when something went.
template <class Holds>
bool keep(std::vector<std::string>& list, const Holds& holds) {
  return std::erase_if(list, [&](const std::string& each) { return !holds(each); }) > 0;
}

void add_head(std::vector<std::string>& list, const Observed& observed) {
  if (observed.responses.empty()) return;
  std::string head = head_of(observed.responses.back());
  if (!head.empty() && !has_name(list, head)) list.push_back(std::move(head));
}

}  // namespace

void Observed::add(const Observed& later) {
  responses.insert(responses.end(), later.responses.begin(), later.responses.end());
  calls.insert(calls.end(), later.calls.begin(), later.calls.end());
  requests.insert(requests.end(), later.requests.begin(), later.requests.end());
  state = later.state;
  if (!later.error.empty()) error += (error.empty() ? "" : "\n") + later.error;
  model_calls += later.model_calls;
}

std::vector<Unmet> unmet(const Expects& expects, const Observed& observed) {
  std::vector<Unmet> out;
  const auto add = [&out](std::string_view expectation, std::string message) {
    out.push_back({std::string(expectation), std::move(message)});
  };
  const std::vector<std::string> used = used_names(observed);
  const std::vector<std::string> failed = failed_names(observed);
  for (const std::string& each : expects.response_contains) {
    if (!contains_in_any_case(observed.responses, each))
      add("response_contains",
          fmt::format("no response holds {}; there are {}", quoted(each), quoted(observed.responses)));
  }
  for (const std::string& each : expects.response_not_contains) {
    if (contains_in_any_case(observed.responses, each))
      add("response_not_contains", fmt::format("a response holds {}", quoted(each)));
  }
  if (expects.response_matches && !any_matches(observed.responses, *expects.response_matches))
    add("response_matches", fmt::format("no response matches {}; there are {}",
                                        quoted(*expects.response_matches), quoted(observed.responses)));
  for (const std::string& each : expects.tools_used) {
    if (!has_name(used, each))
      add("tools_used", fmt::format("{} was not called; called were {}", each, quoted(used)));
  }
  for (const std::string& each : expects.tools_not_used) {
    if (has_name(used, each)) add("tools_not_used", fmt::format("{} was called", each));
  }
  if (expects.all_tools_succeeded.value_or(false) && !failed.empty())
    add("all_tools_succeeded",
        fmt::format("{} failed: {}", failed.front(), results_of(observed, failed.front())));
  const auto calls = static_cast<std::int64_t>(observed.calls.size());
  if (expects.max_tool_calls && calls > *expects.max_tool_calls)
    add("max_tool_calls", fmt::format("{} calls; at most {} were expected", calls, *expects.max_tool_calls));
  const auto responses = static_cast<std::int64_t>(observed.responses.size());
  if (expects.min_responses && responses < *expects.min_responses)
    add("min_responses",
        fmt::format("{} responses; at least {} were expected", responses, *expects.min_responses));
  for (const auto& [tool, text] : expects.tool_results_contain) {
    if (!result_contains(observed, tool, text))
      add("tool_results_contain", fmt::format("no result of {} holds {}; there are {}", tool, quoted(text),
                                              results_of(observed, tool)));
  }
  for (const std::string& each : expects.tools_failed) {
    if (!has_name(failed, each))
      add("tools_failed", fmt::format("{} did not fail; failed have {}", each, quoted(failed)));
  }
  if (expects.state && *expects.state != observed.state)
    add("state", fmt::format("the turn is {}, not {}{}{}", observed.state, *expects.state,
                             observed.error.empty() ? "" : ": ", observed.error));
  if (expects.error_contains && !contains(observed.error, *expects.error_contains))
    add("error_contains", fmt::format("the error does not hold {}; it is {}", quoted(*expects.error_contains),
                                      quoted(observed.error)));
  if (expects.model_calls && *expects.model_calls != observed.model_calls)
    add("model_calls", fmt::format("{} model calls, not {}", observed.model_calls, *expects.model_calls));
  for (const std::string& each : expects.requests_contain) {
    if (!any_contains(observed.requests, each))
      add("requests_contain", fmt::format("the model was not sent {}", quoted(each)));
  }
  for (const std::string& each : expects.requests_not_contain) {
    if (any_contains(observed.requests, each))
      add("requests_not_contain", fmt::format("the model was sent {}", quoted(each)));
  }
  return out;
}

Expects rewritten(const Expects& expects, const Observed& observed) {
  Expects out = expects;
  const std::vector<std::string> used = used_names(observed);
  const std::vector<std::string> failed = failed_names(observed);
  bool reply_changed = keep(out.response_contains, [&](const std::string& each) {
    return contains_in_any_case(observed.responses, each);
  });
  keep(out.response_not_contains,
       [&](const std::string& each) { return !contains_in_any_case(observed.responses, each); });
  if (out.response_matches && !any_matches(observed.responses, *out.response_matches)) {
    out.response_matches.reset();
    reply_changed = true;
  }
  if (reply_changed) add_head(out.response_contains, observed);
  if (keep(out.tools_used, [&](const std::string& each) { return has_name(used, each); }))
    out.tools_used = used;
  keep(out.tools_not_used, [&](const std::string& each) { return !has_name(used, each); });
  const bool failed_now = out.all_tools_succeeded.value_or(false) && !failed.empty();
  if (failed_now) out.all_tools_succeeded.reset();
  if (keep(out.tools_failed, [&](const std::string& each) { return has_name(failed, each); }) || failed_now)
    out.tools_failed = failed;
  const auto calls = static_cast<std::int64_t>(observed.calls.size());
  if (out.max_tool_calls) out.max_tool_calls = std::max(*out.max_tool_calls, calls);
  if (out.min_responses)
    out.min_responses = std::min(*out.min_responses, static_cast<std::int64_t>(observed.responses.size()));
  std::vector<std::pair<std::string, std::string>> results;
  for (const auto& [tool, text] : expects.tool_results_contain) {
    const auto call = std::find_if(observed.calls.begin(), observed.calls.end(),
                                   [&tool](const ObservedCall& each) { return each.name == tool; });
    if (call == observed.calls.end()) continue;
    std::pair<std::string, std::string> now(
        tool, result_contains(observed, tool, text) ? text : head_of(without_frame(call->text)));
    if (std::find(results.begin(), results.end(), now) == results.end()) results.push_back(std::move(now));
  }
  out.tool_results_contain = std::move(results);
  if (out.state) out.state = observed.state;
  if (out.error_contains && !contains(observed.error, *out.error_contains)) {
    out.error_contains = head_of(observed.error);
    if (out.error_contains->empty()) out.error_contains.reset();
  }
  if (out.model_calls) out.model_calls = observed.model_calls;
  keep(out.requests_contain, [&](const std::string& each) { return any_contains(observed.requests, each); });
  keep(out.requests_not_contain,
       [&](const std::string& each) { return !any_contains(observed.requests, each); });
  return out;
}

Expects described(const Observed& observed) {
  Expects out;
  add_head(out.response_contains, observed);
  out.tools_used = used_names(observed);
  out.tools_failed = failed_names(observed);
  if (!observed.calls.empty()) {
    if (out.tools_failed.empty()) out.all_tools_succeeded = true;
    out.max_tool_calls = static_cast<std::int64_t>(observed.calls.size());
  }
  if (observed.state != "completed") out.state = observed.state;
  if (std::string head = head_of(observed.error); !head.empty()) out.error_contains = std::move(head);
  return out;
}

}  // namespace chela::agent::traces
