#include "cli/screen_view.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/strings.h"
#include "cli/approval_box.h"
#include "cli/next_step.h"
#include "tui/glyphs.h"

namespace chela::cli {
namespace {

using json::Value;
using tui::Spans;
using Echo = tui::LineEditor::Echo;

constexpr size_t kMaxWaitingLines = 32;
constexpr std::array<std::string_view, 10> kSpinner{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};

std::string seconds(std::chrono::milliseconds time) {
  const auto tenths = time.count() / 100;
  if (tenths < 600) return fmt::format("{}.{}s", tenths / 10, tenths % 10);
  return fmt::format("{}m {:02}s", tenths / 600, tenths % 600 / 10);
}

std::string preview(const std::string& text) { return tui::shortened(tui::one_line(text), kMaxPreviewChars); }

}  // namespace

ScreenView::ScreenView(runtime::EventLoop& loop, tui::History& history, Options options)
    : loop_(loop),
      history_(history),
      options_(std::move(options)),
      editor_(history, options_.completer),
      painter_(options_.size, options_.colour),
      markdown_(options_.size.columns, options_.colour),
      lines_(loop, kMaxWaitingLines) {}

ScreenView::~ScreenView() { close(); }

// --- What is typed

void ScreenView::feed(std::string_view bytes) {
  cancel(escape_timer_);
  for (const tui::Key& key : keys_.feed(bytes)) press(key);
  if (!keys_.undecided()) return;
  escape_timer_ = loop_.call_at(loop_.clock().steady() + kEscapeDelay, [this] {
    escape_timer_.reset();
    for (const tui::Key& key : keys_.settle()) press(key);
  });
}

void ScreenView::end_of_input() { lines_.close(); }

void ScreenView::press(const tui::Key& key) {
  if (closed_) return;
  using Kind = tui::Key::Kind;
  const bool interrupts = key == tui::Key{.kind = Kind::kControl, .text = "c"};
  const bool suspends = key == tui::Key{.kind = Kind::kControl, .text = "z"};
  if (!prompting() && !interrupts && !suspends) return;
  switch (editor_.press(key)) {
    case tui::LineEditor::Outcome::kSubmitted:
      submit();
      break;
    case tui::LineEditor::Outcome::kInterrupt:
      // As in a shell, a line that nobody wants any more goes first.
      if (!running_ && !editor_.empty())
        editor_.clear();
      else
        options_.on_interrupt();
      break;
    case tui::LineEditor::Outcome::kEscape:
      if (running_) options_.on_interrupt();
      break;
    case tui::LineEditor::Outcome::kEnd:
      lines_.close();
      break;
    case tui::LineEditor::Outcome::kClear:
      options_.write(painter_.clear());
      break;
    case tui::LineEditor::Outcome::kSuspend:
      options_.write(painter_.erase());
      options_.on_suspend();
      break;
    case tui::LineEditor::Outcome::kEdited:
      break;
  }
  schedule_paint();
}

void ScreenView::submit() {
  if (expected_ == Expected::kMessage && strings::trim(editor_.text()).empty()) return editor_.clear();
  if (lines_.size() == kMaxWaitingLines) return note("Too many messages wait already; send this one later.");
  const bool secret = editor_.echo() == Echo::kNothing;
  // Without colour the picture has no grey hint, which is no part of what was said.
  Spans shown = prompt();
  tui::append(shown, secret ? "(not shown)" : "", tui::kDim);
  std::vector<Spans> rows = secret
                                ? std::vector<Spans>{shown}
                                : editor_.picture(prompt(), painter_.size().columns, tui::Colour::kOff).rows;
  stay(std::move(rows));
  std::string line = editor_.take();
  if (!secret && expected_ != Expected::kApproval) {
    if (const Result<> kept = history_.add(line); !kept)
      note("The history is not kept: " + kept.error().message);
  }
  lines_.try_send(std::move(line));
}

Task<Result<std::optional<std::string>>> ScreenView::next(std::stop_token stop) {
  co_return co_await lines_.receive(std::move(stop));
}

// --- What is shown

void ScreenView::show(const std::string& type, const Value& data) {
  if (type == "turn_started") {
    running_ = true;
    waiting_since_ = loop_.clock().steady();
    gap();
    animate();
  } else if (type == "stream_chunk") {
    stream(data.string_or("content"));
  } else if (type == "stream_reset") {
    stream_again(data.string_or("text"));
  } else if (type == "usage") {
    call_ended_ = true;
    waiting_since_ = loop_.clock().steady();
  } else if (type == "response") {
    respond(data.string_or("content"));
  } else if (type == "tool_started") {
    end_stream();
    tools_[data.string_or("call_id")] = {.name = tui::one_line(data.string_or("name")),
                                         .since = loop_.clock().steady()};
  } else if (type == "tool_completed") {
    tool_completed(data);
  } else if (type == "tool_result") {
    if (const std::string text = preview(data.string_or("preview")); !text.empty())
      stay({{.text = "  " + tui::shortened(text, painter_.size().columns - 3), .face = tui::kDim}});
  } else if (type == "approval_needed") {
    ask(data, Shown::kShort);
  } else if (type == "approval_whole") {
    ask(data, Shown::kWhole);
  } else if (type == "approval_resolved") {
    const bool approved = data.bool_or("approved", false);
    stay({{.text = approved ? "approved" : "denied", .face = approved ? tui::kGreen : tui::kRed}});
  } else if (type == "auth_required") {
    end_stream();
    gap();
    stay_text(data.string_or("extension_name") + " wants a credential. " + data.string_or("instructions"),
              tui::kYellow);
    for (const char* each : {"auth_url", "setup_url"}) {
      if (const std::string url = data.string_or(each); !url.empty()) stay_text(url, tui::kUnderline);
    }
  } else if (type == "auth_completed") {
    stay_text(data.string_or("message", "done"), data.bool_or("success", true) ? tui::kGreen : tui::kRed);
  } else if (type == "status" && data.find("message_id") != nullptr) {
    stay_text(data.string_or("message"), tui::kDim);
  } else if (type == "compacted") {
    stay_text(fmt::format("The conversation was shortened from {} to {} tokens.",
                          data.int_or("tokens_before", 0), data.int_or("tokens_after", 0)),
              tui::kDim);
  } else if (type == "budget_warning") {
    stay_text(data.string_or("message"), tui::kYellow);
  } else if (type == "error") {
    const std::optional<Code> code = code_from_name(data.string_or("code"));
    failure(Error{.code = code.value_or(Code::kInternal), .message = data.string_or("message")});
  } else if (type == "turn_finished") {
    turn_finished(data);
  } else if (type == "past_turn") {
    gap();
    stay_text("› " + data.string_or("user_input"), tui::kDim);
    told(data.string_or("response"));
  }
  schedule_paint();
}

void ScreenView::stream(std::string_view text) {
  if (std::exchange(call_ended_, false)) {
    end_stream();
    streamed_.clear();
  }
  if (streamed_.empty()) gap();
  streamed_ += text;
  stay(markdown_.feed(text));
}

// What is in the scrollback cannot be taken back: only what is new is shown, or all of it again.
void ScreenView::stream_again(const std::string& text) {
  if (text.starts_with(streamed_) && !call_ended_) return stream(text.substr(streamed_.size()));
  end_stream();
  if (!streamed_.empty()) stay_text("The answer begins again:", tui::kDim);
  streamed_.clear();
  call_ended_ = false;
  stream(text);
}

void ScreenView::end_stream() { stay(markdown_.finish()); }

void ScreenView::whole(std::string_view text) {
  end_stream();
  stay(markdown_.feed(text));
  end_stream();
}

void ScreenView::respond(const std::string& content) {
  if (content.starts_with(streamed_)) {
    if (streamed_.empty()) gap();
    stay(markdown_.feed(std::string_view(content).substr(streamed_.size())));
    end_stream();
  } else {
    gap();
    whole(content);
  }
  streamed_.clear();
}

void ScreenView::tool_completed(const Value& data) {
  const auto found = tools_.find(data.string_or("call_id"));
  const bool success = data.bool_or("success", true);
  Spans row{{.text = success ? "● " : "× ", .face = success ? tui::kGreen : tui::kRed},
            {.text = tui::one_line(data.string_or("name"))}};
  if (const std::int64_t told = data.int_or("duration_ms", -1); told >= 0) {
    tui::append(row, " " + seconds(std::chrono::milliseconds(told)), tui::kDim);
  } else if (found != tools_.end()) {
    tui::append(row, " " + elapsed(found->second.since), tui::kDim);
  }
  if (found != tools_.end()) tools_.erase(found);
  if (!success) tui::append(row, "  " + preview(data.string_or("error")), tui::kRed);
  end_stream();
  stay(tui::wrap(row, painter_.size().columns, {}, {{.text = "  "}}));
  waiting_since_ = loop_.clock().steady();
}

void ScreenView::ask(const Value& data, Shown shown) {
  end_stream();
  gap();
  stay(approval_box(data, painter_.size().columns, shown));
}

void ScreenView::turn_finished(const Value& data) {
  end_stream();
  running_ = false;
  tools_.clear();
  streamed_.clear();
  call_ended_ = false;
  if (data.string_or("state") == "interrupted") stay_text("interrupted", tui::kYellow);
  gap();
  cancel(animation_timer_);
}

void ScreenView::told(std::string_view text) {
  whole(text);
  gap();
}

void ScreenView::note(std::string_view text) {
  end_stream();
  stay_text(text, tui::kDim);
  schedule_paint();
}

void ScreenView::failure(const Error& error) {
  end_stream();
  gap();
  stay_text("chela: " + error.message, tui::kRed);
  if (const std::string_view next = next_step(error.code); !next.empty()) stay_text(next, tui::kPlain);
  schedule_paint();
}

void ScreenView::expect(Expected expected) {
  const auto question = [](Expected each) {
    return each != Expected::kMessage && each != Expected::kNothing;
  };
  if (expected == Expected::kPlainAnswer) {
    stay_text("Please answer y (yes), a (always), n (no) or v (view all).", tui::kYellow);
    expected = Expected::kApproval;
  } else if (question(expected) && !question(expected_)) {
    editor_.set_aside(expected == Expected::kSecret ? Echo::kNothing : Echo::kText);
  } else if (!question(expected) && question(expected_)) {
    editor_.take_up();
  }
  expected_ = expected;
  schedule_paint();
}

// --- The screen

void ScreenView::stay(Spans row) {
  gap_ = row.empty();
  staying_.push_back(std::move(row));
  schedule_paint();
}

void ScreenView::stay(std::vector<Spans> rows) {
  for (Spans& each : rows) stay(std::move(each));
}

void ScreenView::stay_text(std::string_view text, tui::Face face) {
  const std::string lines = tui::harmless(text);
  for (const std::string_view line : strings::split(lines, '\n'))
    stay(tui::wrap({{.text = std::string(line), .face = face}}, painter_.size().columns));
}

void ScreenView::gap() {
  if (!gap_) stay(Spans{});
}

bool ScreenView::prompting() const {
  if (options_.prompt == Options::Prompt::kAlways) return true;
  return expected_ == Expected::kApproval || expected_ == Expected::kSecret;
}

Spans ScreenView::prompt() const {
  if (expected_ == Expected::kApproval)
    return {{.text = "y yes, a always, n no, v view all › ", .face = tui::kYellow | tui::kBold}};
  if (expected_ == Expected::kSecret)
    return {{.text = "its value (not shown) › ", .face = tui::kYellow | tui::kBold}};
  return {{.text = "› ", .face = tui::kBold | tui::kCyan}};
}

std::string ScreenView::spinner() const { return std::string(kSpinner[frame_ % kSpinner.size()]) + " "; }

std::string ScreenView::elapsed(SteadyTime since) const {
  return seconds(std::chrono::duration_cast<std::chrono::milliseconds>(loop_.clock().steady() - since));
}

tui::Picture ScreenView::live() const {
  tui::Picture picture;
  const size_t columns = painter_.size().columns;
  for (const Spans& each : markdown_.tail()) {
    // Rows of code may be wider than the screen; those that stay are left to the terminal.
    for (Spans& row : tui::columns_of(each) > columns ? tui::wrap(each, columns) : std::vector<Spans>{each})
      picture.rows.push_back(std::move(row));
  }
  for (const auto& [id, tool] : tools_)
    picture.rows.push_back({{.text = spinner(), .face = tui::kYellow},
                            {.text = tui::shortened(tool.name, columns / 2)},
                            {.text = " " + elapsed(tool.since), .face = tui::kDim}});
  if (animated() && tools_.empty() && markdown_.empty() && expected_ == Expected::kNothing)
    picture.rows.push_back({{.text = spinner() + "thinking " + elapsed(waiting_since_), .face = tui::kDim}});
  if (!prompting() || closed_) {
    picture.row = picture.rows.empty() ? 0 : picture.rows.size() - 1;
    return picture;
  }
  if (!picture.rows.empty()) picture.rows.emplace_back();
  const tui::Picture input = editor_.picture(prompt(), columns, options_.colour);
  picture.row = picture.rows.size() + input.row;
  picture.column = input.column;
  picture.rows.insert(picture.rows.end(), input.rows.begin(), input.rows.end());
  return picture;
}

void ScreenView::resize(tui::Size size) {
  painter_.resize(size);
  markdown_.set_columns(painter_.size().columns);
  paint();
}

void ScreenView::completer_changed() {
  editor_.completer_changed();
  schedule_paint();
}

// Changes that come close together are painted once.
void ScreenView::schedule_paint() {
  if (closed_ || paint_timer_) return;
  const SteadyTime now = loop_.clock().steady();
  paint_timer_ = loop_.call_at(std::max(now, painted_at_ + kFrameInterval), [this] {
    paint_timer_.reset();
    paint();
  });
}

void ScreenView::paint() {
  cancel(paint_timer_);
  painted_at_ = loop_.clock().steady();
  options_.write(painter_.paint(std::exchange(staying_, {}), live()));
}

void ScreenView::animate() {
  cancel(animation_timer_);
  if (!animated()) return;
  animation_timer_ = loop_.call_at(loop_.clock().steady() + kSpinnerInterval, [this] {
    animation_timer_.reset();
    ++frame_;
    schedule_paint();
    animate();
  });
}

void ScreenView::cancel(std::optional<runtime::TimerId>& timer) {
  if (timer) loop_.cancel(*timer);
  timer.reset();
}

void ScreenView::close() {
  if (closed_) return;
  end_stream();
  tools_.clear();
  closed_ = true;
  paint();
  for (std::optional<runtime::TimerId>* each : {&paint_timer_, &animation_timer_, &escape_timer_})
    cancel(*each);
  lines_.close();
}

}  // namespace chela::cli
