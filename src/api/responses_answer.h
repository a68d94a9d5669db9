#pragma once

#include "api/answer.h"

namespace chela::api {

// The answers of POST /v1/responses, whole and as events.
class ResponsesFormat final : public AnswerFormat {
 public:
  // What every answer repeats of its request.
  explicit ResponsesFormat(json::Value echoed) : echoed_(std::move(echoed)) {}

  json::Value whole(const AnswerHead& head, const WholeAnswer& answer) const override;
  std::unique_ptr<AnswerWriter> writer(op::EventSink& sink, AnswerHead head) const override;

 private:
  json::Value echoed_;
};

}  // namespace chela::api
