#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"
#include "llm/wire/turns.h"

namespace chela::llm::wire {

// Signed thoughts have to be sent back as they came and where they were among texts and calls. Provider data of such protocols is a list:
// thoughts whole, of texts and calls only the place.
json::Value place_of_text(size_t bytes);
json::Value place_of_call();

// The blocks of the turn in the order of its provider data, those of texts and calls made by `block_of`. Nothing when it has none of this
// protocol, or such of another answer.
using BlockOf = json::Value (*)(const Part& part);
std::optional<json::Array> blocks_with_thoughts(const Turn& turn, std::string_view protocol,
                                                BlockOf block_of);

// Whether all steps since a person last spoke begin with their thoughts: servers refuse to think on when some are missing (another provider
// made that step, or a client of /v1 sent it).
bool thoughts_are_there(const Turns& turns, std::string_view protocol, BlockOf block_of);

}  // namespace chela::llm::wire
