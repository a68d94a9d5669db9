#pragma once

#include <cstddef>

namespace chela::llm {

inline constexpr int kBreakerProbes =
    2;  // calls that must succeed, one after the other, before all are let through
inline constexpr size_t kMaxCooledModels =
    256;  // whose failures are remembered; then the oldest is forgotten
inline constexpr size_t kMaxTakenOverBytes =
    256 * 1024;  // of a cut answer that another model goes on from; a longer one is begun anew

}  // namespace chela::llm
