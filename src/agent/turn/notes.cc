#include "agent/turn/notes.h"

#include <fmt/format.h>

namespace chela::agent::turn {
namespace {

constexpr std::string_view kQuestionBegins = "I need your approval to use the tool ";
constexpr std::string_view kQuestionEnds = "\nAnswer yes, always or no.";

}  // namespace

std::string repeated_call_note(std::string_view tool, int times) {
  return fmt::format(
      "The call of {} with the same arguments has now given the same result {} times; repeating it will not "
      "change that. Tools are switched "
      "off for the rest of this turn: answer with what you have, and say what is missing.",
      tool, times);
}

std::string approval_text(std::string_view tool, std::string_view description, const json::Value& arguments) {
  return fmt::format("{}{}.\n{}\nArguments: {}{}", kQuestionBegins, tool, description, json::write(arguments),
                     kQuestionEnds);
}

bool ends_with_question(std::string_view text) {
  return text.ends_with(kQuestionEnds) && text.find(kQuestionBegins) != std::string_view::npos;
}

std::string credential_text(std::string_view name, std::string_view instructions) {
  return fmt::format(
      "I need the credential {}.\n{}\nIt goes to the vault; nobody else sees it, and neither do I.", name,
      instructions);
}

}  // namespace chela::agent::turn
