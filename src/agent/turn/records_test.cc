#include "agent/turn/records.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <iterator>

namespace chela::agent::turn {
namespace {

using json::Value;

struct Body {
  std::string_view kind;
  std::string_view text;
};

// Every kind with every member, none of them with its default: how bodies lie in people's logs, byte by byte.
constexpr Body kBodies[] = {
    {"TurnStarted",
     R"({"v":1,"turn":"t1","number":2,"message_id":"m","input":"hi","content":"at noon: hi","agent":"writer","model":"m-1",)"
     R"("system":"hash-s","tools":"hash-t","channel":"cli","max_iterations":5,"context_tokens":1000,"prompt_tokens":30,)"
     R"("permissions":["chat:*","tools:web"],"at":9,"client_tools":["theirs"],)"
     R"("history":[{"role":"user","content":"before"},{"role":"assistant","content":"yes"}],)"
     R"("temperature":0.5,"top_p":0.25,"presence_penalty":1.5,"frequency_penalty":-1.5,"max_tokens":7,"seed":3,"stop":["a","b"],)"
     R"("response_format":{"type":"text"},"reasoning_effort":"low","parallel_tool_calls":true,"tool_choice":"required",)"
     R"("tool_choice_name":"theirs","sees_images":true,"client_system":"hash-c","tool_calling":"prompted",)"
     R"("attachments":[{"name":"a.png","media_type":"image/png","size":3,"path":"uploads/m/a.png","kind":"image","hash":"h"},)"
     R"({"name":"b.bin","media_type":"application/zip","size":4,"path":"uploads/m/b.bin","kind":"file"}]})"},
    {"ModelRequested", R"({"v":1,"iteration":3,"hash":"h"})"},
    {"ModelAnswered",
     R"({"v":1,"text":"so","usage":{"input_tokens":1,"output_tokens":2,"cached_tokens":3},"finish_reason":"tool_calls",)"
     R"("model":"m-2","reasoning":"because","tool_calls":[{"id":"c1","name":"echo","arguments":"{}"}],)"
     R"("provider_data":"{\"anthropic\":[]}","refused":"cut"})"},
    {"ToolRequested",
     R"({"v":1,"calls":[{"id":"c1","name":"shell","arguments":{"command":"ls"},"decision":"ask","description":"lists",)"
     R"("repeatable":true,"consent":true},{"id":"c2","name":"x","arguments":null,"decision":"refused","refusal":"no such tool"},)"
     R"({"id":"c3","name":"echo","arguments":{},"decision":"run"}]})"},
    {"ToolStarted", R"({"v":1,"id":"c1","name":"echo"})"},
    {"ToolFinished",
     R"({"v":1,"id":"c1","name":"echo","text":"all of it","preview":"all","is_error":true,"ending":"client","message_id":"m"})"},
    {"Asked",
     R"({"v":1,"request_id":"r","call_id":"c1","tool_name":"shell","description":"lists","arguments":{"command":"ls"}})"},
    {"Answered", R"({"v":1,"request_id":"r","decision":"always","input":"always","message_id":"m"})"},
    {"Steered",
     R"({"v":1,"message_id":"m","input":"x","next_turn":"t2","with_results":true,)"
     R"("terms":{"top_p":0.5,"tool_choice":"none","tool_choice_name":"f",)"
     R"("tools":"[{\"name\":\"f\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}]","system":"s"},)"
     R"("content":"x and more","attachments":[{"name":"a.txt","media_type":"text/plain","size":3,"path":"uploads/m/a.txt",)"
     R"("kind":"text","hash":"h"}],"permissions":["chat:write"]})"},
    {"Compacted",
     R"({"v":1,"drop_below":3,"shorten":[4,6],"tokens_before":10,"tokens_after":5,"refused_length":true,"summary":"- so far",)"
     R"("usage":{"input_tokens":1,"output_tokens":2,"cached_tokens":3}})"},
    {"Interrupted", R"({"v":1,"reason":"a person"})"},
    {"TurnFinished",
     R"({"v":1,"reply":"done","usage":{"input_tokens":1,"output_tokens":2,"cached_tokens":3},"finish_reason":"length","at":9})"},
    {"TurnFailed",
     R"({"v":1,"error":{"code":"timeout","message":"too late","context":{"provider":"p"},"retry_after_ms":5}})"},
    {"Forked", R"({"v":1,"from":"thread-1","at":3})"},
    {"Undone", R"({"v":1,"turn":"t1","number":4})"},
    {"Redone", R"({"v":1,"turn":"t1","number":4})"},
    {"Cleared", R"({"v":1,"turns":5})"},
    {"CredentialAsked",
     R"({"v":1,"request_id":"r","call_id":"c1","name":"github","instructions":"make a token","expires_at":9,)"
     R"("auth_url":"https://a.example","setup_url":"https://s.example","replaces":true})"},
    {"CredentialAnswered", R"({"v":1,"request_id":"r","name":"github","end":"expired"})"},
};

// What reading and writing makes of a body; "" when it is refused.
std::string again(std::string_view kind, std::string_view text) {
  const Result<Input> input = from_body(kind, text);
  return input ? to_body(*input) : "";
}

TEST(Records, EveryMemberOfEveryKindIsReadAndWritten) {
  ASSERT_EQ(std::size(kBodies), all_kinds().size());
  for (size_t i = 0; i < std::size(kBodies); ++i) {
    const auto& [kind, text] = kBodies[i];
    EXPECT_EQ(kind, all_kinds()[i]);
    const Result<Input> input = from_body(kind, text);
    ASSERT_TRUE(input) << kind << ": " << input.error().text();
    EXPECT_EQ(kind_of(*input), kind);
    EXPECT_EQ(to_body(*input), text);
  }
}

// Else the test above would not see a member that is neither read nor written.
TEST(Records, NoMemberAboveHasItsDefault) {
  for (const auto& [kind, text] : kBodies) {
    const std::string least = again(kind, R"({"v":1})");
    ASSERT_NE(least, "") << kind;
    const Value defaults = *json::parse(least);
    for (const json::Member& member : *json::parse(text)->as_object()) {
      const Value* other = defaults.find(member.key);
      if (member.key != "v" && other != nullptr)
        EXPECT_FALSE(*other == member.value) << kind << " " << member.key;
    }
  }
}

TEST(Records, EveryNameOfAnEnumerationComesBack) {
  const auto expect_kept = [](std::string_view kind, std::string_view member,
                              std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      const std::string body =
          again(kind, json::write(Value::object({{"v", 1}, {std::string(member), name}})));
      EXPECT_EQ(json::parse(body)->string_or(member), name) << kind;
    }
  };
  expect_kept("ToolFinished", "ending", {"ran", "refused", "denied", "interrupted", "client"});
  expect_kept("Answered", "decision", {"approve", "always", "deny"});
  expect_kept("CredentialAnswered", "end", {"stored", "cancelled", "expired"});
  expect_kept("TurnStarted", "tool_choice", {"none", "required"});
  expect_kept("TurnFinished", "finish_reason", {"stop", "length", "tool_calls", "content_filter"});
}

// Bodies as the first program wrote them, and what they mean today.
TEST(Records, BodiesOfTheFirstProgramAreRead) {
  const Result<Input> started = from_body(
      "TurnStarted",
      R"({"v":1,"turn":"t","number":1,"message_id":"m","input":"hi","content":"hi","agent":"default","model":"m-1","system":"hash-s",)"
      R"("tools":"hash-t","channel":"cli","max_iterations":5,"context_tokens":1000,"at":9,"temperature":0.5,"max_tokens":7})");
  ASSERT_TRUE(started);
  const auto& turn = std::get<TurnStarted>(*started);
  EXPECT_EQ(turn.sampling, (llm::Sampling{.temperature = 0.5, .max_tokens = 7}));
  EXPECT_EQ(turn.permissions, op::Permissions{"*"});  // before there were any to keep
  EXPECT_EQ(turn.prompt_tokens, 0);
  EXPECT_TRUE(turn.attachments.empty() && turn.history.empty() && !turn.sees_images);
  EXPECT_EQ(turn.tool_choice, llm::ToolChoice::kAuto);
  const Result<Input> steered = from_body("Steered", R"({"v":1,"message_id":"m","input":"x"})");
  ASSERT_TRUE(steered);
  EXPECT_EQ(std::get<Steered>(*steered).with, Steered::With::kNothing);
  EXPECT_EQ(std::get<Steered>(*steered).terms, Terms{});
  EXPECT_EQ(std::get<Steered>(*steered).permissions, op::Permissions{"*"});
  const Result<Input> answered =
      from_body("Answered", R"({"v":1,"request_id":"r","decision":"deny","input":""})");
  EXPECT_EQ(std::get<Answered>(*answered).message_id, "");
  const Result<Input> compacted = from_body(
      "Compacted",
      R"({"v":1,"drop_below":3,"shorten":[4],"tokens_before":10,"tokens_after":5,"refused_length":false})");
  EXPECT_EQ(std::get<Compacted>(*compacted).plan, (CompactionPlan{3, {4}, 10, 5}));
  EXPECT_FALSE(std::get<Compacted>(*compacted).usage);
  const Result<Input> requested = from_body(
      "ToolRequested", R"({"v":1,"calls":[{"id":"c","name":"echo","arguments":{},"decision":"ask"}]})");
  EXPECT_EQ(std::get<ToolRequested>(*requested).calls.at(0).consent, tools::Consent::kNotAsked);
}

TEST(Records, NewerOrUnknownOnesAreRefused) {
  EXPECT_EQ(from_body("TurnFinished", R"({"v":2})").error().code, Code::kUnsupported);
  EXPECT_EQ(from_body("TurnFinished", R"({"v":0})").error().code, Code::kUnsupported);
  EXPECT_EQ(from_body("TurnFinished", "{}").error().code, Code::kUnsupported);
  EXPECT_EQ(from_body("TurnFinished", "[1]").error().code, Code::kUnsupported);
  EXPECT_EQ(from_body("Nonsense", R"({"v":1})").error().code, Code::kUnsupported);
  EXPECT_FALSE(from_body("TurnFinished", "no json"));
}

// Whatever a damaged disk makes of a member: the body is refused, or means something that is written and read the same from then on.
TEST(Records, DamagedMembersAreAnErrorOrADefault) {
  static const Value kOthers[] = {Value(),          Value(true),       Value(-7),
                                  Value("damaged"), Value::array({1}), Value::object({{"role", 1}})};
  rc::check([](std::uint8_t kind, std::uint8_t which, std::uint8_t other) {
    const Body& body = kBodies[kind % std::size(kBodies)];
    Value damaged = *json::parse(body.text);
    const json::Object& members = *damaged.as_object();
    const std::string key = std::next(members.begin(), 1 + which % (members.size() - 1))->key;
    damaged.set(key, kOthers[other % std::size(kOthers)]);
    const std::string once = again(body.kind, json::write(damaged));
    if (!once.empty()) RC_ASSERT(again(body.kind, once) == once);
  });
}

}  // namespace
}  // namespace chela::agent::turn
