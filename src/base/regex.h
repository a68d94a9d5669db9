#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace chela {

// A compiled regular expression (RE2 syntax: linear time on any input, no look-around, no back-references). Immutable after
// creation, so one object may be used from several threads.
class Regex {
 public:
  enum class Case { kSensitive, kInsensitive };

  static Result<Regex> create(std::string_view pattern, Case sensitivity = Case::kSensitive);
  // For patterns that are part of the program: a wrong one stops it.
  static Regex literal(std::string_view pattern, Case sensitivity = Case::kSensitive);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  bool found_in(std::string_view text) const;
  // The first match: element 0 is the whole, the others are the groups in order. They point into `text`; a group that took no
  // part is a null view.
  std::optional<std::vector<std::string_view>> match(std::string_view text) const;
  // The text with its first match replaced; \1 stands for group 1.
  std::string replace_first(std::string_view text, std::string_view replacement) const;
  std::string replace_all(std::string_view text, std::string_view replacement) const;

 private:
  struct Impl;
  explicit Regex(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace chela
