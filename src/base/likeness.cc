#include "base/likeness.h"

#include <algorithm>
#include <utility>

namespace chela::likeness {
namespace {

constexpr std::size_t kMaxName = 64;

}  // namespace

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t next =
          std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = std::exchange(row[j], next);
    }
  }
  return row[b.size()];
}

std::string closest(std::string_view word, const std::vector<std::string>& names) {
  if (word.empty() || word.size() > kMaxName) return {};
  std::string best;
  std::size_t best_distance = word.size() < 4 ? 2 : 3;  // farther is no likeness
  for (const std::string& each : names) {
    const std::size_t d = distance(word, each);
    if (d >= best_distance) continue;
    best_distance = d;
    best = each;
  }
  return best;
}

}  // namespace chela::likeness
