#pragma once

#include "llm/wire/event_reader.h"

namespace chela::llm::ollama {

// Turns the lines of /api/chat into an answer. Calls come whole, with their arguments as an object.
class StreamReader final : public wire::EventReader {
 public:
  StreamReader(wire::ErrorContext errors, DeltaSink sink)
      : EventReader(std::move(errors), std::move(sink), Framing::kLines) {}

 private:
  Result<> on_event(std::string_view name, const json::Value& event) override;
  Result<> add_message(const json::Value& message);
  Result<> add_call(const json::Value& call);
};

}  // namespace chela::llm::ollama
