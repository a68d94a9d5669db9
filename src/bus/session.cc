#include "bus/session.h"

#include <algorithm>

#include "bus/limits.h"

namespace chela::bus {
namespace {

// What every worker needs, whatever it may call.
constexpr std::string_view kInfrastructure[] = {
    "engine::channels::create", "engine::workers::register", "engine::log::info",  "engine::log::warn",
    "engine::log::error",       "engine::log::debug",        "engine::log::trace", "engine::baggage::get",
    "engine::baggage::set",     "engine::baggage::get_all",
};

Result<std::optional<Session::Ids>> ids_of(const json::Value& answer, std::string_view key) {
  const json::Value* found = answer.find(key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  Session::Ids ids;
  const json::Array* list = found->as_array();
  if (list == nullptr || list->size() > kMaxSessionIds)
    return fail(Code::kInvalidArgument, "{} must be a list of {} texts at most", key, kMaxSessionIds);
  for (const json::Value& each : *list) {
    if (each.as_string() == nullptr) return fail(Code::kInvalidArgument, "{} must be a list of texts", key);
    ids.insert(*each.as_string());
  }
  return ids;
}

Result<Session::May> may_of(const json::Value& answer, std::string_view key, Session::May otherwise) {
  const json::Value* found = answer.find(key);
  if (found == nullptr || found->is_null()) return otherwise;
  if (!found->is_bool()) return fail(Code::kInvalidArgument, "{} must be true or false", key);
  return *found->as_bool() ? Session::May::kYes : Session::May::kNo;
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
  // After a star, what follows it is tried at each place; only the last star ever has to be tried again.
  size_t star = std::string_view::npos;
  size_t resume = 0;
  size_t p = 0;
  size_t t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool ExposeRule::covers(std::string_view id, const json::Value& described) const {
  if (!id_pattern.empty()) return matches_pattern(id_pattern, id);
  return !metadata.empty() && std::ranges::all_of(metadata, [&described](const Metadata& wanted) {
    const json::Value* found = described.find(wanted.key);
    if (found == nullptr) return false;
    if (wanted.pattern.empty()) return *found == wanted.value;
    return found->as_string() != nullptr && matches_pattern(wanted.pattern, *found->as_string());
  });
}

Session::Verdict Session::may_call(std::string_view id, const std::function<json::Value()>& metadata) const {
  if (forbidden.contains(id)) return Verdict::kForbidden;
  if (calls == Calls::kAll || allowed.contains(id) ||
      std::ranges::find(kInfrastructure, id) != std::end(kInfrastructure))
    return Verdict::kAllowed;
  json::Value described;
  if (std::ranges::any_of(expose, [](const ExposeRule& rule) { return !rule.metadata.empty(); }))
    described = metadata();
  const bool exposed =
      std::ranges::any_of(expose, [&](const ExposeRule& rule) { return rule.covers(id, described); });
  return exposed ? Verdict::kAllowed : Verdict::kNotListed;
}

std::string Session::prefixed(std::string_view id) const {
  return prefix.empty() ? std::string(id) : fmt::format("{}::{}", prefix, id);
}

Result<Session> Session::from_answer(Session listener, const json::Value& answer) {
  if (!answer.is_object()) return fail(Code::kInvalidArgument, "it must answer with an object");
  Session session = std::move(listener);
  Result<std::optional<Ids>> may = ids_of(answer, "allowed_functions");
  Result<std::optional<Ids>> must_not = ids_of(answer, "forbidden_functions");
  Result<std::optional<Ids>> types = ids_of(answer, "allowed_trigger_types");
  for (const Result<std::optional<Ids>>* each : {&may, &must_not, &types}) {
    if (!*each) return fail(each->error());
  }
  session.allowed = std::move(*may).value_or(Ids());
  session.forbidden = std::move(*must_not).value_or(Ids());
  session.trigger_types = std::move(*types);
  const Result<May> functions = may_of(answer, "allow_function_registration", May::kYes);
  const Result<May> trigger_types = may_of(answer, "allow_trigger_type_registration", May::kNo);
  if (!functions) return fail(functions.error());
  if (!trigger_types) return fail(trigger_types.error());
  session.register_functions = *functions;
  session.register_trigger_types = *trigger_types;
  if (const json::Value* context = answer.find("context"); context != nullptr && !context->is_null())
    session.context = *context;
  if (const json::Value* prefix = answer.find("function_registration_prefix");
      prefix != nullptr && !prefix->is_null()) {
    if (prefix->as_string() == nullptr || prefix->as_string()->size() > kMaxIdBytes / 2)
      return fail(Code::kInvalidArgument, "function_registration_prefix must be a text of {} bytes at most",
                  kMaxIdBytes / 2);
    session.prefix = *prefix->as_string();
  }
  return session;
}

}  // namespace chela::bus
