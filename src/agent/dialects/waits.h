#pragma once

#include <array>
#include <span>
#include <vector>

#include "agent/dialects/input.h"

// What readers wait for. Each remembers where it stopped.
namespace chela::agent::dialects {

// How a search ended: kOut means that the bytes did.
enum class Found { kYes, kNo, kOut };

// The first byte from an offset on that is no white space.
class NotSpace final : public Wait {
 public:
  explicit NotSpace(size_t from) : at_(from) {}
  bool decide(std::string_view view, More more) override;
  size_t at() const { return at_; }  // the size of the view when there is none

 private:
  size_t at_;
};

// So many bytes behind an offset, or all that there are.
class AtLeast final : public Wait {
 public:
  AtLeast(size_t from, size_t count) : size_(from + count) {}
  bool decide(std::string_view view, More more) override {
    return more == More::kNone || view.size() >= size_;
  }

 private:
  size_t size_;
};

// The first byte from an offset on that is none of what models write too much behind a value: closing brackets, separators, fences.
class Strays final : public Wait {
 public:
  explicit Strays(size_t from) : from_(from), at_(from) {}
  bool decide(std::string_view view, More more) override;
  size_t at() const { return at_; }

 private:
  size_t from_;
  size_t at_;
};

// The end of the word at an offset: of what names of tools are made of.
class WordEnd final : public Wait {
 public:
  explicit WordEnd(size_t from) : from_(from), at_(from) {}
  bool decide(std::string_view view, More more) override;
  size_t at() const { return at_; }

 private:
  size_t from_;
  size_t at_;
};

// The end of the JSON value at an offset: brackets are counted, strings skipped. kNo as soon as a byte cannot be JSON. What passes
// may still be no JSON; the parser of base/ decides then.
class JsonEnd final : public Wait {
 public:
  explicit JsonEnd(size_t from) : at_(from) {}
  bool decide(std::string_view view, More more) override;
  Found found() const { return found_; }
  size_t at() const { return at_; }  // behind the value, or where it broke

 private:
  bool step_string(std::string_view view);

  size_t at_;
  Found found_ = Found::kOut;
  std::vector<char> closers_;
  bool in_string_ = false;
};

// The end of a bracketed expression in Python's or Perl's notation at an offset.
class BracketEnd final : public Wait {
 public:
  enum class Quotes { kDouble, kBoth };
  BracketEnd(size_t from, Quotes quotes)
      : at_(from),
        quotes_(quotes),
        depth_(static_cast<size_t>(quotes == Quotes::kBoth ? kMaxPythonDepth : kMaxPerlDepth)) {}
  bool decide(std::string_view view, More more) override;
  Found found() const { return found_; }
  size_t at() const { return at_; }

 private:
  size_t at_;
  Quotes quotes_;
  size_t depth_;
  Found found_ = Found::kOut;
  std::string closers_;
  char quote_ = 0;
};

// The first of some texts from an offset on, at most `within` bytes further.
class Literal final : public Wait {
 public:
  static constexpr size_t kAnywhere = static_cast<size_t>(-1);
  Literal(size_t from, std::span<const std::string_view> texts, size_t within = kAnywhere);
  bool decide(std::string_view view, More more) override;
  Found found() const { return found_; }
  size_t at() const { return at_; }           // where it begins
  size_t end() const { return at_ + size_; }  // and ends
  std::string_view text() const { return texts_[which_]; }

 private:
  std::span<const std::string_view> texts_;
  std::array<bool, 256> first_{};
  size_t at_;
  size_t until_;
  size_t size_ = 0;
  size_t which_ = 0;
  Found found_ = Found::kOut;
};

}  // namespace chela::agent::dialects
