#pragma once

#include <string>
#include <vector>

#include "llm/wire/event_reader.h"

namespace chela::llm::anthropic {

// Turns the events of /v1/messages, or a whole message, into an answer.
class StreamReader final : public wire::EventReader {
 public:
  StreamReader(wire::ErrorContext errors, DeltaSink sink)
      : EventReader(std::move(errors), std::move(sink), Framing::kEvents) {}

 private:
  // A content block, in the order in which they came: of thoughts all, of others what tells them apart.
  struct Block {
    std::int64_t index = 0;
    std::string type;
    json::Value content;        // of thoughts, but for their text and signature
    std::string thinking = {};  // and these two, which come in pieces
    std::string signature = {};
    size_t text_bytes = 0;  // of a text
  };

  Result<> on_event(std::string_view name, const json::Value& event) override;
  Result<> on_document(const json::Value& message) override;
  void complete(Answer& answer) override;

  Result<> begin_message(const json::Value& message);
  Result<> begin_block(std::int64_t index, const json::Value& block);
  Result<> add_to_block(std::int64_t index, const json::Value& delta);
  Result<> add_thoughts(Block& block, std::string_view thinking, std::string_view signature);
  void add_usage(const json::Value& usage);
  void stop(std::string_view reason);
  Block* block_at(std::int64_t index);

  std::vector<Block> blocks_;
};

}  // namespace chela::llm::anthropic
