#include "cli/approval_box.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace chela::cli {
namespace {

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

// The text inside the frame. Lines break at spaces, so it has none.
std::string inside(const json::Value& event, Shown shown = Shown::kShort) {
  const std::vector<tui::Spans> rows = approval_box(event, 64, shown);
  std::string text;
  for (size_t i = 1; i + 1 < rows.size(); ++i) text += tui::text_of(rows[i]);
  for (size_t at = text.find("│"); at != std::string::npos; at = text.find("│"))
    text.erase(at, std::string_view("│").size());
  return without_spaces(text);
}

json::Value asked(json::Value parameters, std::string description = "") {
  return json::Value::object({{"tool_name", "shell"},
                              {"description", std::move(description)},
                              {"parameters", std::move(parameters)}});
}

// `bytes` letters with an end of their own.
std::string letters(size_t bytes) { return "<" + std::string(bytes - 2, 'x') + ">"; }

TEST(ApprovalBox, OfALongParameterBothEndsAreShown) {
  const std::string fits = letters(kMaxParameterChars);
  EXPECT_EQ(inside(asked(json::Value::object({{"command", fits}}))), "shellcommand:" + fits);
  const std::string half((kMaxParameterChars / 2) - 1, 'x');
  const json::Value too_long = asked(json::Value::object({{"command", letters(kMaxParameterChars + 7)}}));
  EXPECT_EQ(inside(too_long),
            without_spaces("shellcommand:<" + half + "[… 7 characters, v shows them …]" + half + ">"));
  EXPECT_EQ(inside(too_long, Shown::kWhole), "shellcommand:" + letters(kMaxParameterChars + 7));
}

TEST(ApprovalBox, WhatIsNoObjectAndTheDescriptionHaveALimitOfTheirOwn) {
  const std::string fits = letters(kMaxOtherParameterChars);
  const std::string too_long = letters(kMaxOtherParameterChars + 1);
  EXPECT_FALSE(inside(asked(fits, fits)).contains("characters"));
  EXPECT_TRUE(inside(asked(too_long)).contains("[…1characters"));
  EXPECT_TRUE(inside(asked("", too_long)).contains("[…1characters"));
  EXPECT_FALSE(inside(asked(too_long, too_long), Shown::kWhole).contains("characters"));
}

}  // namespace
}  // namespace chela::cli
