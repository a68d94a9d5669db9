#include "infer/arithmetic.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace chela::infer {
namespace {

std::string expression(std::string_view text) {
  const auto found = find_arithmetic(text);
  return found ? found->expression : "";
}

TEST(Arithmetic, DigitsAndSigns) {
  EXPECT_EQ(expression("What is 17*23? Use the calculator."), "17*23");
  EXPECT_EQ(expression("Calculate 3.5 + 4.25"), "3.5+4.25");
  EXPECT_EQ(expression("Please work out (12 + 8) / 5."), "(12+8)/5");
  EXPECT_EQ(expression("1,500 x 12 please"), "1500*12");
  EXPECT_EQ(expression("3x4"), "3*4");
  EXPECT_EQ(expression("2**10"), "2^10");
  EXPECT_EQ(expression("17 % 5"), "17%5");
  EXPECT_EQ(expression("6 \u00d7 7 \u00f7 2"), "6*7/2");
  EXPECT_EQ(expression("-4 - -3"), "-4--3");
  EXPECT_EQ(expression("99*99=?"), "99*99");
}

TEST(Arithmetic, Words) {
  EXPECT_EQ(expression("How much is 250 divided by 8?"), "250/8");
  EXPECT_EQ(expression("seven times eight is what?"), "7*8");
  EXPECT_EQ(expression("three hundred and twenty five plus five"), "325+5");
  EXPECT_EQ(expression("two million three hundred thousand plus one"), "2300000+1");
  std::string hundreds = "one";
  for (int i = 0; i < 100; ++i) hundreds += " hundred";
  EXPECT_EQ(expression(hundreds + " plus 1"), "");
  EXPECT_EQ(expression("2 to the power of 10"), "2^10");
  EXPECT_EQ(expression("What is 15% of 80?"), "15/100*80");
  EXPECT_EQ(expression("20 percent of 350"), "20/100*350");
  EXPECT_EQ(expression("square root of 144"), "sqrt(144)");
  EXPECT_EQ(expression("12 squared plus 1"), "12^2+1");
  EXPECT_EQ(expression("half of 90"), "1/2*90");
  EXPECT_EQ(expression("take 1200 and divide it by 3"), "1200/3");
}

TEST(Arithmetic, VerbsWithLists) {
  EXPECT_EQ(expression("Add 12.5 and 7.5."), "12.5+7.5");
  EXPECT_EQ(expression("the sum of 4, 5 and 6"), "4+5+6");
  EXPECT_EQ(expression("subtract 5 from 20"), "20-5");
  EXPECT_EQ(expression("multiply 6 by 14"), "6*14");
  EXPECT_EQ(expression("split 90 dollars between 4 people"), "90/4");
  EXPECT_EQ(expression("average of 2, 4 and 9"), "(2+4+9)/3");
  EXPECT_EQ(expression("4 tickets at 19 each"), "4*19");
}

TEST(Arithmetic, WhatIsNoExpression) {
  EXPECT_EQ(expression("remember that my dentist is on Friday at 9"), "");
  EXPECT_EQ(expression("how many days between 2026-01-01 and 2026-03-15"), "");
  EXPECT_EQ(expression("the meeting is at 9:30"), "");
  EXPECT_EQ(expression("the password is blue42"), "");
  EXPECT_EQ(expression("5 +"), "");
  EXPECT_EQ(expression("the 3rd of May"), "");
  EXPECT_EQ(expression(""), "");
}

TEST(Arithmetic, CountsTheWordsThatSayMore) {
  EXPECT_EQ(find_arithmetic("What is 17*23? Use the calculator.")->words_left, 0U);
  EXPECT_GE(find_arithmetic("write 2+2 into the file of my sister")->words_left, 3U);
}

TEST(Arithmetic, DeepNestingEnds) {
  EXPECT_EQ(expression(std::string(5000, '(') + "1+1"), "1+1");
  EXPECT_EQ(expression(std::string(5000, '-') + "1+1").substr(0, 1), "-");
}

RC_GTEST_PROP(ArithmeticProperty, AnyTextIsSafeAndGivesOnlyCalculatorCharacters, (const std::string& text)) {
  for (const char c : expression(text)) {
    RC_ASSERT((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
              std::string_view("+-*/^%().,").find(c) != std::string_view::npos);
  }
}

RC_GTEST_PROP(ArithmeticProperty, AWrittenSumIsFound, (unsigned short a, unsigned short b)) {
  RC_ASSERT(expression("how much is " + std::to_string(a) + " plus " + std::to_string(b)) ==
            std::to_string(a) + "+" + std::to_string(b));
}

}  // namespace
}  // namespace chela::infer
