#pragma once

#include <string>
#include <vector>

#include "llm/bedrock/event_stream.h"
#include "llm/wire/event_reader.h"

namespace chela::llm::bedrock {

// Turns the event stream of ConverseStream into an answer.
class StreamReader final : public wire::EventReader {
 public:
  StreamReader(wire::ErrorContext errors, DeltaSink sink)
      : EventReader(std::move(errors), std::move(sink), Framing::kLines) {}

  Result<> feed(std::string_view bytes) override;

 private:
  // A content block, in the order in which they came.
  struct Block {
    std::int64_t index = 0;
    enum class Kind { kText, kCall, kThought, kHidden } kind = Kind::kText;
    std::string text = {};  // of a thought; or the hidden one
    std::string signature = {};
    size_t bytes = 0;  // of a text
  };

  Result<> on_event(std::string_view name, const json::Value& event) override;
  void complete(Answer& answer) override;

  Result<> on_frame(const Frame& frame);
  Result<> on_delta(std::int64_t index, const json::Value& delta);
  Result<> on_reasoning(std::int64_t index, const json::Value& reasoning);
  Result<Block*> block_at(std::int64_t index, Block::Kind kind);

  FrameParser frames_;
  std::vector<Block> blocks_;
};

}  // namespace chela::llm::bedrock
