#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "testing/model_script.h"

// Replies of a script as bytes of OpenAI's protocol.
namespace chela::testing {

struct AnswerForm {
  std::string id;  // "chatcmpl-scripted-1"
  std::string model;
  UnixMs now = 0;
  enum class Usage { kInStream, kNotAsked } usage = Usage::kNotAsked;
  std::int64_t prompt_tokens = 0;  // when the reply does not say
};

// One element an event, "data: ...\n\n" each.
std::vector<std::string> stream_events(const Reply& reply, const AnswerForm& form);
std::string whole_answer(const Reply& reply, const AnswerForm& form);
// The body of a status that is no success.
std::string error_body(const Reply& reply);

// Pieces of `size` bytes that end between characters; size 0: words with the blanks before them.
std::vector<std::string_view> pieces_of(std::string_view text, size_t size);

// A vector of unit length that is the same for the same text and alike for texts that share words.
std::vector<double> embed(std::string_view text, size_t dimensions);

}  // namespace chela::testing
