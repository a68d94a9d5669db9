#include <gtest/gtest.h>

#include "base/strings.h"
#include "llm/backends/chain.h"
#include "llm/backends/fail_over.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"
#include "testing/played_provider.h"

// Every fault, wherever in an answer it comes, through everything that stands before a provider and before all of them.
namespace chela::llm {
namespace {

using testing::Play;
using testing::PlayedProvider;

enum class At { kFirstByte, kText, kReasoning, kCall, kCallAfterText };

Error fault(std::string_view name) {
  const auto status = [](Code code, std::string_view number) {
    return Error{.code = code, .message = "no"}.with("status", std::string(number));
  };
  const auto of = [](Code code, std::string_view message) {
    return Error{.code = code, .message = std::string(message)};
  };
  if (name == "400") return status(Code::kInvalidArgument, "400");
  if (name == "context") return status(Code::kInvalidArgument, "400").with("reason", "context_length");
  if (name == "401") return status(Code::kUnauthenticated, "401");
  if (name == "404") return status(Code::kNotFound, "404").with("reason", "model_not_found");
  if (name == "quota") return status(Code::kRateLimited, "429").with("retry", "no");
  if (name == "500") return status(Code::kUpstream, "500");
  if (name == "timeout") return of(Code::kTimeout, "nothing came for two minutes");
  if (name == "cut") return of(Code::kUpstream, "it cut the answer off before its end");
  if (name == "garbage") return of(Code::kUpstream, "it sent something that is no JSON");
  if (name == "unreachable") return of(Code::kUnavailable, "nobody listens there");
  if (name == "budget") return of(Code::kBudgetExceeded, "the limit of the day is spent");
  Error limited = status(Code::kRateLimited, "429");
  limited.retry_after = name == "429" ? kRetryBase : 2 * kRetryCeiling;
  return limited;
}

Play play(std::string_view name, At at) {
  Play out{.error = fault(name)};
  if (at == At::kText || at == At::kCallAfterText) out.deltas = {{.text = "A"}};
  if (at == At::kReasoning) out.deltas = {{.reasoning = "hm"}};
  if (at == At::kCall || at == At::kCallAfterText) out.error->with("called", "1");
  return out;
}

// Where the budget counts: attempts.
class Count final : public Provider {
 public:
  Count(Provider& inner, int& attempts) : inner_(inner), attempts_(attempts) {}
  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override {
    ++attempts_;
    return inner_.complete(std::move(request), std::move(sink), deadline, std::move(stop));
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override {
    return inner_.models(std::move(stop));
  }

 private:
  Provider& inner_;
  int& attempts_;
};

// Two providers with their chains, "one/m" that fails and "two/m" that answers "B", behind a fail-over.
class Bench final : public Provider {
 public:
  Bench(Play failing, std::vector<std::string> fallback, bool goes_on) {
    one_ = chain({std::move(failing)}, first_attempts);
    two_ = chain({{.deltas = {{.text = "B"}}}}, second_attempts);
    front_.emplace(
        *this,
        [goes_on](const std::string& model) {
          return FailOver::Target{
              .provider = model.substr(0, 3), .sent_as = "m", .usable = true, .goes_on = goes_on};
        },
        loop_);
    front_->configure({.models = std::move(fallback), .threshold = 3, .cooldown = 300s});
  }

  // Attempts at both, what a client has seen ("|" where it had to forget what was before), and how it ended if not well.
  std::string ask() {
    first_attempts = second_attempts = 0;
    std::string shown;
    const DeltaSink show = [&shown](const Delta& delta) {
      if (delta.reset) shown += "|";
      if (!delta.reasoning.empty()) shown += "(" + delta.reasoning + ")";
      shown += delta.text;
    };
    const Result<Answer> answer = runtime::block_on(
        loop_,
        front_->complete(Request{.model = "one/m", .messages = {{.content = "hi"}}}, show, std::nullopt, {}));
    std::string out = fmt::format("{}+{}", first_attempts, second_attempts);
    if (!shown.empty()) out += " " + shown;
    if (!answer) {
      out += fmt::format(" {}", code_name(answer.error().code));
      if (answer.error().detail("streamed") == "1") out += " streamed";
      if (answer.error().detail("reason") == "circuit_open") out += " circuit_open";
    } else if (answer->text != shown.substr(shown.rfind('|') + 1)) {
      out += " but the answer is " + answer->text;
    }
    return out;
  }

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override {
    Chain& chain = request.model == "one/m" ? *one_ : *two_;
    return chain.front().complete(std::move(request), std::move(sink), deadline, std::move(stop));
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{};
  }

  int first_attempts = 0;
  int second_attempts = 0;

 private:
  std::unique_ptr<Chain> chain(std::deque<Play> plays, int& attempts) {
    Chain::Parts parts{
        .loop = loop_,
        .ids = ids_,
        .name = "it",
        .breaker = {.threshold = 1, .recovery = 30s},
        .count = [&attempts](Provider& inner) { return std::make_unique<Count>(inner, attempts); }};
    return std::make_unique<Chain>(
        std::make_unique<PlayedProvider>(loop_, std::move(plays)), Quirks{},
        [](const std::string& model) { return model; }, std::move(parts));
  }

  testing::ManualLoop loop_;
  testing::CountingIds ids_;
  std::unique_ptr<Chain> one_;
  std::unique_ptr<Chain> two_;
  std::optional<FailOver> front_;
};

struct Row {
  std::vector<std::string_view> faults;
  At at;
  const char* alone;     // repetitions and breaker; CODE is the fault's
  const char* again;     // the same call once more: what the breaker made of the first
  const char* others;    // with a fall-back
  const char* prefills;  // with one that goes on from the beginning of an answer
};

const std::vector<std::string_view> kPassing{"429", "500", "timeout", "cut", "garbage", "unreachable"};
const std::vector<std::string_view> kRequest{"400", "context", "budget"};
const std::vector<std::string_view> kAccount{"401", "404", "quota"};
constexpr const char* kOpen = "0+0 unavailable circuit_open";

const Row kRows[] = {
    // What passes is repeated until something was shown, opens the breaker, and is somebody else's call then.
    {kPassing, At::kFirstByte, "4+0 CODE", kOpen, "4+1 B", "4+1 B"},
    {kPassing, At::kText, "1+0 A CODE streamed", kOpen, "1+1 A|B", "1+1 AB"},
    {kPassing, At::kReasoning, "1+0 (hm) CODE streamed", kOpen, "1+1 (hm)|B", "1+1 (hm)|B"},
    {kPassing, At::kCall, "4+0 CODE", kOpen, "4+1 B", "4+1 B"},
    {kPassing, At::kCallAfterText, "1+0 A CODE streamed", kOpen, "1+1 A|B", "1+1 A|B"},
    // A provider that asks for more time than anybody waits.
    {{"429 for long"}, At::kFirstByte, "1+0 CODE", kOpen, "1+1 B", "1+1 B"},
    {{"429 for long"}, At::kText, "1+0 A CODE streamed", kOpen, "1+1 A|B", "1+1 AB"},
    // What the key or the account is to blame for: no repetition, no breaker, another provider.
    {kAccount, At::kFirstByte, "1+0 CODE", "1+0 CODE", "1+1 B", "1+1 B"},
    {kAccount, At::kText, "1+0 A CODE streamed", "1+0 A CODE streamed", "1+1 A|B", "1+1 AB"},
    {kAccount, At::kReasoning, "1+0 (hm) CODE streamed", "1+0 (hm) CODE streamed", "1+1 (hm)|B",
     "1+1 (hm)|B"},
    {kAccount, At::kCall, "1+0 CODE", "1+0 CODE", "1+1 B", "1+1 B"},
    {kAccount, At::kCallAfterText, "1+0 A CODE streamed", "1+0 A CODE streamed", "1+1 A|B", "1+1 A|B"},
    // What the request is to blame for, or a limit of spending: nothing helps.
    {kRequest, At::kFirstByte, "1+0 CODE", "1+0 CODE", "1+0 CODE", "1+0 CODE"},
    {kRequest, At::kText, "1+0 A CODE streamed", "1+0 A CODE streamed", "1+0 A CODE streamed",
     "1+0 A CODE streamed"},
    {kRequest, At::kReasoning, "1+0 (hm) CODE streamed", "1+0 (hm) CODE streamed", "1+0 (hm) CODE streamed",
     "1+0 (hm) CODE streamed"},
    {kRequest, At::kCall, "1+0 CODE", "1+0 CODE", "1+0 CODE", "1+0 CODE"},
    {kRequest, At::kCallAfterText, "1+0 A CODE streamed", "1+0 A CODE streamed", "1+0 A CODE streamed",
     "1+0 A CODE streamed"},
};

TEST(Faults, EachIsRepeatedLeftAloneOrHandedOnAsItShouldBe) {
  for (const Row& row : kRows) {
    for (const std::string_view name : row.faults) {
      SCOPED_TRACE(fmt::format("{} at {}", name, static_cast<int>(row.at)));
      const std::string code(code_name(fault(name).code));
      const auto expected = [&code](const char* text) { return strings::replace_all(text, "CODE", code); };
      Bench alone(play(name, row.at), {}, false);
      EXPECT_EQ(alone.ask(), expected(row.alone));
      EXPECT_EQ(alone.ask(), expected(row.again));
      EXPECT_EQ(Bench(play(name, row.at), {"two/m"}, false).ask(), expected(row.others));
      EXPECT_EQ(Bench(play(name, row.at), {"two/m"}, true).ask(), expected(row.prefills));
    }
  }
}

}  // namespace
}  // namespace chela::llm
