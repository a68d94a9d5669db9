#include "llm/backends/provider_setup.h"

#include "base/strings.h"

namespace chela::llm {
namespace {

// A secret may have the variable's name, or that in small letters.
std::string in_vault_as(const ProviderEntry& entry, const ProviderKeys& keys) {
  for (const std::string& name : entry.key_env) {
    for (const std::string& each : {strings::lower(name), name}) {
      if (keys.in_vault(each)) return each;
    }
  }
  return {};
}

std::string first_set(const std::vector<std::string>& names, const ProviderKeys& keys) {
  for (const std::string& each : names) {
    if (std::string value = keys.variable(each); !value.empty()) return value;
  }
  return {};
}

Error unset(const ProviderEntry& entry, const Error& why) {
  Error error = why;
  error.message = fmt::format("{} cannot be reached: {}", entry.name, why.message);
  return error;
}

}  // namespace

Result<std::string> filled(std::string_view text, const ProviderKeys& keys) {
  std::string out;
  while (true) {
    const size_t open = text.find('{');
    const size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) return out += text;
    const std::string_view name = text.substr(open + 1, close - open - 1);
    const std::string value = keys.variable(name);
    if (value.empty())
      return fail(
          Error{.code = Code::kUnavailable,
                .message = fmt::format("{} is not set. Next step: set it in the environment of chela", name)}
              .with("reason", "address_missing")
              .with("retry", "no"));
    out += text.substr(0, open);
    out += value;
    text.remove_prefix(close + 1);
  }
}

bool has_key(const ProviderEntry& entry, const ProviderKeys& keys) {
  return !first_set(entry.key_env, keys).empty() || !in_vault_as(entry, keys).empty();
}

bool is_usable(const ProviderEntry& entry, const ProviderKeys& keys) {
  return entry.key == KeyNeed::kOptional || has_key(entry, keys);
}

Error key_missing(const ProviderEntry& entry) {
  const std::string& variable = entry.key_env.front();
  return Error{.code = Code::kUnavailable,
               .message = fmt::format(
                   "there is no key of {}. Next step: `chela secret set {}`, or start chela with {}",
                   entry.name, strings::lower(variable), variable)}
      .with("reason", "key_missing")
      .with("retry", "no");
}

std::string default_model_of(const ProviderEntry& entry, const ProviderKeys& keys) {
  if (std::string named = first_set(entry.model_env, keys); !named.empty()) return named;
  return filled(entry.default_model, keys).value_or("");
}

Task<Result<ProviderSetup>> set_up(ProviderEntry entry, ProviderWishes wishes, ProviderKeys& keys) {
  ProviderSetup setup{.base_url = std::move(wishes.base_url),
                      .address_key = std::move(wishes.address_key),
                      .unix_socket = std::move(wishes.unix_socket),
                      .api_key = std::move(wishes.api_key),
                      .extra_headers = std::move(wishes.extra_headers),
                      .stall_timeout = wishes.stall_timeout,
                      .variable = [&keys](std::string_view name) { return keys.variable(name); }};
  for (const std::string& name : entry.base_url_env) {
    if (!setup.base_url.empty()) break;
    setup.base_url = keys.variable(name);
    if (!setup.base_url.empty()) setup.address_key = name;
  }
  if (setup.base_url.empty()) {
    Result<std::string> url = filled(entry.base_url, keys);
    if (!url) co_return fail(unset(entry, url.error()));
    setup.base_url = std::move(*url);
    setup.address_key = fmt::format("providers.{}.base_url", entry.id);
  }
  if (setup.api_key.empty()) setup.api_key = first_set(entry.key_env, keys);
  const std::string secret = setup.api_key.empty() ? in_vault_as(entry, keys) : std::string();
  if (!secret.empty()) {
    Result<std::string> value = co_await keys.from_vault(secret);
    if (!value) co_return fail(std::move(value.error()));
    setup.api_key = std::move(*value);
  }
  if (setup.api_key.empty() && entry.key == KeyNeed::kRequired) co_return fail(key_missing(entry));
  co_return setup;
}

}  // namespace chela::llm
