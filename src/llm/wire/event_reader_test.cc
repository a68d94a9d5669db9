#include "llm/wire/event_reader.h"

#include "base/limits.h"
#include "testing/answer_reading.h"

namespace chela::llm::wire {
namespace {

// {"t": text, "r": reasoning, "call": key, "arg": piece, "all": arguments, "end": true}
template <bool kLinesOnly>
class Toy final : public EventReader {
 public:
  Toy(ErrorContext errors, DeltaSink sink)
      : EventReader(std::move(errors), std::move(sink), kLinesOnly ? Framing::kLines : Framing::kEvents) {}

 private:
  Result<> on_event(std::string_view name, const json::Value& event) override {
    if (name == "ping") return {};
    if (event.find("call") != nullptr) {
      const std::int64_t key = event.int_or("call", 0);
      if (event.find("arg") != nullptr) return add_arguments(key, event.string_or("arg"));
      if (event.find("all") != nullptr) return set_arguments(key, event.string_or("all"));
      return begin_call(key, event.string_or("id"), "f");
    }
    if (event.bool_or("end", false)) finish_with(FinishReason::kStop);
    if (event.bool_or("done", false)) end();
    if (Result<> added = add_reasoning(event.string_or("r")); !added) return added;
    return add_text(event.string_or("t"));
  }
};
using Events = Toy<false>;
using Lines = Toy<true>;

TEST(EventReader, ReadsEventsAndLines) {
  const Answer events = testing::answer_of<Events>(
      " \n: hello\n\ndata: {\"t\":\"h\u00e9\"}\n\nevent: ping\ndata: {\"t\":\"no\"}\n\ndata: "
      "{\"r\":\"hm\"}\n\n"
      "data: {\"call\":1}\n\ndata: {\"call\":1,\"arg\":\"{}\"}\n\ndata: {\"call\":9,\"arg\":\"lost\"}\n\n"
      "data: {\"end\":true}\n\ndata: [DONE]\n\ndata: {\"t\":\"late\"}\n\n");
  EXPECT_EQ(events.text, "h\u00e9");
  EXPECT_EQ(events.reasoning, "hm");
  ASSERT_EQ(events.tool_calls.size(), 1u);
  EXPECT_EQ(events.tool_calls[0].arguments, "{}");
  EXPECT_EQ(events.finish_reason, FinishReason::kToolCalls);
  const Answer lines =
      testing::answer_of<Lines>("{\"t\":\"a\"}\r\n\n{\"call\":0,\"all\":\"\"}\n{\"call\":0}\n{\"end\":true}");
  EXPECT_EQ(lines.text, "a");
  EXPECT_EQ(lines.tool_calls.size(), 1u);
  EXPECT_EQ(lines.tool_calls[0].arguments, "{}");  // never ""
  EXPECT_EQ(testing::answer_of<Events>("{\"t\":\"whole\",\"end\":true}").text, "whole");
  EXPECT_EQ(testing::answer_of<Lines>("{\"t\":\"\xff\",\"end\":true}").text, "\uFFFD");
}

TEST(EventReader, CutsAndGarbageAreUpstreamErrors) {
  testing::expect_cuts_are_upstream<Events>("data: {\"t\":\"a b\"}\n\ndata: {\"end\":true}\n\n", 39);
  testing::expect_cuts_are_upstream<Lines>("{\"t\":\"a b\"}\n{\"end\":true}\n", 24);
  for (const std::string_view body :
       {"", "data: {broken\n\n", "data: 7\n\n", "<html>x</html>", "{\"t\":", "[]7"})
    EXPECT_EQ(testing::error_of<Events>(body).code, Code::kUpstream) << body;
  EXPECT_EQ(testing::error_of<Lines>("<html>").code, Code::kUpstream);
  EXPECT_FALSE(testing::read_answer<Events>("data: {\"r\":\"\"}\n\n").streamed);
  EXPECT_TRUE(testing::read_answer<Events>("data: {\"r\":\"x\"}\n\n").streamed);
}

TEST(EventReader, TextCallsEventsAndDocumentsHaveLimits) {
  const std::string much(kMaxEventBytes / 2, 'x');
  const auto text = [&much](size_t) { return "{\"t\":\"" + much + "\"}\n"; };
  testing::expect_a_limit<Lines>("", text, kMaxModelAnswerBytes / much.size() + 1);
  testing::expect_a_limit<Lines>(
      "", [](size_t n) { return fmt::format("{{\"call\":{}}}\n", n); }, kMaxAnswerCalls);
  testing::expect_a_limit<Lines>(
      "{\"call\":0}\n", [&much](size_t) { return "{\"call\":0,\"arg\":\"" + much + "\"}\n"; },
      kMaxModelAnswerBytes / much.size() + 1);
  testing::expect_a_limit<Events>(
      "{", [&much](size_t) { return much; }, kMaxModelAnswerBytes / much.size() + 1);
  EXPECT_EQ(testing::error_of<Lines>(std::string(kMaxEventBytes + 1, ' ') + "x").code, Code::kUpstream);
  EXPECT_EQ(testing::read_answer<Lines>("{" + std::string(kMaxEventBytes, ' ')).answer.error().code,
            Code::kUpstream);
  EXPECT_EQ(testing::read_answer<Events>("data: " + std::string(kMaxEventBytes + 1, 'x')).answer.error().code,
            Code::kUpstream);
}

TEST(TokenCount, IsNeverNegativeAndSumsDoNotOverflow) {
  const json::Value usage = *json::parse(R"({"a":5,"b":-5,"c":9223372036854775807,"d":"x"})");
  EXPECT_EQ(token_count(usage, "a"), 5);
  EXPECT_EQ(token_count(usage, "b"), 0);
  EXPECT_LT(token_count(usage, "c"), std::int64_t{1} << 50);
  EXPECT_EQ(token_count(usage, "d"), 0);
}

}  // namespace
}  // namespace chela::llm::wire
