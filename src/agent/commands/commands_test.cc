#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "agent/commands/parse.h"
#include "base/strings.h"

namespace chela::agent::commands {
namespace {

Verb verb_of(std::string_view text) {
  const Parsed parsed = parse(text);
  EXPECT_TRUE(std::holds_alternative<Command>(parsed)) << text;
  return std::holds_alternative<Command>(parsed) ? std::get<Command>(parsed).verb : Verb::kHelp;
}

bool is_text(std::string_view text) { return std::holds_alternative<UserText>(parse(text)); }

std::string mistake(std::string_view text) {
  const Parsed parsed = parse(text);
  EXPECT_TRUE(std::holds_alternative<Mistake>(parsed)) << text;
  return std::holds_alternative<Mistake>(parsed) ? std::get<Mistake>(parsed).reply : "";
}

TEST(Commands, EveryWordOfTheTableIsItsCommandInAnyCase) {
  std::set<std::string_view> seen;
  for (const Spec& spec : table()) {
    for (const std::string_view word : spec.words) {
      EXPECT_TRUE(seen.insert(word).second) << word;
      EXPECT_EQ(word, strings::lower(word));
      EXPECT_EQ(verb_of(word), spec.verb) << word;
      std::string loud = " \n";
      for (const char c : word) loud += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      EXPECT_EQ(verb_of(loud + "\t "), spec.verb) << word;
    }
    EXPECT_FALSE(spec.help.empty());
    EXPECT_EQ(spec.argument.empty(), spec.takes == Takes::kNothing);
    EXPECT_NE(help_text().find(usage(spec)), std::string::npos);
  }
}

TEST(Commands, AnArgumentIsTrimmedAndKeepsItsCase) {
  EXPECT_EQ(std::get<Command>(parse("/Thread   AbC-1  ")).argument, "AbC-1");
  EXPECT_EQ(verb_of("/thread   NEW"), Verb::kNew);
  EXPECT_EQ(std::get<Command>(parse("/thread")).argument, "");
}

TEST(Commands, ACommandThatTakesNothingDoesNothingWithAnArgument) {
  EXPECT_NE(mistake("/new idea: buy a boat").find("/new"), std::string::npos);
  EXPECT_NE(mistake("/stop\nright now").find("/stop"), std::string::npos);
}

TEST(Commands, AnUnknownWordNamesTheNearest) {
  EXPECT_NE(mistake("/hlep").find("nearest is /help"), std::string::npos);
  EXPECT_NE(mistake("/versoin now").find("nearest is /version"), std::string::npos);
  EXPECT_NE(mistake("/cler").find("nearest is /clear"), std::string::npos);
  EXPECT_NE(mistake("/heartbeat").find("there is no command /heartbeat"), std::string::npos);
}

TEST(Commands, WhatIsNoSlashWordIsText) {
  for (const char* text : {"", "/", "/ new", "//new", "/etc/passwd", "new", "yes", "a /new", "/n\xC3\xA9",
                           "/a.b", "/this-word-is-much-longer-than-any-command"})
    EXPECT_TRUE(is_text(text)) << text;
}

TEST(Commands, ABareWordIsAnAnswerOnlyWhereOneIsAsked) {
  EXPECT_TRUE(is_text("yes"));
  EXPECT_EQ(spoken_decision(" YES \n"), Decision::kApprove);
  EXPECT_EQ(spoken_decision("Approve Always"), Decision::kAlways);
  EXPECT_EQ(spoken_decision("cancel"), Decision::kDeny);
  EXPECT_EQ(spoken_decision("yes please"), std::nullopt);
  EXPECT_EQ(verb_of("/Yes"), Verb::kApprove);
}

TEST(Commands, ApprovalsAsJson) {
  const auto decision = [](std::string_view text) { return std::get<ExecApproval>(parse(text)).decision; };
  EXPECT_EQ(decision(R"( {"ExecApproval":{"request_id":"r","approved":true,"always":false}} )"),
            Decision::kApprove);
  EXPECT_EQ(decision(R"({"ExecApproval":{"request_id":"r","approved":true,"always":true}})"),
            Decision::kAlways);
  EXPECT_EQ(decision(R"({"ExecApproval":{"request_id":"r","approved":false,"always":true}})"),
            Decision::kDeny);
  for (const char* text :
       {R"({"ExecApproval":{"request_id":"r"}})", R"({"ExecApproval":{"request_id":1,"approved":true}})",
        R"({"ExecApproval":[]})", R"({"ExecApproval":{"request_id":"r","approved":true},"more":1})", "{",
        R"({"execapproval":{"request_id":"r","approved":true}})", R"({"a": "ExecApproval"})"})
    EXPECT_TRUE(is_text(text)) << text;
}

TEST(Commands, AnyTextIsReadWithoutFault) {
  EXPECT_TRUE(rc::check([] {
    const auto text =
        *rc::gen::container<std::string>(rc::gen::elementOf(std::string("/ {}\"newthrad?\n\xC3\xA9:")));
    const Parsed parsed = parse(text);
    if (std::holds_alternative<UserText>(parsed)) return;
    RC_ASSERT(strings::trim(text).front() == '/' || strings::trim(text).front() == '{');
  }));
}

}  // namespace
}  // namespace chela::agent::commands
