#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "llm/budget/limits.h"
#include "llm/provider.h"

namespace chela::llm::budget {

// How many tokens a prompt has at most. A token stands for at least one byte of text, whatever the tokenizer, so that bytes are a bound that
// needs none; what a provider has counted of a prompt is one for its beginning from then on: the next call of the same
// conversation, or of the same agent, is bounded by that and the bytes that are new. Where more tokens are reported than that, a server adds
// something of its own (a hidden prompt): as many more count for each prompt of that model from then on. They are taken from what the
// bytes said, not from a bound that held some already, so that calls that were bounded together correct it once. Loop thread only.
class TokenBound {
 public:
  struct Prompt {
    std::int64_t tokens = 0;  // at most
    std::int64_t plain = 0;   // without what the server adds
    std::string model = {};
    // Of the beginning that all conversations of an agent share, and of the whole.
    std::uint64_t head = 0;
    std::uint64_t whole = 0;
    std::size_t head_bytes = 0;
    std::size_t bytes = 0;
  };
  Prompt of(const Request& request) const;
  // What the provider has counted.
  void learn(const Prompt& prompt, std::int64_t input_tokens);

 private:
  struct Known {
    std::int64_t tokens = 0;
    std::size_t bytes = 0;
  };
  void keep(std::uint64_t hash, Known known);

  std::unordered_map<std::uint64_t, Known> known_;
  std::deque<std::uint64_t> order_;                      // oldest first
  std::unordered_map<std::string, std::int64_t> added_;  // by servers, for each model
};

// What text of an answer is about, for one that was cut before its usage came.
std::int64_t estimate_answer_tokens(std::size_t bytes);

}  // namespace chela::llm::budget
