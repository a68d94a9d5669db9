#include "agent/turn/call_ids.h"

#include <fmt/format.h>

#include "base/limits.h"

namespace chela::agent::turn {

void name_calls(const std::string& turn, std::set<std::string>& used, std::vector<llm::ToolCall>& calls) {
  for (llm::ToolCall& call : calls) {
    for (size_t n = used.size();
         call.id.empty() || call.id.size() > kMaxForeignIdBytes || used.contains(call.id); ++n)
      call.id = fmt::format("call_{}_{}", turn, n);
    used.insert(call.id);
  }
}

}  // namespace chela::agent::turn
