#pragma once

#include "agent/engine.h"
#include "base/json.h"

// How the agent engine's values look in our JSON (docs/contracts.md, "Threads, turns, events").
namespace chela::api {

json::Value thread_view(const agent::ThreadInfo& thread);
json::Value usage_view(const llm::Usage& usage);
json::Value turn_view(const agent::HistoryTurn& turn);
// `parameters` is pretty-printed text: clients show it as it is.
json::Value approval_view(const agent::PendingApproval& approval);
json::Value history_view(const agent::History& history);
json::Value accepted_view(const agent::Accepted& accepted);
json::Value outcome_view(const agent::TurnOutcome& outcome);

}  // namespace chela::api
