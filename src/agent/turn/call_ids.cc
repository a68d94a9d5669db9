#include "agent/turn/call_ids.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "base/strings.h"

namespace chela::agent::turn {
namespace {

// The end of an id has its random part.
std::string short_form(const std::string& turn) {
  std::string signs = strings::replace_all(turn, "-", "");
  if (signs.size() > kMaxTurnPartBytes) signs.erase(0, signs.size() - kMaxTurnPartBytes);
  return signs;
}

void name(const std::string& turn, std::set<std::string>& used, std::vector<llm::ToolCall>& calls) {
  for (llm::ToolCall& call : calls) {
    for (size_t n = used.size();
         call.id.empty() || call.id.size() > kMaxForeignIdBytes || used.contains(call.id); ++n)
      call.id = fmt::format("call_{}_{}", turn, n);
    used.insert(call.id);
  }
}

}  // namespace

void name_new_calls(const std::string& turn, std::set<std::string>& used, std::vector<llm::ToolCall>& calls) {
  name(short_form(turn), used, calls);
}

void name_calls(const std::string& turn, std::set<std::string>& used, std::vector<llm::ToolCall>& calls) {
  name(turn, used, calls);
}

}  // namespace chela::agent::turn
