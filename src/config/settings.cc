#include "config/settings.h"

#include "base/strings.h"
#include "base/time.h"
#include "base/time_zone.h"
#include "config/build_settings.h"
#include "config/values.h"

namespace chela::config {
namespace {

std::chrono::milliseconds duration(const Value& value) {
  return parse_duration(value.text).value_or(std::chrono::milliseconds(0));
}

// What llm.backend names; without it what is configured decides.
NamedBackend backend(const Lookup& value) {
  if (const std::optional<NamedBackend> named = backend_named(value("llm.backend").text)) return *named;
  if (value("llm.base_url").given || value("llm.unix_socket").given)
    return {.backend = LlmBackend::kOpenAiCompatible};
  if (value("openai.api_key").given) return {.backend = LlmBackend::kOpenAi};
  return {.backend = LlmBackend::kLocal};
}

// A model that a person stored is one of the catalog's: it may be of another provider than the one that file or environment configure.
// So is one beside which nobody named a backend.
ModelNaming naming_of(const Lookup& value) {
  const bool chosen =
      value("llm.backend").given || value("llm.base_url").given || value("llm.unix_socket").given;
  const Value model = value("llm.model");
  return model.given && (model.stored || !chosen) ? ModelNaming::kCatalog : ModelNaming::kBackend;
}

Result<std::vector<std::pair<std::string, std::string>>> headers(const Value& value) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& item : list_value(value.text)) {
    const size_t colon = item.find(':');
    if (colon == std::string::npos || colon == 0 || item.find_first_of("\r\n") != std::string::npos) {
      return fail(Code::kInvalidArgument, "llm.extra_headers must be Name:Value,Name:Value");
    }
    out.emplace_back(strings::trim(std::string_view(item).substr(0, colon)),
                     strings::trim(std::string_view(item).substr(colon + 1)));
  }
  return out;
}

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

Result<LlmSettings> llm_settings(const Lookup& value) {
  LlmSettings llm;
  NamedBackend chosen = backend(value);
  llm.backend = chosen.backend;
  llm.provider = std::move(chosen.provider);
  llm.model_naming = naming_of(value);
  llm.model = value("llm.model").text;
  llm.base_url = value("llm.base_url").text;
  llm.api_key = value("llm.api_key").text;
  const auto fill = [&](std::string_view url, std::string_view model) {
    if (llm.base_url.empty()) {
      llm.base_url = value(url).text;
      llm.base_url_key = url;
    }
    if (llm.model.empty()) llm.model = value(model).text;
  };
  switch (llm.backend) {
    case LlmBackend::kOpenAi:
      fill("openai.base_url", "openai.model");
      if (llm.api_key.empty()) llm.api_key = value("openai.api_key").text;
      break;
    case LlmBackend::kOllama:
      fill("ollama.base_url", "ollama.model");
      break;
    case LlmBackend::kLocal:
      if (llm.model.empty()) llm.model = "local/small";
      break;
    case LlmBackend::kProvider:
      break;
    case LlmBackend::kOpenAiCompatible:
      if (llm.base_url.empty() && value("llm.unix_socket").text.empty()) {
        return fail(Code::kInvalidArgument,
                    "llm.backend = openai_compatible needs llm.base_url (LLM_BASE_URL)");
      }
      if (llm.base_url.empty())
        llm.base_url = "http://localhost";  // a socket needs a URL for its path and Host header only
      if (llm.model.empty()) llm.model = "default";
      break;
  }
  if (!llm.base_url.empty() && !llm.base_url.starts_with("http://") &&
      !llm.base_url.starts_with("https://")) {
    return fail(Code::kInvalidArgument, "llm.base_url must begin with http:// or https://, not '{}'",
                llm.base_url);
  }
  llm.base_url = without_slash(llm.base_url);
  llm.unix_socket = value("llm.unix_socket").text;
  auto extra = headers(value("llm.extra_headers"));
  if (!extra) return fail(extra.error());
  llm.extra_headers = std::move(*extra);
  llm.max_retries = static_cast<int>(int_value(value("llm.max_retries").text));
  llm.breaker_threshold = static_cast<int>(int_value(value("llm.circuit_breaker_threshold").text));
  llm.breaker_recovery = duration(value("llm.circuit_breaker_recovery"));
  llm.fallback = list_value(value("llm.fallback").text);
  std::erase(llm.fallback, "");
  if (llm.fallback.size() > kMaxFallbacks)
    return fail(Code::kInvalidArgument, "llm.fallback: {} models; at most {} are taken", llm.fallback.size(),
                kMaxFallbacks);
  llm.failover_threshold = static_cast<int>(int_value(value("llm.failover_threshold").text));
  llm.failover_cooldown = duration(value("llm.failover_cooldown"));
  llm.stall_timeout = duration(value("llm.stall_timeout"));
  llm.cheap_model = value("llm.cheap_model").text;
  llm.cascade = bool_value(value("llm.cascade").text);
  llm.routing = value("llm.routing").text;
  llm.cache = bool_value(value("llm.cache").text);
  llm.cache_ttl = duration(value("llm.cache_ttl"));
  llm.cache_entries = int_value(value("llm.cache_entries").text);
  if (const Value tokens = value("llm.max_tokens"); tokens.given) llm.max_tokens = int_value(tokens.text);
  if (const Value temperature = value("llm.temperature"); temperature.given)
    llm.temperature = number_value(temperature.text);
  return llm;
}

Result<BudgetSettings> budget_settings(const Lookup& value) {
  BudgetSettings budget{.warn_percent = static_cast<int>(int_value(value("budget.warn_percent").text)),
                        .timezone = value("budget.timezone").text};
  if (value("budget.unpriced").text == "refuse") budget.unpriced = BudgetSettings::Unpriced::kRefuse;
  // The data of zones is read from disk: UTC needs none.
  if (budget.timezone != "UTC") {
    if (const auto known = zone_period(0, budget.timezone); !known)
      return fail(Code::kInvalidArgument, "budget.timezone: {}", known.error().message);
  }
  const auto add = [&](std::string_view key, BudgetWindow window, std::int64_t unit) {
    const Value given = value(key);
    if (!given.given || given.text.empty()) return;
    budget.rules.push_back(
        {.window = window, .limit = int_value(given.text) * unit, .key = std::string(key)});
  };
  add("budget.day_cents", BudgetWindow::kDay, kNanoPerCent);
  add("budget.month_cents", BudgetWindow::kMonth, kNanoPerCent);
  add("budget.actions_per_hour", BudgetWindow::kHour, 1);
  for (const std::string& text : list_value(value("budget.limits").text)) {
    Result<BudgetRule> rule = parse_budget_rule(text);
    if (!rule) return fail(Code::kInvalidArgument, "budget.limits: {}", rule.error().message);
    budget.rules.push_back(std::move(*rule));
  }
  if (budget.rules.size() > kMaxBudgetRules)
    return fail(Code::kInvalidArgument, "budget.limits: {} limits; at most {} are taken", budget.rules.size(),
                kMaxBudgetRules);
  return budget;
}

}  // namespace

std::optional<NamedBackend> backend_named(std::string_view text) {
  std::string name = strings::lower(strings::trim(text));
  if (name.empty()) return std::nullopt;
  if (name == "openai" || name == "open_ai") return NamedBackend{.backend = LlmBackend::kOpenAi};
  if (name == "openai_compatible" || name == "openai-compatible" || name == "compatible")
    return NamedBackend{.backend = LlmBackend::kOpenAiCompatible};
  if (name == "ollama") return NamedBackend{.backend = LlmBackend::kOllama};
  if (name == "local") return NamedBackend{.backend = LlmBackend::kLocal};
  return NamedBackend{.backend = LlmBackend::kProvider, .provider = std::move(name)};
}

Result<Settings> build_settings(const Lookup& value) {
  Settings s;
  Result<LlmSettings> llm = llm_settings(value);
  if (!llm) return fail(llm.error());
  s.llm = std::move(*llm);
  s.gateway = {.enabled = bool_value(value("gateway.enabled").text),
               .host = value("gateway.host").text,
               .port = static_cast<std::uint16_t>(int_value(value("gateway.port").text)),
               .auth_token = value("gateway.auth_token").text,
               .user_id = value("gateway.user_id").text};
  s.cli = {.enabled = bool_value(value("cli.enabled").text)};
  s.bus = {.enabled = bool_value(value("bus.enabled").text),
           .host = value("bus.host").text,
           .port = static_cast<std::uint16_t>(int_value(value("bus.port").text)),
           .http_port = static_cast<std::uint16_t>(int_value(value("bus.http_port").text)),
           .stream_port = static_cast<std::uint16_t>(int_value(value("bus.stream_port").text)),
           .call_timeout = duration(value("bus.call_timeout"))};
  s.agent = {.name = value("agent.name").text,
             .max_tool_iterations = static_cast<int>(int_value(value("agent.max_tool_iterations").text)),
             .auto_approve_tools = bool_value(value("agent.auto_approve_tools").text),
             .busy = value("agent.busy").text == "queue" ? WhenBusy::kQueue : WhenBusy::kSteer,
             .context_tokens = int_value(value("agent.context_tokens").text),
             .tool_dispatcher = value("agent.tool_dispatcher").text};
  const auto bytes = [&](std::string_view name) {
    return static_cast<size_t>(bytes_value(value(name).text));
  };
  const auto count = [&](std::string_view name) { return static_cast<size_t>(int_value(value(name).text)); };
  s.limits = {.message_bytes = bytes("limits.message"),
              .body_bytes = bytes("limits.body"),
              .v1_body_bytes = bytes("limits.v1_body"),
              .header_bytes = bytes("limits.headers"),
              .header_timeout = duration(value("limits.header_timeout")),
              .connections = count("limits.connections"),
              .failed_logins = static_cast<int>(int_value(value("limits.failed_logins").text)),
              .event_subscribers = count("limits.event_subscribers")};
  s.log = {.level = log::level_from_name(value("log.level").text).value_or(log::Level::kInfo),
           .file = value("log.file").text};
  if (s.log.file == "off") s.log.file.clear();
  s.secrets = {.master_key = value("secrets.master_key").text};
  s.tools = {.timeout = duration(value("tools.timeout"))};
  s.infer = {.idle = duration(value("infer.idle")),
             .threads = static_cast<int>(int_value(value("infer.threads").text))};
  s.traces = {.record = bool_value(value("traces.record").text),
              .output = value("traces.output").text,
              .model_name = value("traces.model_name").text};
  Result<BudgetSettings> budget = budget_settings(value);
  if (!budget) return fail(std::move(budget.error()));
  s.budget = std::move(*budget);
  return s;
}

}  // namespace chela::config
