#include "base/regex.h"

#include <re2/re2.h>

#include "base/check.h"

namespace chela {
namespace {

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct Regex::Impl {
  Impl(std::string_view pattern, const re2::RE2::Options& options) : compiled(piece(pattern), options) {}
  re2::RE2 compiled;
};

Regex::Regex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::create(std::string_view pattern, Case sensitivity) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_case_sensitive(sensitivity == Case::kSensitive);
  auto impl = std::make_unique<Impl>(pattern, options);
  if (!impl->compiled.ok()) {
    return fail(Code::kInvalidArgument, "regular expression \"{}\": {}", pattern, impl->compiled.error());
  }
  return Regex(std::move(impl));
}

Regex Regex::literal(std::string_view pattern, Case sensitivity) {
  auto regex = create(pattern, sensitivity);
  CHELA_CHECK(regex.has_value(), regex.error().message);
  return *std::move(regex);
}

bool Regex::found_in(std::string_view text) const {
  return re2::RE2::PartialMatch(piece(text), impl_->compiled);
}

std::optional<std::vector<std::string_view>> Regex::match(std::string_view text) const {
  std::vector<re2::StringPiece> groups(static_cast<size_t>(impl_->compiled.NumberOfCapturingGroups()) + 1);
  if (!impl_->compiled.Match(piece(text), 0, text.size(), re2::RE2::UNANCHORED, groups.data(),
                             static_cast<int>(groups.size()))) {
    return std::nullopt;
  }
  std::vector<std::string_view> found;
  found.reserve(groups.size());
  for (const auto& group : groups) found.emplace_back(group.data(), group.size());
  return found;
}

std::string Regex::replace_first(std::string_view text, std::string_view replacement) const {
  std::string out(text);
  re2::RE2::Replace(&out, impl_->compiled, piece(replacement));
  return out;
}

std::string Regex::replace_all(std::string_view text, std::string_view replacement) const {
  std::string out(text);
  re2::RE2::GlobalReplace(&out, impl_->compiled, piece(replacement));
  return out;
}

}  // namespace chela
