// The seam between answering and the language model: tests put a fake here.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "infer/chat_request.h"
#include "infer/openai_json.h"

namespace chela::infer {

struct Turn {
  Role role = Role::kUser;
  std::string text;

  bool operator==(const Turn&) const = default;
};

// Called with whole characters as they are generated.
using TextSink = std::function<void(std::string_view)>;

struct Generation {
  Sampling sampling;    // max_tokens is set
  std::string grammar;  // GBNF with the rule `root`, or empty
};

// One conversation's cache at a time: what a prompt shares with the one before is not computed again. Lives on the inference thread.
class ChatModel {
 public:
  virtual ~ChatModel() = default;
  // Tokens of the rendered prompt. kUnsupported when the file has no chat template that libllama knows.
  virtual Result<std::size_t> prompt_tokens(std::span<const Turn> turns) const = 0;
  virtual std::size_t context_tokens() const = 0;
  // Ends within one token after a stop request (kCancelled), at max_tokens (Finish::kLength) or when the model is done.
  // Errors besides: kInvalidArgument with detail code = context_length_exceeded; kUnsupported as above.
  virtual Result<Answer> generate(std::span<const Turn> turns, const Generation& generation,
                                  const TextSink& sink, std::stop_token stop) = 0;
};

}  // namespace chela::infer
