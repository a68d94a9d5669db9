// GBNF under which a model can only copy words of the request into a tool's arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chela::infer {

// `root` is a JSON object with exactly these string members in this order; each value is a run of whole words of `request` (quotes
// and punctuation at its ends left out). Words past kSpanWords are not offered. Empty when the request has no words or there are no
// keys.
std::string span_grammar(std::string_view request, const std::vector<std::string>& keys);

// A GBNF literal of the text.
std::string grammar_literal(std::string_view text);

}  // namespace chela::infer
