#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/approval_box.h"
#include "cli/chat_view.h"
#include "cli/lines.h"
#include "runtime/channel.h"
#include "runtime/event_loop.h"
#include "tui/history.h"
#include "tui/line_editor.h"
#include "tui/markdown.h"
#include "tui/painter.h"

namespace chela::cli {

// A conversation on a terminal: what has been said goes to the scrollback; below it stand what is being written, running tools with their
// time, and the input line, which can be typed at all the while. Does no I/O: bytes come through feed() and leave through `write`.
// Loop thread only.
class ScreenView final : public ChatView, public Lines {
 public:
  struct Options {
    tui::Size size = {};
    tui::Colour colour = tui::Colour::kOn;
    enum class Prompt {
      kAlways,
      kQuestions
    } prompt = Prompt::kAlways;  // for one message only questions are asked
    std::function<void(std::string_view)> write;
    std::function<void()> on_interrupt;
    std::function<void()> on_suspend;
    tui::Completer completer = {};
  };
  ScreenView(runtime::EventLoop& loop, tui::History& history, Options options);
  ~ScreenView() override;

  // What was typed.
  void feed(std::string_view bytes);
  void end_of_input();
  void resize(tui::Size size);
  // What can be completed is known better than before.
  void completer_changed();

  Task<Result<std::optional<std::string>>> next(std::stop_token stop) override;

  void show(const std::string& type, const json::Value& data) override;
  void told(std::string_view text) override;
  void note(std::string_view text) override;
  void failure(const Error& error) override;
  void expect(Expected expected) override;
  void entered() override {}  // it is in the scrollback already
  void close() override;

 private:
  struct Tool {
    std::string name;
    SteadyTime since;
  };

  void press(const tui::Key& key);
  void submit();
  void stay(tui::Spans row);
  void stay(std::vector<tui::Spans> rows);
  void stay_text(std::string_view text, tui::Face face);
  void gap();
  void stream(std::string_view text);
  void stream_again(const std::string& text);
  void end_stream();
  void whole(std::string_view text);
  void respond(const std::string& content);
  void tool_completed(const json::Value& data);
  void ask(const json::Value& data, Shown shown);
  void turn_finished(const json::Value& data);
  void schedule_paint();
  void paint();
  void animate();
  void cancel(std::optional<runtime::TimerId>& timer);
  bool prompting() const;
  bool animated() const { return running_ && !closed_; }
  tui::Spans prompt() const;
  tui::Picture live() const;
  std::string spinner() const;
  std::string elapsed(SteadyTime since) const;

  runtime::EventLoop& loop_;
  tui::History& history_;
  const Options options_;
  tui::KeyReader keys_;
  tui::LineEditor editor_;
  tui::Painter painter_;
  tui::Markdown markdown_;
  runtime::Channel<std::string> lines_;
  std::vector<tui::Spans> staying_;  // for the next painting
  Expected expected_ = Expected::kNothing;
  bool running_ = false;
  SteadyTime waiting_since_ = {};
  std::map<std::string, Tool> tools_;  // that run, by call id
  std::string streamed_;               // what the running, or last, model call has said
  bool call_ended_ = false;
  bool gap_ = true;  // the last row that stays is empty
  bool closed_ = false;
  size_t frame_ = 0;
  SteadyTime painted_at_ = {};
  std::optional<runtime::TimerId> paint_timer_, animation_timer_, escape_timer_;
};

}  // namespace chela::cli
