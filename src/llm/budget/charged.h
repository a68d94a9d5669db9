#pragma once

#include "base/error.h"

namespace chela::llm::budget {

// Whether the provider may have worked, and charged, before the call failed: one that answered with a status of HTTP before it said
// anything, or was never reached, has not.
inline bool may_be_charged(const Error& error, bool said) {
  if (said) return true;
  if (!error.detail("status").empty()) return false;
  return error.code == Code::kUpstream || error.code == Code::kTimeout || error.code == Code::kCancelled;
}

}  // namespace chela::llm::budget
