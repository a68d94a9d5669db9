#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

// Numbers of the calculator: exact fractions as long as they can be, else the machine's longest floating point.
namespace chela::tools::calc {

// Exact values keep numerator and denominator within so many digits; what grows longer becomes approximate.
inline constexpr unsigned kMaxExactDigits = 2000;
// A terminating decimal is written out up to so many digits after the point, else rounded.
inline constexpr unsigned kMaxFractionDigits = 60;

class Number {
 public:
  using Int =
      boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>, boost::multiprecision::et_off>;
  using Fraction = boost::multiprecision::number<boost::multiprecision::cpp_rational_backend,
                                                 boost::multiprecision::et_off>;

  Number() : value_(Fraction(0)) {}
  explicit Number(long long integer) : value_(Fraction(integer)) {}

  // "12", "0.5", ".5", "1e-3": digits only, no sign.
  static Result<Number> parse(std::string_view literal);
  // Fails when the value is infinite or undefined.
  static Result<Number> approximate(long double value);

  bool exact() const { return std::holds_alternative<Fraction>(value_); }
  bool is_zero() const;
  bool is_negative() const;
  long double approximation() const;
  // The value when it is a whole number of at most `limit` in size.
  Result<long long> small_integer(std::string_view what, long long limit) const;

  Result<Number> plus(const Number& other) const;
  Result<Number> minus(const Number& other) const;
  Result<Number> times(const Number& other) const;
  Result<Number> divided_by(const Number& other) const;
  Result<Number> modulo(const Number& other) const;  // has the sign of `other`, as in mathematics
  Result<Number> power(const Number& exponent) const;
  Result<Number> square_root() const;
  Result<Number> factorial() const;
  Number negated() const;
  Number floor() const;
  bool less_than(const Number& other) const;

  // "391", "0.1", "0.3333333333333333" (16 digits), "1.4142135623731" (15 digits when approximate), "2.5e+30".
  std::string text() const;

 private:
  explicit Number(Fraction value) : value_(std::move(value)) {}
  static Result<Number> checked(Fraction value);
  const Fraction& fraction() const { return std::get<Fraction>(value_); }

  std::variant<Fraction, long double> value_;
};

}  // namespace chela::tools::calc
