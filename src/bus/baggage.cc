#include "bus/baggage.h"

#include <fmt/format.h>

#include <charconv>

#include "base/ids.h"
#include "base/strings.h"
#include "net/http.h"

namespace chela::bus {
namespace {

constexpr std::string_view kOurs = "chela.";

struct Entry {
  std::string_view key;
  std::string_view value;  // percent-encoded, without properties
};

Entry entry_of(std::string_view item) {
  const size_t equals = item.find('=');
  if (equals == std::string_view::npos) return {.key = strings::trim(item), .value = {}};
  const std::string_view value = item.substr(equals + 1);
  return {.key = strings::trim(item.substr(0, equals)),
          .value = strings::trim(value.substr(0, value.find(';')))};
}

}  // namespace

std::optional<Scope> scope_in(std::string_view baggage) {
  if (baggage.find(kOurs) == std::string_view::npos) return std::nullopt;
  Scope scope;
  for (const std::string_view item : strings::split(baggage, ',')) {
    const Entry entry = entry_of(item);
    std::string* part = entry.key == "chela.realm"   ? &scope.realm
                        : entry.key == "chela.user"  ? &scope.user
                        : entry.key == "chela.agent" ? &scope.agent
                                                     : nullptr;
    if (part == nullptr) continue;
    std::optional<std::string> decoded = net::percent_decode(entry.value);
    if (!decoded || !is_foreign_id(*decoded)) return std::nullopt;
    *part = std::move(*decoded);
  }
  if (scope.realm.empty() || scope.user.empty()) return std::nullopt;
  return scope;
}

std::optional<std::string> call_in(std::string_view baggage) {
  for (const std::string_view item : strings::split(baggage, ',')) {
    const Entry entry = entry_of(item);
    if (entry.key == "chela.call") return std::string(entry.value);
  }
  return std::nullopt;
}

std::string with_scope(std::string_view baggage, const std::optional<Scope>& scope, std::string_view call) {
  std::string out;
  const auto add = [&out](std::string_view key, std::string_view value) {
    if (!out.empty()) out += ',';
    out += key;
    out += value;
  };
  for (const std::string_view item : strings::split(baggage, ',')) {
    const std::string_view kept = strings::trim(item);
    if (!kept.empty() && !entry_of(item).key.starts_with(kOurs)) add(kept, {});
  }
  if (!scope) return out;
  add("chela.realm=", net::percent_encode(scope->realm));
  add("chela.user=", net::percent_encode(scope->user));
  if (!scope->agent.empty()) add("chela.agent=", net::percent_encode(scope->agent));
  if (!call.empty()) add("chela.call=", call);
  return out;
}

size_t hops_in(std::string_view baggage) {
  for (const std::string_view item : strings::split(baggage, ',')) {
    const Entry entry = entry_of(item);
    size_t hops = 0;
    if (entry.key == "chela.hops" &&
        std::from_chars(entry.value.data(), entry.value.data() + entry.value.size(), hops).ec == std::errc())
      return hops;
  }
  return 0;
}

std::string with_hops(std::string_view baggage, size_t hops) {
  std::string out = with_scope(baggage, std::nullopt);
  if (!out.empty()) out += ',';
  return out + fmt::format("chela.hops={}", hops);
}

}  // namespace chela::bus
