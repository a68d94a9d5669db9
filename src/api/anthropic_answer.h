#pragma once

#include "api/answer.h"

namespace chela::api {

// The answers of POST /v1/messages, whole and as Anthropic's events. Thinking carries no signature: it need not come back.
class AnthropicFormat final : public AnswerFormat {
 public:
  json::Value whole(const AnswerHead& head, const WholeAnswer& answer) const override;
  std::unique_ptr<AnswerWriter> writer(op::EventSink& sink, AnswerHead head) const override;
};

}  // namespace chela::api
