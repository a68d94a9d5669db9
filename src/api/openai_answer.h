#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "llm/provider.h"
#include "op/operation.h"

// The answers of POST /v1/chat/completions, whole and in chunks.
namespace chela::api {

// What all parts of one answer share.
struct AnswerHead {
  std::string id;            // "chatcmpl-..."
  std::int64_t created = 0;  // seconds
  std::string model;         // as the client named it, or the one that answered
};

// The end of an answer.
struct AnswerEnd {
  llm::FinishReason reason = llm::FinishReason::kStop;
  llm::Usage usage = {};
  std::optional<json::Value> approval = std::nullopt;  // a call that waits for a person
};

json::Value completion(const AnswerHead& head, const std::string& text, const std::string& reasoning,
                       const std::vector<llm::ToolCall>& calls, const AnswerEnd& end);

// Writes an answer as chunks. The stream begins with the first of them; until then an error can still be an HTTP status. A failed write
// is kept and stops all later ones.
class ChunkWriter {
 public:
  enum class Usage { kLeaveOut, kInclude };
  ChunkWriter(op::EventSink& sink, AnswerHead head, Usage usage)
      : sink_(sink), head_(std::move(head)), usage_(usage) {}

  void text(std::string_view text);
  void reasoning(std::string_view text);
  void tool_calls(const std::vector<llm::ToolCall>& calls);
  // The last chunks: finish reason, usage if it was asked for, [DONE].
  void finish(const AnswerEnd& end);

  bool begun() const { return begun_; }
  const Result<>& state() const { return state_; }

 private:
  void delta(json::Object fields);
  json::Value chunk(json::Value delta, json::Value finish_reason) const;
  void send(std::string data);

  op::EventSink& sink_;
  AnswerHead head_;
  Usage usage_;
  bool begun_ = false;
  Result<> state_ = {};
};

}  // namespace chela::api
