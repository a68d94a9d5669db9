#include "llm/wire/thoughts.h"

#include <algorithm>
#include <vector>

#include "llm/wire/provider_data.h"

namespace chela::llm::wire {
namespace {

constexpr std::string_view kTextBytes = "text_bytes";
constexpr std::string_view kCall = "call";

bool has(const Turn& turn, Part::Kind kind) {
  return std::ranges::find(turn.parts, kind, &Part::kind) != turn.parts.end();
}

}  // namespace

json::Value place_of_text(size_t bytes) { return json::Value::object({{std::string(kTextBytes), bytes}}); }

json::Value place_of_call() { return json::Value::object({{std::string(kCall), true}}); }

std::optional<json::Array> blocks_with_thoughts(const Turn& turn, std::string_view protocol,
                                                BlockOf block_of) {
  const std::optional<json::Value> kept = provider_data_of(protocol, turn.provider_data);
  if (!kept || !kept->is_array()) return std::nullopt;
  std::string_view text;
  std::vector<const Part*> calls;
  for (const Part& part : turn.parts) {
    if (part.kind == Part::Kind::kText) text = part.text;
    if (part.kind == Part::Kind::kCall) calls.push_back(&part);
  }
  const bool said = has(turn, Part::Kind::kText);  // else the text was blank and is left out
  json::Array out;
  size_t call = 0;
  for (const json::Value& block : *kept->as_array()) {
    if (block.find(kTextBytes) != nullptr) {
      const std::int64_t bytes = block.int_or(kTextBytes, 0);
      if (!said && bytes > 0) continue;
      if (bytes <= 0 || static_cast<size_t>(bytes) > text.size()) return std::nullopt;
      const std::string_view piece = text.substr(0, static_cast<size_t>(bytes));
      if (!is_blank(piece)) out.push_back(block_of({.text = std::string(piece)}));
      text.remove_prefix(static_cast<size_t>(bytes));
    } else if (block.find(kCall) != nullptr) {
      if (call == calls.size()) return std::nullopt;
      out.push_back(block_of(*calls[call++]));
    } else {
      out.push_back(block);
    }
  }
  if (!text.empty() || call != calls.size()) return std::nullopt;
  return out;
}

bool thoughts_are_there(const Turns& turns, std::string_view protocol, BlockOf block_of) {
  bool there = true;
  for (const Turn& turn : turns.turns) {
    if (turn.role == Role::kUser && !has(turn, Part::Kind::kResult)) there = true;
    if (turn.role == Role::kAssistant && has(turn, Part::Kind::kCall) &&
        !blocks_with_thoughts(turn, protocol, block_of))
      there = false;
  }
  return there;
}

}  // namespace chela::llm::wire
