#pragma once

#include "llm/wire/event_reader.h"

namespace chela::llm::gemini {

// Turns the events of :streamGenerateContent?alt=sse, or the array of them that comes without it, into an answer.
class StreamReader final : public wire::EventReader {
 public:
  StreamReader(wire::ErrorContext errors, DeltaSink sink)
      : EventReader(std::move(errors), std::move(sink), Framing::kEvents) {}

 private:
  Result<> on_event(std::string_view name, const json::Value& event) override;
  Result<> on_document(const json::Value& document) override;
  void complete(Answer& answer) override;

  Result<> add_part(const json::Value& part);
  Result<> add_call(const json::Value& part, const json::Value& function);
  Result<> stop(std::string_view reason);

  json::Array kept_;  // of each call what request_body() sends back
};

}  // namespace chela::llm::gemini
