#include "cli/plain_view.h"

#include "base/strings.h"
#include "cli/next_step.h"

namespace chela::cli {

void PlainView::show(const std::string& type, const json::Value& data) {
  if (manner_ == Manner::kEvents) {
    if (type != "past_turn" && type != "approval_whole") output_.line(json::write(data));
    if (type != "approval_needed" && type != "approval_whole") return;
  }
  if (type == "response") {
    // On a dialogue it has been seen already.
    if (manner_ == Manner::kDialogue && data.string_or("content") == streamed_ && !streamed_.empty())
      end_line();
    else
      reply(data.string_or("content"));
  } else if (type == "error") {
    const std::optional<Code> code = code_from_name(data.string_or("code"));
    failure(Error{.code = code.value_or(Code::kInternal), .message = data.string_or("message")});
  } else if (type == "approval_needed" || type == "approval_whole") {
    note(fmt::format("The agent wants to use {}: {}\n{}", data.string_or("tool_name"),
                     data.string_or("description"), data.string_or("parameters")));
  } else if (type == "auth_required") {
    note(fmt::format("{} wants a credential. {}", data.string_or("extension_name"),
                     data.string_or("instructions")));
  } else if (type == "budget_warning") {
    note(data.string_or("message"));
  }
  if (manner_ == Manner::kDialogue) show_dialogue(type, data);
}

void PlainView::show_dialogue(const std::string& type, const json::Value& data) {
  if (type == "stream_chunk") {
    output_.text(data.string_or("content"));
    streamed_ += data.string_or("content");
    at_line_start_ = false;
  } else if (type == "stream_reset") {
    end_line();
    streamed_ = data.string_or("text");
    output_.text(streamed_);
    at_line_start_ = streamed_.empty();
  } else if (type == "tool_started") {
    note("  [" + data.string_or("name") + "]");
    streamed_.clear();
  } else if (type == "tool_completed" && !data.bool_or("success", true)) {
    note("  [" + data.string_or("name") + " failed] " + data.string_or("error"));
  } else if (type == "turn_finished") {
    streamed_.clear();
    if (data.string_or("state") == "interrupted") note("interrupted");
  } else if (type == "past_turn") {
    note("> " + data.string_or("user_input"));
    reply(data.string_or("response"));
  }
}

void PlainView::reply(std::string_view content) {
  end_line();
  output_.text(content);
  if (!content.ends_with('\n')) output_.out("\n");
}

void PlainView::told(std::string_view text) {
  if (manner_ == Manner::kEvents)
    output_.line(json::write(json::Value::object({{"type", "reply"}, {"content", text}})));
  else
    reply(text);
}

void PlainView::note(std::string_view text) {
  end_line();
  output_.note(text);
}

void PlainView::failure(const Error& error) {
  end_line();
  output_.note("chela: " + error.message);
  if (const std::string_view next = next_step(error.code); manner_ == Manner::kDialogue && !next.empty())
    output_.note(next);
}

void PlainView::expect(Expected expected) {
  switch (expected) {
    case Expected::kNothing:
      break;
    case Expected::kMessage:
      if (manner_ != Manner::kDialogue) break;
      end_line();
      output_.out("> ");
      at_line_start_ = false;
      break;
    case Expected::kApproval:
      end_line();
      output_.err("Allow it? y (yes), a (always), n (no), v (view it again): ");
      break;
    case Expected::kPlainAnswer:
      output_.err("Please answer y (yes), a (always), n (no) or v (view it again): ");
      break;
    case Expected::kSecret:
      end_line();
      output_.err("Its value: ");
      break;
  }
}

void PlainView::end_line() {
  if (!at_line_start_) output_.out("\n");
  at_line_start_ = true;
}

}  // namespace chela::cli
