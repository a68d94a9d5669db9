#pragma once

#include "llm/wire/event_reader.h"

namespace chela::llm::responses {

// Turns the events of /responses, or a whole response, into an answer.
class StreamReader final : public wire::EventReader {
 public:
  StreamReader(wire::ErrorContext errors, DeltaSink sink)
      : EventReader(std::move(errors), std::move(sink), Framing::kEvents) {}

 private:
  Result<> on_event(std::string_view name, const json::Value& event) override;
  Result<> on_document(const json::Value& response) override;
  void complete(Answer& answer) override;

  Result<> add_whole_item(std::int64_t index, const json::Value& item);
  Result<> end_item(std::int64_t index, const json::Value& item);
  Result<> end_response(const json::Value& response);

  json::Array thoughts_;  // encrypted, to be sent back
};

}  // namespace chela::llm::responses
