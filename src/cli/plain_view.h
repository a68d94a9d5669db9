#pragma once

#include <string>

#include "cli/chat_view.h"
#include "cli/output.h"

namespace chela::cli {

// A conversation on a pipe, in a file or on a terminal that can do nothing: text as the model wrote it, in the order it came.
class PlainView final : public ChatView {
 public:
  enum class Manner {
    kReplies,   // only replies are results; all else is left out or goes to stderr
    kDialogue,  // a person reads along: text as it comes, tools, a prompt
    kEvents,    // the turn's events as JSON lines
  };
  PlainView(const Output& output, Manner manner) : output_(output), manner_(manner) {}

  void show(const std::string& type, const json::Value& data) override;
  void told(std::string_view text) override;
  void note(std::string_view text) override;
  void failure(const Error& error) override;
  void expect(Expected expected) override;
  void entered() override { at_line_start_ = true; }  // the line's end is on the screen
  void close() override { end_line(); }

 private:
  void show_dialogue(const std::string& type, const json::Value& data);
  void reply(std::string_view content);
  void end_line();

  const Output& output_;
  const Manner manner_;
  std::string streamed_;  // text shown of the running model call
  bool at_line_start_ = true;
};

}  // namespace chela::cli
