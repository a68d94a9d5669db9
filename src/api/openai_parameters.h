#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "llm/provider.h"

// The fields of POST /v1/chat/completions that say how an answer is to be made.
namespace chela::api {

// The longest answer that may be asked for, in tokens: as of llm.max_tokens.
inline constexpr std::int64_t kMaxAskedTokens = 10'000'000;

// Sampling and tool choice. kInvalidArgument with detail "param" naming the field.
Result<> read_parameters(const json::Value& body, llm::Request& out);
// Whether read_parameters() has read the field.
bool is_parameter(std::string_view field);

// True, false or (absent, null) false.
Result<bool> read_flag(const json::Value& body, std::string_view key, std::string_view param);

// Refuses what an agent's answer cannot have: its text may come from several model calls, which have no one logprobs or audio.
Result<> check_for_agent(const llm::Request& request);

}  // namespace chela::api
