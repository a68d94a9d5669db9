#pragma once

#include <functional>
#include <optional>
#include <string>

#include "llm/provider.h"
#include "llm/routing/decision.h"
#include "obs/metrics.h"
#include "runtime/event_loop.h"

namespace chela::llm::routing {

// What the settings say of it, as they are now.
struct Rules {
  std::string cheap_model = {};  // "": everything goes to the default model
  Method method = Method::kScore;
  bool cascade = true;  // a moderate message is tried with the cheap model first
};

// What becomes of one request.
struct Plan {
  enum class Use { kPrimary, kCheap, kCheapOnTrial };
  Use use = Use::kPrimary;
  std::string model;  // that is asked first
  Decision decision = {};
  std::string reason = {};  // for people
};
std::string_view use_name(Plan::Use use);  // "primary", "cheap", "cheap_on_trial"

// The last thing that a person said in the request, "" when nobody did.
std::string_view asked_text(const Request& request);

// Pure. `request.model` is the default model. A request with tools goes to it unless a person's own hint says flash or standard: with tools
// a "yes" may be the word that begins the work, and an agent's long prompt is in the default model's cache.
Plan plan_for(const Request& request, const Rules& rules);

}  // namespace chela::llm::routing
