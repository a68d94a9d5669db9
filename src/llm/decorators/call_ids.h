#pragma once

#include <map>
#include <set>
#include <string>

#include "llm/provider.h"
#include "llm/providers.h"

namespace chela::llm {

inline constexpr size_t kMaxPlainCallId = 40;  // what OpenAI's Chat Completions takes; others take more
inline constexpr size_t kNineCallId = 9;       // what Mistral takes, neither more nor less

// Ids of calls for a provider that does not take any text: those of other providers, and ours, are in its conversations too. An id that it
// takes stays as it is; every other one becomes a hash of itself. One id of two answers becomes two, for such providers refuse a repeated
// one. A conversation that only grew keeps the ids that were sent before, so that the provider's cache still knows it.
class CallIdMapping {
 public:
  explicit CallIdMapping(CallIds form) : form_(form) {}

  // Of messages in their order.
  void map(Message& message);

 private:
  std::string announced(const std::string& id);
  std::string free_id(const std::string& id, size_t turn);
  bool takes(const std::string& id) const;

  CallIds form_;
  std::map<std::string, std::string> current_;  // by the call's own id, of its last answer
  std::map<std::string, size_t> times_;         // that an id was announced
  std::set<std::string> used_;                  // what is sent
};

}  // namespace chela::llm
