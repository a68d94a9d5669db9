#include "tools/builtin/calculator.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <optional>

#include "base/strings.h"

namespace chela::tools {
namespace {

std::string value_of(std::string_view expression) {
  const Result<std::string> value = calculate(expression);
  return value ? *value : "error: " + value.error().message;
}

TEST(Calculator, Arithmetic) {
  EXPECT_EQ(value_of("17*23"), "391");
  EXPECT_EQ(value_of(" 2 + 3 * 4 "), "14");
  EXPECT_EQ(value_of("(2 + 3) * 4 ="), "20");
  EXPECT_EQ(value_of("-2^2"), "-4");
  EXPECT_EQ(value_of("2^3^2"), "512");
  EXPECT_EQ(value_of("2**10"), "1024");
  EXPECT_EQ(value_of("2^-1"), "0.5");
  EXPECT_EQ(value_of("10 - 4 - 3"), "3");
  EXPECT_EQ(value_of("100/10/5"), "2");
  EXPECT_EQ(value_of("--5"), "5");
  EXPECT_EQ(value_of("0^0"), "1");
  EXPECT_EQ(value_of("0 * -1"), "0");
}

TEST(Calculator, TheSignsOfMathematics) {
  EXPECT_EQ(value_of("6 × 7"), "42");
  EXPECT_EQ(value_of("84÷2"), "42");
  EXPECT_EQ(value_of("50 − 8"), "42");
  EXPECT_EQ(value_of("2·π - 2*pi"), "0");
}

TEST(Calculator, DecimalsAreExact) {
  EXPECT_EQ(value_of("0.1+0.2"), "0.3");
  EXPECT_EQ(value_of("1/8"), "0.125");
  EXPECT_EQ(value_of("-1/8"), "-0.125");
  EXPECT_EQ(value_of("1/3*3"), "1");
  EXPECT_EQ(value_of("1/3"), "0.3333333333333333");
  EXPECT_EQ(value_of("2/3"), "0.6666666666666667");
  EXPECT_EQ(value_of("250/8"), "31.25");
  EXPECT_EQ(value_of("1e-3 + .5"), "0.501");
  EXPECT_EQ(value_of("0.05*19.99"), "0.9995");
  EXPECT_EQ(value_of("007 + 0.0"), "7");
}

TEST(Calculator, WholeNumbersAreAsLongAsTheyAre) {
  EXPECT_EQ(value_of("2^64"), "18446744073709551616");
  EXPECT_EQ(value_of("99999999999999999999 * 99999999999999999999"),
            "9999999999999999999800000000000000000001");
  EXPECT_EQ(value_of("25!"), "15511210043330985984000000");
  EXPECT_EQ(value_of("2^6000").size(), 1807u);
  EXPECT_EQ(value_of("(-1)^1000001"), "-1");
}

TEST(Calculator, WhatIsTooLongToBeExactIsRounded) {
  EXPECT_EQ(value_of("2^10000"), "1.99506311688076e+3010");
  EXPECT_TRUE(value_of("9^9^9").starts_with("error: the result is too large")) << value_of("9^9^9");
  EXPECT_TRUE(value_of("10^-9999").starts_with("error: the result is too close to zero"));
  EXPECT_TRUE(value_of("1e99999").starts_with("error: the number 1e99999"));
}

TEST(Calculator, RemainderHasTheSignOfTheDivisor) {
  EXPECT_EQ(value_of("17 % 5"), "2");
  EXPECT_EQ(value_of("-7 % 3"), "2");
  EXPECT_EQ(value_of("7 % -3"), "-2");
  EXPECT_EQ(value_of("5.5 % 2"), "1.5");
  EXPECT_EQ(value_of("mod(10, 4)"), "2");
}

TEST(Calculator, Functions) {
  EXPECT_EQ(value_of("sqrt(144)"), "12");
  EXPECT_EQ(value_of("sqrt(1/4)"), "0.5");
  EXPECT_EQ(value_of("sqrt(2)"), "1.4142135623731");
  EXPECT_EQ(value_of("16^0.5"), "4");
  EXPECT_EQ(value_of("4^1.5"), "8");
  EXPECT_EQ(value_of("abs(-3.5)"), "3.5");
  EXPECT_EQ(value_of("round(2.5)"), "3");
  EXPECT_EQ(value_of("round(-2.5)"), "-3");
  EXPECT_EQ(value_of("round(2/3, 2)"), "0.67");
  EXPECT_EQ(value_of("round(1234, -2)"), "1200");
  EXPECT_EQ(value_of("floor(-1.5) + ceil(1.2)"), "0");
  EXPECT_EQ(value_of("min(3, 1, 2) + max(4, 5)"), "6");
  EXPECT_EQ(value_of("log(1000)"), "3");
  EXPECT_EQ(value_of("log10(100)"), "2");
  EXPECT_EQ(value_of("log(8, 2)"), "3");
  EXPECT_EQ(value_of("ln(e)"), "1");
  EXPECT_EQ(value_of("exp(0)"), "1");
  EXPECT_EQ(value_of("sin(pi)"), "0");
  EXPECT_EQ(value_of("cos(pi/3)"), "0.5");
  EXPECT_EQ(value_of("SIN(pi/2)"), "1");
}

TEST(Calculator, SaysWhatIsWrong) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "expected a number at the end"},
      {"2 +", "expected a number at the end"},
      {"2 * / 3", "expected a number at '/ 3'"},
      {"(1 + 2", "expected ')' at the end"},
      {"1 + 2)", "at ')'"},
      {"1,000 + 1", "without thousands separators"},
      {"2 3", "expected an operator"},
      {"1/0", "division by zero"},
      {"5 % 0", "division by zero"},
      {"0^-1", "division by zero"},
      {"sqrt(-1)", "square root of a negative number"},
      {"(-8)^(1/3)", "negative number to a power"},
      {"log(0)", "logarithm of 0"},
      {"asin(2)", "takes -1 to 1"},
      {"sqrt 4", "expected '(' after sqrt"},
      {"sqrt()", "expected a number"},
      {"sqrt(1, 2)", "sqrt takes 1 values, given 2"},
      {"foo(1)", "'foo' is unknown. Constants: pi e. Functions: abs"},
      {"20%", "for percent divide by 100"},
      {"x = 3", "'x' is unknown"},
      {"3 = 3", "no equation"},
      {"(-3)!", "negative number"},
      {"2.5!", "whole number"},
      {"1000!", "at most 700"},
      {".", "expected digits"},
  };
  for (const auto& [expression, message] : cases) {
    EXPECT_TRUE(value_of(expression).starts_with("error: ") && value_of(expression).contains(message))
        << expression << " -> " << value_of(expression);
  }
}

TEST(Calculator, DepthAndLengthAreLimited) {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '(') + "1" + std::string(static_cast<size_t>(depth), ')');
  };
  EXPECT_EQ(value_of(nested(kMaxExpressionDepth - 1)), "1");
  EXPECT_TRUE(value_of(nested(kMaxExpressionDepth)).contains("nested more than 100 deep"));
  EXPECT_TRUE(value_of(std::string(500, '-') + "1").contains("nested more than"));
  EXPECT_TRUE(value_of("2" + std::string(200, '^')).starts_with("error"));
  EXPECT_TRUE(value_of(std::string(kMaxExpressionBytes + 1, '1')).contains("1001 bytes"));
  EXPECT_EQ(value_of(std::string(kMaxExpressionBytes, '1')).size(), kMaxExpressionBytes);
}

// A random expression as text, and its value as a fraction of small integers: nothing when that overflows or divides by zero.
struct Fraction {
  __int128 top;
  __int128 bottom;
};
struct Sample {
  std::string text;
  std::optional<Fraction> value;
};

std::optional<Fraction> reduced(__int128 top, __int128 bottom) {
  if (bottom == 0) return std::nullopt;
  if (bottom < 0) {
    top = -top;
    bottom = -bottom;
  }
  __int128 a = top < 0 ? -top : top;
  __int128 b = bottom;
  while (b != 0) a = std::exchange(b, a % b);
  top /= a;
  bottom /= a;
  constexpr __int128 kSafe = __int128{1} << 60;  // products of two such fractions still fit
  if (top > kSafe || top < -kSafe || bottom > kSafe) return std::nullopt;
  return Fraction{top, bottom};
}

std::optional<Fraction> apply(char sign, const std::optional<Fraction>& a, const std::optional<Fraction>& b) {
  if (!a || !b) return std::nullopt;
  switch (sign) {
    case '+':
      return reduced(a->top * b->bottom + b->top * a->bottom, a->bottom * b->bottom);
    case '-':
      return reduced(a->top * b->bottom - b->top * a->bottom, a->bottom * b->bottom);
    case '*':
      return reduced(a->top * b->top, a->bottom * b->bottom);
    default:
      return reduced(a->top * b->bottom, a->bottom * b->top);
  }
}

Sample random_expression(int depth) {
  if (depth == 0 || *rc::gen::inRange(0, 4) == 0) {
    const int n = *rc::gen::inRange(0, 1000);
    if (*rc::gen::arbitrary<bool>()) return {std::to_string(n), Fraction{n, 1}};
    return {fmt::format("{}.{:02}", n / 100, n % 100), reduced(n, 100)};
  }
  const char sign = *rc::gen::element('+', '-', '*', '/');
  const Sample left = random_expression(depth - 1);
  const Sample right = random_expression(depth - 1);
  Sample out{fmt::format("({} {} {})", left.text, sign, right.text), apply(sign, left.value, right.value)};
  if (*rc::gen::inRange(0, 5) == 0) {
    out.text = "-" + out.text;
    out.text = "(" + out.text + ")";
    if (out.value) out.value->top = -out.value->top;
  }
  return out;
}

TEST(Calculator, AgreesWithAnIndependentEvaluation) {
  rc::check([] {
    const Sample sample = random_expression(4);
    RC_PRE(sample.value.has_value());
    const auto number = [](__int128 i) { return std::to_string(static_cast<long long>(i)); };
    // The difference is exactly zero: the calculator loses nothing in fractions.
    RC_ASSERT(value_of(fmt::format("{} - {}/{}", sample.text, number(sample.value->top),
                                   number(sample.value->bottom))) == "0");
    if (sample.value->bottom == 1) RC_ASSERT(value_of(sample.text) == number(sample.value->top));
  });
}

TEST(Calculator, PrecedenceAgreesWithExplicitParentheses) {
  rc::check([] {
    const auto n = *rc::gen::container<std::vector<int>>(4, rc::gen::inRange(1, 50));
    const auto s = *rc::gen::container<std::vector<char>>(3, rc::gen::element('+', '-', '*', '/'));
    const auto tight = [](char sign) { return sign == '*' || sign == '/'; };
    // Folds the tight operators first, as pupils do it on paper.
    std::vector<std::string> values;
    for (const int i : n) values.push_back(std::to_string(i));
    std::vector<char> signs = s;
    for (const bool first : {true, false}) {
      for (size_t i = 0; i < signs.size();) {
        if (tight(signs[i]) != first) {
          ++i;
          continue;
        }
        values[i] = fmt::format("({}{}{})", values[i], signs[i], values[i + 1]);
        values.erase(values.begin() + static_cast<long>(i) + 1);
        signs.erase(signs.begin() + static_cast<long>(i));
      }
    }
    const std::string bare = fmt::format("{}{}{}{}{}{}{}", n[0], s[0], n[1], s[1], n[2], s[2], n[3]);
    RC_ASSERT(value_of(bare) == value_of(values[0]));
  });
}

TEST(Calculator, AnyTextGivesAValueOrAnError) {
  rc::check([] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("1", "2.5", "0", "e", "pi", "sqrt(", "(", ")", "+", "-", "*", "/", "%",
                                      "^", "!", ",", "1e9", "999999", " ", "\xC3\x97", "x"));
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    const Result<std::string> value = calculate(text);
    if (value)
      RC_ASSERT(!value->empty());
    else
      RC_ASSERT(!value.error().message.empty());
  });
}

}  // namespace
}  // namespace chela::tools
