#include "app/bus_knowledge.h"

#include "memory/recall.h"
#include "obs/log.h"

namespace chela::app {
namespace {

constexpr std::string_view kFunction = "memory::recall";

// A line of a worker, as long as one of our own may be.
std::string line_of(const json::Value& entry) {
  const std::string text = entry.as_string() != nullptr ? *entry.as_string() : entry.string_or("content");
  size_t end = 0;
  for (size_t chars = 0; end < text.size() && chars < memory::kMaxRecallChars; ++chars) {
    ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
  }
  return text.substr(0, end);
}

}  // namespace

Task<std::vector<std::pair<std::string, std::string>>> BusKnowledge::identity(Scope scope) {
  return own_.identity(std::move(scope));
}

Task<std::vector<std::string>> BusKnowledge::recall(Scope scope, std::string text, size_t limit) {
  if (bus_ == nullptr) co_return co_await own_.recall(std::move(scope), std::move(text), limit);
  op::CallContext context{
      .principal = {.realm = scope.realm, .user = scope.user, .permissions = {"memory:read"}},
      .scope = scope,
      .deadline = bus_->clock().steady() + kBusRecallTime};
  if (!bus_->replaced(kFunction, context))
    co_return co_await own_.recall(std::move(scope), std::move(text), limit);
  const Result<json::Value> said = co_await bus_->call_replacement(
      std::move(context), std::string(kFunction),
      json::Value::object({{"agentId", scope.agent}, {"query", text}, {"limit", limit}}));
  const json::Array* entries = said ? said->as_array() : nullptr;
  if (entries == nullptr) {
    log::warn("memory", "a worker's memory::recall gave no list; the own memory is asked",
              {{"error", said ? std::string_view("not an array") : std::string_view(said.error().message)}});
    co_return co_await own_.recall(std::move(scope), std::move(text), limit);
  }
  std::vector<std::string> lines;
  for (const json::Value& entry : *entries) {
    if (lines.size() >= limit) break;
    if (std::string line = line_of(entry); !line.empty()) lines.push_back(std::move(line));
  }
  co_return lines;
}

}  // namespace chela::app
