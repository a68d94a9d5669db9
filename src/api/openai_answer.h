#pragma once

#include "api/answer.h"

namespace chela::api {

// The answers of POST /v1/chat/completions, whole and in chunks.
class OpenAiFormat final : public AnswerFormat {
 public:
  enum class Usage { kLeaveOut, kInclude };  // of streams
  explicit OpenAiFormat(Usage usage) : usage_(usage) {}

  json::Value whole(const AnswerHead& head, const WholeAnswer& answer) const override;
  std::unique_ptr<AnswerWriter> writer(op::EventSink& sink, AnswerHead head) const override;

 private:
  Usage usage_;
};

}  // namespace chela::api
