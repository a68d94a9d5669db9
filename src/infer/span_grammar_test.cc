#include "infer/span_grammar.h"

#include <gtest/gtest.h>

#include "infer/limits.h"

namespace chela::infer {
namespace {

TEST(SpanGrammar, OffersRunsOfWords) {
  EXPECT_EQ(span_grammar("in New York?", {"city"}),
            "root ::= \"{\" \"\\\"city\\\":\\\"\" span \"\\\"\" \"}\"\n"
            "span ::= s0 | s1 | s2\n"
            "s0 ::= \"in\" | \"in \" c1\nc0 ::= \"in\" | \"in \" c1\n"
            "s1 ::= \"New\" | \"New \" c2\nc1 ::= \"New\" | \"New \" c2\n"
            "s2 ::= \"York\"\nc2 ::= \"York\"\n");
}

TEST(SpanGrammar, QuotesAndBackslashesAreEscapedForJsonAndGrammar) {
  const auto grammar = span_grammar("say \"hi\" a\\b", {"text"});
  EXPECT_NE(grammar.find("s1 ::= \"hi\" | \"hi\\\\\\\" \" c2"), std::string::npos) << grammar;
  EXPECT_NE(grammar.find("\"a\\\\\\\\b\""), std::string::npos) << grammar;
}

TEST(SpanGrammar, IsEmptyWithoutWordsOrKeys) {
  EXPECT_EQ(span_grammar("  ", {"a"}), "");
  EXPECT_EQ(span_grammar("a b", {}), "");
}

TEST(SpanGrammar, StopsAtTheLimit) {
  std::string text;
  for (std::size_t i = 0; i < kSpanWords + 10; ++i) text += "w ";
  const auto grammar = span_grammar(text, {"a"});
  EXPECT_NE(grammar.find("\ns" + std::to_string(kSpanWords - 1) + " ::="), std::string::npos);
  EXPECT_EQ(grammar.find("\ns" + std::to_string(kSpanWords) + " ::="), std::string::npos);
}

}  // namespace
}  // namespace chela::infer
