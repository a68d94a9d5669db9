#include "tools/builtin/calc_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace chela::tools::calc {
namespace {

using Arguments = std::vector<Number>;

constexpr long long kMaxRoundDigits = 100;
// Below this the sine of a rounded multiple of pi is only the rounding.
constexpr long double kTrigonometricNoise = 1e-16L;

Result<Number> without_noise(long double value) {
  return Number::approximate(std::fabs(value) < kTrigonometricNoise ? 0 : value);
}

// Halves go away from zero: 2.5 -> 3, -2.5 -> -3.
Result<Number> round_whole(const Number& x) {
  const Number size = x.is_negative() ? x.negated() : x;
  const Result<Number> half = Number(1).divided_by(Number(2));
  const Result<Number> sum = half ? size.plus(*half) : half;
  if (!sum) return sum;
  return x.is_negative() ? sum->floor().negated() : sum->floor();
}

Result<Number> round(const Arguments& a) {
  if (a.size() == 1) return round_whole(a[0]);
  const Result<long long> digits = a[1].small_integer("the number of digits", kMaxRoundDigits);
  if (!digits) return fail(digits.error());
  const Result<Number> scale = Number(10).power(Number(*digits));
  const Result<Number> scaled = scale ? a[0].times(*scale) : scale;
  const Result<Number> rounded = scaled ? round_whole(*scaled) : scaled;
  return rounded ? rounded->divided_by(*scale) : rounded;
}

Result<Number> log(const Arguments& a, long double base) {
  if (a[0].is_zero() || a[0].is_negative())
    return fail(Code::kInvalidArgument, "the logarithm of {} is not defined", a[0].text().substr(0, 40));
  const long double x = a[0].approximation();
  if (base == 10) return Number::approximate(std::log10(x));
  if (base == 2) return Number::approximate(std::log2(x));
  return Number::approximate(std::log(x) / std::log(base));
}

Result<Number> log_any(const Arguments& a) {
  if (a.size() == 1) return log(a, 10);
  const long double base = a[1].approximation();
  if (base <= 0 || base == 1)
    return fail(Code::kInvalidArgument, "{} is no base of a logarithm", a[1].text().substr(0, 40));
  return log(a, base);
}

Result<Number> arc(const Arguments& a, long double (*function)(long double)) {
  if (std::fabs(a[0].approximation()) > 1)
    return fail(Code::kInvalidArgument, "an arc sine or cosine takes -1 to 1, not {}",
                a[0].text().substr(0, 40));
  return Number::approximate(function(a[0].approximation()));
}

struct Function {
  std::string_view name;
  std::size_t least;
  std::size_t most;
  Result<Number> (*call)(const Arguments&);
};

constexpr auto kFunctions = std::to_array<Function>({
    {"abs", 1, 1,
     [](const Arguments& a) -> Result<Number> { return a[0].is_negative() ? a[0].negated() : a[0]; }},
    {"acos", 1, 1, [](const Arguments& a) { return arc(a, std::acos); }},
    {"asin", 1, 1, [](const Arguments& a) { return arc(a, std::asin); }},
    {"atan", 1, 1, [](const Arguments& a) { return Number::approximate(std::atan(a[0].approximation())); }},
    {"ceil", 1, 1, [](const Arguments& a) -> Result<Number> { return a[0].negated().floor().negated(); }},
    {"cos", 1, 1, [](const Arguments& a) { return without_noise(std::cos(a[0].approximation())); }},
    {"exp", 1, 1, [](const Arguments& a) { return Number::approximate(std::exp(a[0].approximation())); }},
    {"factorial", 1, 1, [](const Arguments& a) { return a[0].factorial(); }},
    {"floor", 1, 1, [](const Arguments& a) -> Result<Number> { return a[0].floor(); }},
    {"ln", 1, 1, [](const Arguments& a) { return log(a, std::numbers::e_v<long double>); }},
    {"log", 1, 2, log_any},
    {"log10", 1, 1, [](const Arguments& a) { return log(a, 10); }},
    {"log2", 1, 1, [](const Arguments& a) { return log(a, 2); }},
    {"max", 1, kMaxFunctionArguments,
     [](const Arguments& a) -> Result<Number> {
       return *std::max_element(a.begin(), a.end(),
                                [](const Number& x, const Number& y) { return x.less_than(y); });
     }},
    {"min", 1, kMaxFunctionArguments,
     [](const Arguments& a) -> Result<Number> {
       return *std::min_element(a.begin(), a.end(),
                                [](const Number& x, const Number& y) { return x.less_than(y); });
     }},
    {"mod", 2, 2, [](const Arguments& a) { return a[0].modulo(a[1]); }},
    {"pow", 2, 2, [](const Arguments& a) { return a[0].power(a[1]); }},
    {"round", 1, 2, round},
    {"sin", 1, 1, [](const Arguments& a) { return without_noise(std::sin(a[0].approximation())); }},
    {"sqrt", 1, 1, [](const Arguments& a) { return a[0].square_root(); }},
    {"tan", 1, 1, [](const Arguments& a) { return without_noise(std::tan(a[0].approximation())); }},
});

const Function* find(std::string_view name) {
  const auto found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                  [name](const Function& f) { return f.name == name; });
  return found == kFunctions.end() ? nullptr : &*found;
}

}  // namespace

Result<Number> constant(std::string_view name) {
  if (name == "pi") return Number::approximate(std::numbers::pi_v<long double>);
  if (name == "e") return Number::approximate(std::numbers::e_v<long double>);
  std::string known;
  for (const Function& f : kFunctions) known += fmt::format(" {}", f.name);
  return fail(Code::kInvalidArgument, "'{}' is unknown. Constants: pi e. Functions:{}", name.substr(0, 40),
              known);
}

bool is_function(std::string_view name) { return find(name) != nullptr; }

Result<Number> call_function(std::string_view name, const std::vector<Number>& arguments) {
  const Function* function = find(name);
  if (function == nullptr) return constant(name);
  if (arguments.size() < function->least || arguments.size() > function->most) {
    return fail(Code::kInvalidArgument, "{} takes {}{} values, given {}", name, function->least,
                function->most == function->least ? "" : fmt::format(" to {}", function->most),
                arguments.size());
  }
  return function->call(arguments);
}

}  // namespace chela::tools::calc
