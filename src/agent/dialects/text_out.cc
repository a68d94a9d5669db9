#include "agent/dialects/text_out.h"

#include <algorithm>
#include <utility>

#include "agent/dialects/limits.h"

namespace chela::agent::dialects {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// At most one empty line.
std::string narrowed(std::string_view space) {
  if (std::count(space.begin(), space.end(), '\n') < 3) return std::string(space);
  const size_t last = space.rfind('\n');
  return "\n\n" + std::string(space.substr(last + 1));
}

}  // namespace

void TextOut::add(std::string_view text) {
  if (place_ == Place::kOutside || text.empty()) return;
  const size_t first = std::min(text.find_first_not_of(kSpace), text.size());
  add_space(text.substr(0, first));
  text.remove_prefix(first);
  if (text.empty()) return;
  const size_t last = text.find_last_not_of(kSpace);
  release_held();
  release(text.substr(0, last + 1));
  add_space(text.substr(last + 1));
}

// However it is cut: a run of white space past the limit is released as it is, or counts as an empty line where a seam is.
void TextOut::add_space(std::string_view space) {
  if (run_ == Run::kReleased) release(space);
  if (run_ != Run::kHeld) return;
  held_ += space;
  if (held_.size() <= kMaxHeldSpaceBytes) return;
  const bool plain = keeps_space() || (!all_.empty() && seam_ == Seam::kNone);
  if (plain) release(held_);
  run_ = plain ? Run::kReleased : Run::kDropped;
  held_ = plain ? "" : "\n\n";
}

void TextOut::release(std::string_view text) { all_ += text; }

// The white space in front of a text that comes now.
void TextOut::release_held() {
  std::string space = std::exchange(held_, {});
  run_ = Run::kHeld;
  const bool keeps = keeps_space();
  const Seam seam = std::exchange(seam_, Seam::kNone);
  if (all_.empty() && !keeps) return;
  if (seam == Seam::kBlock) space = "\n";
  release(seam == Seam::kInside ? narrowed(space) : space);
}

void TextOut::end() {
  if (keeps_space() && place_ != Place::kOutside) release(std::exchange(held_, {}));
}

void TextOut::cut_block() {
  if (run_ == Run::kReleased) run_ = Run::kHeld;
  seam_ = Seam::kBlock;
}

void TextOut::cut_inside() {
  if (run_ == Run::kReleased) run_ = Run::kHeld;
  if (seam_ == Seam::kNone) seam_ = Seam::kInside;
}

void TextOut::begin_final() {
  if (place_ == Place::kNoFinal && policy_ == Final::kReplaces) {
    fresh_ += all_.substr(taken_);
    all_.clear();
    taken_ = 0;
  }
  held_.clear();
  run_ = Run::kHeld;
  seam_ = Seam::kBlock;
  place_ = Place::kInside;
}

void TextOut::end_final() {
  if (place_ == Place::kInside) place_ = Place::kOutside;
}

std::string TextOut::take() {
  std::string taken = std::exchange(fresh_, {});
  taken += std::string_view(all_).substr(taken_);
  taken_ = all_.size();
  return taken;
}

}  // namespace chela::agent::dialects
