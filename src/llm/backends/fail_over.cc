#include "llm/backends/fail_over.h"

#include <algorithm>

#include "base/strings.h"
#include "llm/budget/token_bound.h"
#include "llm/failure.h"
#include "llm/limits.h"
#include "obs/log.h"

namespace chela::llm {
namespace {

using std::chrono::milliseconds;

// The mark that calls begin with where tools stand in the prompt; prose has no use for it.
constexpr std::string_view kCallMark = "\u25c1";

// Agents read calls of tools out of the text that a model writes: one that was cut must not be brought to an end by another model. They
// all begin with one of these.
bool may_hold_a_call(const Request& request, std::string_view text) {
  if (text.find(kCallMark) != std::string_view::npos) return true;
  if (request.tools.empty() && request.caller.thread.empty()) return false;
  return text.find_first_of("<{[`") != std::string_view::npos;
}

// Whether the failure says something of the model that holds for other requests too: a name that nobody knows, an answer that was
// refused for what was asked, or a breaker that opens again by itself do not.
bool tells_of_the_model(const Error& error) {
  return error.code != Code::kNotFound && error.code != Code::kPermissionDenied &&
         error.detail("reason") != "circuit_open";
}

// What is wrong for one model (too long, images) need not be for the next one.
bool of_the_request(const Error& error) {
  return error.code == Code::kInvalidArgument || error.code == Code::kUnsupported;
}

// The request for the rest of an answer. Providers refuse a beginning that ends with white space.
Request for_the_rest(Request request, std::string_view said) {
  std::vector<Message>& messages = request.messages;
  if (messages.empty() || messages.back().role != Role::kAssistant || !messages.back().tool_calls.empty())
    messages.push_back({.role = Role::kAssistant, .content = {}});
  messages.back().content += said;
  return request;
}

std::string_view without_end_space(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// The white space at the seam: it has been shown already, and is left out where the rest begins with it again.
class Seam {
 public:
  Seam() = default;
  explicit Seam(std::string_view shown) : left_(shown.substr(without_end_space(shown).size())) {}

  std::string_view pass(std::string_view piece) {
    while (!left_.empty() && !piece.empty()) {
      if (left_.front() != piece.front()) {
        left_.clear();
        break;
      }
      left_.erase(0, 1);
      piece.remove_prefix(1);
    }
    return piece;
  }

 private:
  std::string left_;
};

}  // namespace

// What of the answer has been passed on, over all attempts.
class FailOver::Shown {
 public:
  explicit Shown(DeltaSink sink) : sink_(std::move(sink)) {}

  void pass_on(const Delta& delta) {
    const std::string_view rest = seam_.pass(delta.text);
    if (rest.empty() && delta.reasoning.empty()) return;
    any_ = ever_ = more_ = true;
    thoughts_ |= !delta.reasoning.empty();
    text_ += rest;
    if (sink_) sink_({.text = std::string(rest), .reasoning = delta.reasoning});
  }

  bool any() const { return any_; }
  bool ever() const { return ever_; }
  bool more() const { return more_; }  // since the last attempt began
  const std::string& text() const { return text_; }
  const std::string& taken_over() const { return taken_over_; }

  // Whether another model may go on where the last one was cut.
  bool can_be_continued(const Request& request, const Error& error) const {
    return !thoughts_ && error.detail("called").empty() && text_.size() <= kMaxTakenOverBytes &&
           !without_end_space(text_).empty() && !request.sampling.response_format &&
           request.sampling.reasoning_effort.empty() && !may_hold_a_call(request, text_);
  }

  void go_on() {
    taken_over_ = text_;
    seam_ = Seam(text_);
    more_ = false;
  }

  void begin_anew() {
    const bool tell = any_;
    any_ = thoughts_ = more_ = false;
    text_.clear();
    taken_over_.clear();
    seam_ = {};
    if (tell && sink_) sink_({.text = {}, .reasoning = {}, .reset = true});
  }

  // The whole answer, from that of the last attempt.
  Answer whole(Answer answer) const {
    if (taken_over_.empty()) return answer;
    Seam seam(taken_over_);
    answer.text = taken_over_ + std::string(seam.pass(answer.text));
    answer.usage.output_tokens += budget::estimate_answer_tokens(taken_over_.size());
    return answer;
  }

 private:
  DeltaSink sink_;
  std::string text_;
  std::string taken_over_;  // of an earlier attempt
  Seam seam_;
  bool any_ = false;
  bool ever_ = false;
  bool more_ = false;
  bool thoughts_ = false;
};

milliseconds FailOver::cooling(const std::string& id) const {
  const auto found = failing_.find(id);
  if (found == failing_.end() || found->second.failures < settings_.threshold) return 0ms;
  const SteadyTime until = found->second.last + settings_.cooldown;
  return std::max(0ms, std::chrono::ceil<milliseconds>(until - loop_.clock().steady()));
}

void FailOver::failed(const std::string& id) {
  if (failing_.size() >= kMaxCooledModels && !failing_.contains(id)) {
    failing_.erase(std::ranges::min_element(failing_, {}, [](const auto& each) { return each.second.last; }));
  }
  Failing& model = failing_[id];
  model.last = loop_.clock().steady();
  ++model.failures;
}

std::vector<FailOver::Candidate> FailOver::candidates(const std::string& model) const {
  std::vector<Candidate> all{{.model = model, .target = resolve_(model)}};
  for (const std::string& each : settings_.models) {
    Candidate next{.model = each, .target = resolve_(each)};
    const bool known =
        std::ranges::any_of(all, [&next](const Candidate& other) { return other.id() == next.id(); });
    if (!known && next.target.usable) all.push_back(std::move(next));
  }
  return all;
}

void FailOver::tell(const Request& request, const Candidate& next, std::string reason) const {
  log::warn("llm", "another model is asked", {{"model", next.id()}, {"reason", reason}});
  if (!request.caller.chosen) return;
  request.caller.chosen(json::Value::object(
      {{"provider", next.target.provider}, {"model", next.model}, {"reason", std::move(reason)}}));
}

Task<Result<Answer>> FailOver::complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                        std::stop_token stop) {
  if (settings_.models.empty())
    co_return co_await inner_.complete(std::move(request), std::move(sink), deadline, std::move(stop));
  std::vector<Candidate> order = candidates(request.model);
  std::string reason;  // why the next one is asked, "" for the one that was wanted
  const auto passed_over = [this](const Candidate& each) { return cooling(each.id()) > 0ms; };
  if (std::ranges::all_of(order, passed_over)) {
    const auto longest = std::ranges::min_element(
        order, {}, [this](const Candidate& each) { return failing_.at(each.id()).last; });
    if (longest != order.begin()) reason = "all models fail, and this one has not been asked for longest";
    order = {*longest};
  } else if (passed_over(order.front())) {
    reason = fmt::format("{} keeps failing and is passed over for {} s more", order.front().id(),
                         std::chrono::ceil<std::chrono::seconds>(cooling(order.front().id())).count());
  }
  if (order.size() > 1) std::erase_if(order, passed_over);

  Shown shown(std::move(sink));
  const DeltaSink watching = [&shown](const Delta& delta) { shown.pass_on(delta); };
  std::vector<std::string> tried;
  std::optional<Error> wanted;  // what the first one failed with
  std::optional<Error> cut;     // what ended the attempt that the next one goes on from
  for (size_t at = 0;;) {
    const Candidate& asked = order[at];
    if (!reason.empty()) tell(request, asked, std::exchange(reason, {}));
    const bool goes_on = !shown.taken_over().empty();
    Request call = goes_on ? for_the_rest(request, without_end_space(shown.taken_over())) : request;
    call.model = asked.model;
    Result<Answer> answer = co_await inner_.complete(std::move(call), watching, deadline, stop);
    if (answer) {
      failing_.erase(asked.id());
      co_return shown.whole(std::move(*answer));
    }
    Error& error = answer.error();
    const auto given_up = [&] {
      if (shown.ever() && error.detail("streamed").empty()) error.with("streamed", "1");
      if (!tried.empty()) error.with("tried", strings::join(tried, ", "));
      return fail(std::move(error));
    };
    const bool late = deadline && loop_.clock().steady() >= *deadline;
    if (stop.stop_requested() || late) co_return given_up();
    // A provider that does not take the beginning of an answer may well give a whole one.
    if (goes_on && !shown.more() && error.code == Code::kInvalidArgument) {
      shown.begin_anew();
      if (!stop.stop_requested()) continue;
      error = std::move(*cut);
      co_return given_up();
    }
    const bool stand_in_refuses = at > 0 && of_the_request(error);
    if (!another_may_answer(error) && !stand_in_refuses) co_return given_up();
    if (!stand_in_refuses && tells_of_the_model(error)) failed(asked.id());
    tried.push_back(fmt::format("{}: {}", asked.id(), code_name(error.code)));
    if (at == 0) wanted = error;
    if (++at == order.size()) {
      // Who asked the first one did nothing that the last one may blame them for.
      if (stand_in_refuses && wanted) error = std::move(*wanted);
      co_return given_up();
    }
    reason = fmt::format("{} failed: {}", asked.id(), code_name(error.code));
    if (shown.any() && order[at].target.goes_on && shown.can_be_continued(request, error)) {
      shown.go_on();
      cut = error;
    } else {
      shown.begin_anew();
    }
    if (stop.stop_requested()) co_return given_up();
  }
}

}  // namespace chela::llm
