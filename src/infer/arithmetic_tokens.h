// The lexer of arithmetic.cc: words, digits and signs as tokens of a sum.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chela::infer {

struct ArithmeticToken {
  enum class Kind { kNumber, kOperator, kPostfix, kFunction, kPrefix, kOpen, kClose, kComma, kWord };
  Kind kind = Kind::kWord;
  std::string text;  // as it stands in the expression: "+", "/100", "sqrt", "2*"; a word is lower case
};

// "seven times eight" and "7*8" give the same tokens.
std::vector<ArithmeticToken> arithmetic_tokens(std::string_view text);

}  // namespace chela::infer
