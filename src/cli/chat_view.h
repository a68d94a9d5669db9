#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace chela::cli {

// What a conversation shows. Chat decides what happens; a view decides how it looks: PlainView on a pipe, ScreenView on a terminal.
class ChatView {
 public:
  virtual ~ChatView() = default;

  // An event of a turn that belongs to the conversation, or a turn of the past: type "past_turn", with the fields of chat::history.
  virtual void show(const std::string& type, const json::Value& data) = 0;
  // What the engine answers to a command, in Markdown.
  virtual void told(std::string_view text) = 0;
  // A line about the conversation itself.
  virtual void note(std::string_view text) = 0;
  virtual void failure(const Error& error) = 0;

  // What the next line of input will be.
  enum class Expected {
    kNothing,      // a turn runs; a line joins it
    kMessage,      // a new message
    kApproval,     // y, a or n
    kPlainAnswer,  // again, after something else was typed
    kSecret,       // not to be shown
  };
  virtual void expect(Expected expected) = 0;
  // A line was entered.
  virtual void entered() = 0;
  // No more is shown.
  virtual void close() = 0;
};

}  // namespace chela::cli
