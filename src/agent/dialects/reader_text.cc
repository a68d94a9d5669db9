#include <array>

#include "agent/dialects/limits.h"
#include "agent/dialects/reader.h"
#include "agent/dialects/tags.h"
#include "base/limits.h"

// Text: passed on up to the next byte that may begin something, with its code spans and fences, in which nothing begins.
namespace chela::agent::dialects {
namespace {

constexpr size_t kMaxIndent = 12;
constexpr size_t kMinFence = 3;
// A run of backticks that is longer counts as several.
constexpr size_t kMaxRun = 256;

// Bytes that plain text ends at; 0xE2 begins the triangle.
constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("<`[\n\xE2")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

// Where a run of one character ends.
class RunEnd final : public Wait {
 public:
  RunEnd(size_t from, char c) : from_(from), at_(from), c_(c) {}
  bool decide(std::string_view view, More more) override {
    while (at_ < view.size() && at_ < from_ + kMaxRun && view[at_] == c_) ++at_;
    return at_ < view.size() || at_ == from_ + kMaxRun || more == More::kNone;
  }
  size_t size() const { return at_ - from_; }

 private:
  size_t from_;
  size_t at_;
  char c_;
};

// The first byte of a line that is no space or tab.
class Indent final : public Wait {
 public:
  bool decide(std::string_view view, More more) override {
    while (at_ < view.size() && at_ < kMaxIndent && (view[at_] == ' ' || view[at_] == '\t')) ++at_;
    return at_ < view.size() || more == More::kNone;
  }
  size_t at() const { return at_; }

 private:
  size_t at_ = 0;
};

constexpr std::array<std::string_view, 1> kNewline = {"\n"};

// Whether nothing is left but the beginning of a mark.
bool is_open_mark(std::string_view text) {
  text = strings::trim(text);
  return !text.empty() && kSpecial[static_cast<unsigned char>(text.front())] &&
         text.find_first_of("> ]\n") == std::string_view::npos;
}

// The end of a fence: its characters, then nothing on the line.
class FenceEnd final : public Wait {
 public:
  FenceEnd(size_t from, size_t length, char c) : run_(from, c), from_(from), length_(length) {}
  bool decide(std::string_view view, More more) override {
    if (!run_.decide(view, more)) return false;
    if (run_.size() < length_) return true;
    const size_t until = from_ + run_.size() + kMaxTagBytes;
    size_t at = from_ + run_.size();
    while (at < view.size() && at < until && (view[at] == ' ' || view[at] == '\t' || view[at] == '\r')) ++at;
    if (at == view.size() && at < until && more == More::kMayCome) return false;
    is_end_ = at == view.size() || view[at] == '\n';
    return true;
  }
  bool is_end() const { return is_end_; }

 private:
  RunEnd run_;
  size_t from_;
  size_t length_;
  bool is_end_ = false;
};

}  // namespace

Script Reader::run() {
  while (!stopped_) {
    AtLeast some(0, 1);
    co_await in_.until(some);
    if (in_.view().empty()) break;
    const char c = in_.view().front();
    if (plain_) {
      release(in_.view().size());
    } else if (reads_calls() && fresh_ && fence_ == 0 && (c == '{' || c == '[')) {
      co_await whole_body();
    } else if (line_start_) {
      co_await line_start();
    } else if (c == '`' && fence_ == 0) {
      co_await backticks();
    } else if ((c == '<' || c == '[' || c == '\xE2') && fence_ == 0 && span_ == 0) {
      co_await mark();
    } else {
      plain();
    }
  }
}

// Passes on what is text at the start of the view.
void Reader::release(size_t size) {
  const std::string_view text = in_.view().substr(0, size);
  if (fresh_ && text.find_first_not_of(" \t\r\n") != std::string_view::npos) fresh_ = false;
  out_.add(text);
  if (!text.empty()) line_start_ = text.back() == '\n';
  in_.consume(text.size());
}

void Reader::plain() {
  const std::string_view view = in_.view();
  size_t at = 0;
  if (fresh_) {
    while (at < view.size() && (view[at] == ' ' || view[at] == '\t' || view[at] == '\r')) ++at;
    if (at > 0 && at < view.size() && (view[at] == '{' || view[at] == '[')) return release(at);
  }
  if (fence_ > 0) {
    at = view.find('\n');
  } else {
    if (at == 0 && view.front() != '\n') at = 1;  // it was looked at
    while (at < view.size() && !kSpecial[static_cast<unsigned char>(view[at])]) ++at;
  }
  if (at < view.size() && view[at] == '\n') ++at;
  release(std::min(at, view.size()));
}

// What only the start of a line can be: a fence, GLM's lines, marks without brackets.
Task<void> Reader::line_start() {
  Indent indent;
  co_await in_.until(indent);
  const size_t at = indent.at();
  line_start_ = false;
  if (at >= in_.view().size()) co_return release(at);
  const char c = in_.view()[at];
  if (fence_ > 0) {
    FenceEnd end(at, fence_, fence_char_);
    co_await in_.until(end);
    if (end.is_end()) fence_ = 0;
    if (!end.is_end() || c != fence_char_) co_return;
    RunEnd run(at, c);
    co_await in_.until(run);
    release(at + run.size());
  } else if (span_ > 0) {
    if (c == '\n') span_ = 0;  // a code span ends with its paragraph
  } else if (c == '`' || c == '~') {
    co_await fence(at);
  } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') {
    if ((!reads_calls() || !co_await line_call(at)) && !stopped_ && at > 0) release(at);
    line_start_ = false;
  } else if (at > 0) {
    release(at);
    line_start_ = false;
  }
}

// A run of backticks or tildes at the start of a line: what the line says decides whether the fence quotes or calls.
Task<void> Reader::fence(size_t indent) {
  const char c = in_.view()[indent];
  RunEnd run(indent, c);
  co_await in_.until(run);
  if (run.size() < kMinFence) {
    if (indent > 0) release(indent);
    line_start_ = false;
    if (c == '~') release(run.size());
    co_return;
  }
  const size_t info_at = indent + run.size();
  Literal line(info_at, kNewline, kMaxTagBytes);
  in_.look_ahead();
  co_await in_.until(line);
  const std::string info(strings::trim(in_.view().substr(info_at, line.at() - info_at)));
  if (c == '`' && info.find('`') != std::string::npos) {  // a code span in one line
    if (indent > 0) release(indent);
    line_start_ = false;
    co_return;
  }
  const bool calls =
      reads_calls() && (info == "tool_call" || info == "tool-call" || info == "toolcall" || info == "invoke");
  if (c == '`' && line.found() != Found::kYes && was_cut() && reads_calls() &&
      (calls || info.starts_with("tool")))
    co_return refuse_rest();
  in_.look_ahead();
  const Tool* tool =
      info.starts_with("tool ") ? tools_.find(strings::trim(std::string_view(info).substr(5))) : nullptr;
  if (c == '`' && line.found() == Found::kYes && (calls || tool != nullptr) && may_open(Family::kFence)) {
    NotSpace body(line.end());
    co_await in_.until(body);
    const char first = body.at() < in_.view().size() ? in_.view()[body.at()] : '\0';
    if (first == '\0' && was_cut()) co_return refuse_rest();
    if (first == '{' || first == '[') {
      finish(co_await json_block(body.at(), Meaning{.tool = tool, .fence = Fence::kAround}), Family::kFence);
      co_return;
    }
  }
  fence_ = run.size();
  fence_char_ = c;
  release(info_at);
}

// Backticks in a line open a code span, or close one of as many.
Task<void> Reader::backticks() {
  RunEnd run(0, '`');
  co_await in_.until(run);
  if (span_ == 0) {
    span_ = run.size();
  } else if (span_ == run.size()) {
    span_ = 0;
  }
  release(run.size());
}

Task<void> Reader::mark() {
  MarkAt at;
  in_.look_ahead();
  co_await in_.until(at);
  if (!at.mark() && at.begins_call() && was_cut() && reads_calls()) co_return refuse_rest();
  if (!at.mark()) co_return release(1);
  const Mark mark = *at.mark();
  switch (mark.shape) {
    case Shape::kNoise:
    case Shape::kThinkingEnd:
      in_.consume(at.size());
      co_return out_.cut_inside();
    case Shape::kThinking:
      in_.consume(at.size());
      out_.cut_inside();
      co_return co_await skip_thinking();
    case Shape::kFinal:
    case Shape::kFinalEnd:
      in_.consume(at.size());
      if (mark.shape == Shape::kFinal) fresh_ = false;
      if (unread_ == Unread::kShown) co_return out_.cut_inside();
      co_return mark.shape == Shape::kFinal ? out_.begin_final() : out_.end_final();
    default:
      break;
  }
  if (!reads_calls() || !may_open(mark.family)) co_return release(at.size());
  finish(co_await block(mark, at.size()), mark.family);
}

// What is left was to be a call: it is neither that nor text, unless nothing is left out.
void Reader::refuse_rest() {
  refused_ = Refused::kCut;
  fresh_ = false;
  if (unread_ == Unread::kShown) return release(in_.view().size());
  in_.consume(in_.view().size());
}

// Takes over what became of a block.
void Reader::finish(Block block, Family family) {
  if (block.calls.empty() && was_cut()) return refuse_rest();
  switch (block.kind) {
    case Block::Kind::kStop:
      refused_ = Refused::kUnreadable;
      if (unread_ == Unread::kShown) {
        plain_ = true;
        return;
      }
      stopped_ = true;
      in_.drown();
      return;
    case Block::Kind::kText:
      return release(block.size);
    case Block::Kind::kDone:
      break;
  }
  // The mark of a list of tools begins no call by itself, nor does that of a program.
  const bool meant = family != Family::kPython && !in_.view().starts_with("<tools>");
  if (block.calls.empty() && unread_ == Unread::kShown && family != Family::kPython) {
    if (meant) refused_ = Refused::kUnreadable;
    return release(block.size);
  }
  in_.consume(block.size);
  if (!block.calls.empty()) {
    lock_ = family;
    // The closing mark was cut.
    if (was_cut() && is_open_mark(in_.view())) in_.consume(in_.view().size());
  } else if (meant) {
    refused_ = Refused::kUnreadable;
  }
  for (Call& each : block.calls) {
    if (calls_.size() < kMaxAnswerCalls) calls_.push_back(std::move(each));
  }
  fresh_ = false;
  line_start_ = false;
  if (family == Family::kLine) {
    out_.cut_inside();
  } else {
    out_.cut_block();
  }
}

// Thoughts are told apart as they come, up to the end of any.
Task<void> Reader::skip_thinking() {
  while (true) {
    AtLeast some(0, 1);
    co_await in_.until(some);
    if (in_.view().empty()) co_return;
    const size_t open = in_.view().find_first_of("<[\xE2");
    if (open != 0) {
      const std::string_view thought = in_.view().substr(0, open);
      out_.think(thought);
      in_.consume(thought.size());
      continue;
    }
    MarkAt at;
    co_await in_.until(at);
    const bool ends = at.mark() && at.mark()->shape == Shape::kThinkingEnd;
    if (!ends) out_.think(in_.view().substr(0, 1));
    in_.consume(ends ? at.size() : 1);
    if (ends) co_return;
  }
}

}  // namespace chela::agent::dialects
