#include "tools/builtin/calc_number.h"

#include <cmath>

#include "base/strings.h"

namespace chela::tools::calc {
namespace {

using Int = Number::Int;
using Fraction = Number::Fraction;

constexpr unsigned kMaxExactBits = kMaxExactDigits * 10 / 3;
constexpr long long kMaxFactorial = 700;  // 700! has 1690 digits

Int top(const Fraction& f) { return boost::multiprecision::numerator(f); }
Int bottom(const Fraction& f) { return boost::multiprecision::denominator(f); }
unsigned bits(const Int& i) {
  return i.is_zero() ? 0
                     : static_cast<unsigned>(boost::multiprecision::msb(boost::multiprecision::abs(i))) + 1;
}
Int power_of(const Int& base, unsigned exponent) { return boost::multiprecision::pow(base, exponent); }

// Greatest integer that is not above the fraction.
Int floor_of(const Fraction& f) {
  const Int n = top(f);
  const Int d = bottom(f);
  const Int q = n / d;  // towards zero
  return n.sign() < 0 && q * d != n ? Int(q - 1) : q;
}

// The root when the integer is a square.
std::optional<Int> exact_root(const Int& i) {
  const Int root = boost::multiprecision::sqrt(i);
  if (root * root != i) return std::nullopt;
  return root;
}

// How often `factor` divides `i`, which loses it.
unsigned take_factor(Int& i, unsigned factor) {
  unsigned count = 0;
  while (i % factor == 0) {
    i /= factor;
    ++count;
  }
  return count;
}

// Digits after the point of a terminating decimal; nothing when it does not terminate within kMaxFractionDigits.
std::optional<unsigned> fraction_digits(const Fraction& f) {
  Int rest = bottom(f);
  if (bits(rest) > kMaxFractionDigits * 4) return std::nullopt;
  const unsigned digits = std::max(take_factor(rest, 2), take_factor(rest, 5));
  if (rest != 1 || digits > kMaxFractionDigits) return std::nullopt;
  return digits;
}

std::string decimal_text(const Fraction& f, unsigned digits) {
  std::string text = Int(boost::multiprecision::abs(top(f)) * (power_of(10, digits) / bottom(f))).str();
  if (digits > 0) {
    if (text.size() <= digits) text.insert(0, digits + 1 - text.size(), '0');
    text.insert(text.size() - digits, 1, '.');
  }
  return top(f).sign() < 0 ? "-" + text : text;
}

}  // namespace

Result<Number> Number::checked(Fraction value) {
  if (bits(top(value)) <= kMaxExactBits && bits(bottom(value)) <= kMaxExactBits)
    return Number(std::move(value));
  return approximate(Number(std::move(value)).approximation());
}

Result<Number> Number::approximate(long double value) {
  if (std::isnan(value)) return fail(Code::kInvalidArgument, "the result is not defined");
  if (std::isinf(value)) return fail(Code::kInvalidArgument, "the result is too large to calculate");
  Number number;
  number.value_ = value;
  return number;
}

Result<Number> Number::parse(std::string_view literal) {
  const size_t e = literal.find_first_of("eE");
  std::string digits(literal.substr(0, e));
  long long exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view text = literal.substr(e + 1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto parsed = strings::parse_int<long long>(text);
    if (!parsed || std::abs(*parsed) > kMaxExactDigits)
      return fail(Code::kInvalidArgument, "the number {} is too large or too small", literal.substr(0, 40));
    exponent = *parsed;
  }
  if (const size_t point = digits.find('.'); point != std::string::npos) {
    exponent -= static_cast<long long>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));  // a leading 0 would mean octal
  const Int whole(digits.empty() ? "0" : digits);
  const Int scale = power_of(10, static_cast<unsigned>(std::abs(exponent)));
  return checked(exponent < 0 ? Fraction(whole, scale) : Fraction(whole * scale));
}

bool Number::is_zero() const { return exact() ? fraction().is_zero() : std::get<long double>(value_) == 0; }
bool Number::is_negative() const {
  return exact() ? fraction().sign() < 0 : std::get<long double>(value_) < 0;
}

long double Number::approximation() const {
  if (!exact()) return std::get<long double>(value_);
  return top(fraction()).convert_to<long double>() / bottom(fraction()).convert_to<long double>();
}

Result<long long> Number::small_integer(std::string_view what, long long limit) const {
  if (exact() && bottom(fraction()) == 1 && boost::multiprecision::abs(top(fraction())) <= limit)
    return top(fraction()).convert_to<long long>();
  return fail(Code::kInvalidArgument, "{} must be a whole number of at most {}, not {}", what, limit,
              text().substr(0, 40));
}

Result<Number> Number::plus(const Number& other) const {
  if (exact() && other.exact()) return checked(fraction() + other.fraction());
  return approximate(approximation() + other.approximation());
}

Result<Number> Number::minus(const Number& other) const { return plus(other.negated()); }

Result<Number> Number::times(const Number& other) const {
  if (exact() && other.exact()) return checked(fraction() * other.fraction());
  return approximate(approximation() * other.approximation());
}

Result<Number> Number::divided_by(const Number& other) const {
  if (other.is_zero()) return fail(Code::kInvalidArgument, "division by zero");
  if (exact() && other.exact()) return checked(fraction() / other.fraction());
  return approximate(approximation() / other.approximation());
}

Result<Number> Number::modulo(const Number& other) const {
  const Result<Number> quotient = divided_by(other);
  if (!quotient) return quotient;
  const Result<Number> whole = quotient->floor().times(other);
  return whole ? minus(*whole) : whole;
}

Result<Number> Number::power(const Number& exponent) const {
  if (is_zero() && exponent.is_negative())
    return fail(Code::kInvalidArgument, "division by zero: 0 to a negative power");
  if (exact() && exponent.exact()) {
    if (bottom(exponent.fraction()) == 2) {  // x^(n/2) is exact when x is a square
      if (const Result<Number> root = square_root(); root && root->exact())
        return root->power(Number(Fraction(top(exponent.fraction()))));
    }
    const Int size = boost::multiprecision::abs(top(exponent.fraction()));
    const unsigned longest = std::max(bits(top(fraction())), bits(bottom(fraction())));
    if (bottom(exponent.fraction()) == 1 && (longest <= 1 || size <= kMaxExactBits / (longest - 1))) {
      // Powers of 0, 1 and -1 have no long results: only whether the exponent is odd matters.
      const unsigned n =
          longest <= 1 ? (size.is_zero() ? 0 : (size % 2 == 0 ? 2 : 1)) : size.convert_to<unsigned>();
      const Fraction raised(power_of(top(fraction()), n), power_of(bottom(fraction()), n));
      return checked(exponent.is_negative() ? Fraction(1) / raised : raised);
    }
  }
  if (is_negative() && !(exponent.exact() && bottom(exponent.fraction()) == 1)) {
    return fail(Code::kInvalidArgument,
                "a negative number to a power that is no whole number is not defined");
  }
  const long double raised = std::pow(approximation(), exponent.approximation());
  if (raised == 0 && !is_zero())
    return fail(Code::kInvalidArgument, "the result is too close to zero to calculate");
  return approximate(raised);
}

Result<Number> Number::square_root() const {
  if (is_negative())
    return fail(Code::kInvalidArgument, "the square root of a negative number is not defined");
  if (exact()) {
    const std::optional<Int> n = exact_root(top(fraction()));
    const std::optional<Int> d = exact_root(bottom(fraction()));
    if (n && d) return Number(Fraction(*n, *d));
  }
  return approximate(std::sqrt(approximation()));
}

Result<Number> Number::factorial() const {
  const Result<long long> n = small_integer("what a factorial is taken of", kMaxFactorial);
  if (!n) return fail(n.error());
  if (*n < 0) return fail(Code::kInvalidArgument, "the factorial of a negative number is not defined");
  Int product = 1;
  for (long long i = 2; i <= *n; ++i) product *= i;
  return Number(Fraction(product));
}

Number Number::negated() const {
  if (exact()) return Number(Fraction(-fraction()));
  Number out;
  out.value_ = -std::get<long double>(value_);
  return out;
}

Number Number::floor() const {
  if (exact()) return Number(Fraction(floor_of(fraction())));
  Number out;
  out.value_ = std::floor(std::get<long double>(value_));
  return out;
}

bool Number::less_than(const Number& other) const {
  return exact() && other.exact() ? fraction() < other.fraction() : approximation() < other.approximation();
}

std::string Number::text() const {
  if (is_zero()) return "0";  // also for a negative zero
  if (!exact()) return fmt::format("{:.15g}", std::get<long double>(value_));
  if (const std::optional<unsigned> digits = fraction_digits(fraction()))
    return decimal_text(fraction(), *digits);
  return fmt::format("{:.16g}", approximation());
}

}  // namespace chela::tools::calc
