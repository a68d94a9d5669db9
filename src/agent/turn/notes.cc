#include "agent/turn/notes.h"

#include <fmt/format.h>

namespace chela::agent::turn {

std::string repeated_call_note(std::string_view tool, int times) {
  return fmt::format(
      "The call of {} with the same arguments has now given the same result {} times; repeating it will not "
      "change that. Tools are switched "
      "off for the rest of this turn: answer with what you have, and say what is missing.",
      tool, times);
}

std::string approval_text(std::string_view tool, std::string_view description, const json::Value& arguments) {
  return fmt::format("I need your approval to use the tool {}.\n{}\nArguments: {}\nAnswer yes, always or no.",
                     tool, description, json::write(arguments));
}

}  // namespace chela::agent::turn
