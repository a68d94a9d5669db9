#include "bus/session.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "bus/limits.h"

namespace chela::bus {
namespace {

using json::Value;
using Verdict = Session::Verdict;

Value none() { return {}; }
Value parsed(std::string_view text) { return *json::parse(text); }

TEST(Session, TheFirstMatchWins) {
  const Session session{.calls = Session::Calls::kListed,
                        .allowed = {"a::f", "a::both", "engine::log::info"},
                        .forbidden = {"a::both", "b::not", "engine::workers::register"},
                        .expose = {{.id_pattern = "b::*"}}};
  EXPECT_EQ(session.may_call("a::f", none), Verdict::kAllowed);
  EXPECT_EQ(session.may_call("a::both", none), Verdict::kForbidden);
  EXPECT_EQ(session.may_call("b::any", none), Verdict::kAllowed);
  EXPECT_EQ(session.may_call("b::not", none), Verdict::kForbidden);
  EXPECT_EQ(session.may_call("engine::channels::create", none), Verdict::kAllowed);
  EXPECT_EQ(session.may_call("engine::workers::register", none), Verdict::kForbidden);
  EXPECT_EQ(session.may_call("engine::functions::list", none), Verdict::kNotListed);
  EXPECT_EQ(session.may_call("c::f", none), Verdict::kNotListed);
  EXPECT_EQ(Session{}.may_call("c::f", none), Verdict::kAllowed);
}

TEST(Session, AllNamedMetadataMustMatch) {
  Session session{.calls = Session::Calls::kListed};
  session.expose = {{.metadata = {{.key = "public", .value = true},
                                  {.key = "name", .value = "match(\"a*\")", .pattern = "a*"}}}};
  const auto with = [&](std::string_view metadata) {
    return session.may_call("f", [metadata] { return parsed(metadata); });
  };
  EXPECT_EQ(with(R"({"public":true,"name":"abc"})"), Verdict::kAllowed);
  EXPECT_EQ(with(R"({"public":true,"name":"xbc"})"), Verdict::kNotListed);
  EXPECT_EQ(with(R"({"public":"true","name":"abc"})"), Verdict::kNotListed);
  EXPECT_EQ(with(R"({"public":true})"), Verdict::kNotListed);
  EXPECT_EQ(with("null"), Verdict::kNotListed);
}

TEST(Session, AnAnswerMakesASession) {
  const Result<Session> session = Session::from_answer(
      {.calls = Session::Calls::kListed, .expose = {{.id_pattern = "x"}}},
      parsed(
          R"({"allowed_functions":["a"],"forbidden_functions":["b"],"allowed_trigger_types":[],"allow_function_registration":false,
             "allow_trigger_type_registration":true,"context":{"u":1},"function_registration_prefix":"p"})"));
  ASSERT_TRUE(session);
  EXPECT_TRUE(session->allowed.contains("a"));
  EXPECT_TRUE(session->forbidden.contains("b"));
  EXPECT_TRUE(session->trigger_types && session->trigger_types->empty());
  EXPECT_EQ(session->register_functions, Session::May::kNo);
  EXPECT_EQ(session->register_trigger_types, Session::May::kYes);
  EXPECT_EQ(session->prefixed("f"), "p::f");
  EXPECT_EQ(session->expose.size(), 1u);
  const Result<Session> least = Session::from_answer({}, Value::object());
  ASSERT_TRUE(least);
  EXPECT_EQ(least->register_functions, Session::May::kYes);
  EXPECT_EQ(least->register_trigger_types, Session::May::kNo);
  EXPECT_FALSE(least->trigger_types);
}

TEST(Session, AnotherShapeIsRefused) {
  for (const std::string_view wrong :
       {"null", "[]", "true", R"({"allowed_functions":"a"})", R"({"forbidden_functions":[1]})",
        R"({"allow_function_registration":"yes"})", R"({"function_registration_prefix":7})"}) {
    EXPECT_FALSE(Session::from_answer({}, parsed(wrong))) << wrong;
  }
  json::Array many(kMaxSessionIds + 1, Value("a"));
  EXPECT_FALSE(Session::from_answer({}, Value::object({{"allowed_functions", std::move(many)}})));
}

TEST(Patterns, AStarIsAnyRun) {
  EXPECT_TRUE(matches_pattern("test::ew::public::*", "test::ew::public::echo"));
  EXPECT_FALSE(matches_pattern("test::ew::public::*", "test::ew::private::echo"));
  EXPECT_TRUE(matches_pattern("*::a::*::z", "x::a::a::b::z"));
  EXPECT_FALSE(matches_pattern("a*b", "ab c"));
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_FALSE(matches_pattern("", "a"));
  EXPECT_TRUE(matches_pattern("a**b", "ab"));
  EXPECT_TRUE(matches_pattern("engine::functions::list", "engine::functions::list"));
}

RC_GTEST_PROP(Patterns, MatchWhatTheyWereMadeFrom, (const std::vector<std::string>& parts)) {
  std::string pattern;
  std::string text;
  for (const std::string& each : parts) {
    pattern += each + "*";
    text += each + "any*thing";
  }
  RC_ASSERT(matches_pattern(pattern, text));
}

}  // namespace
}  // namespace chela::bus
