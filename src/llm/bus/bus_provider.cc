#include "llm/bus/bus_provider.h"

#include "obs/log.h"

namespace chela::llm {
namespace {

constexpr std::string_view kFunction = "llm::complete";

// AgentOS's form of a tool call, {callId, id, arguments}, in OpenAI's.
json::Value plain_calls(const json::Value& calls) {
  json::Value out = json::Value::array();
  if (calls.as_array() == nullptr) return out;
  for (const json::Value& each : *calls.as_array()) {
    const json::Value* arguments = each.find("arguments");
    out.push_back(json::Value::object(
        {{"id", each.string_or("callId")},
         {"type", "function"},
         {"function",
          json::Value::object({{"name", each.string_or("id")},
                               {"arguments", arguments ? *arguments : json::Value::object()}})}}));
  }
  return out;
}

// The request as workers know it: what another provider wants back with its own answers says nothing to them.
json::Value for_worker(const Request& request) {
  json::Value value = to_json(request);
  for (json::Value& message : *value.find("messages")->as_array())
    message.as_object()->erase("provider_data");
  return value;
}

std::int64_t tokens(const json::Value& usage, std::string_view name, std::string_view other) {
  return std::max<std::int64_t>(0, usage.int_or(name, usage.int_or(other, 0)));
}

}  // namespace

Result<Answer> answer_from_json(const json::Value& value) {
  json::Value message = json::Value::object({{"role", "assistant"}});
  if (const json::Value* content = value.find("content")) message.set("content", *content);
  const json::Value* calls = value.find("tool_calls");
  const json::Value* others = value.find("toolCalls");
  if (calls != nullptr) message.set("tool_calls", *calls);
  if (calls == nullptr && others != nullptr) message.set("tool_calls", plain_calls(*others));
  Result<Message> read = value.is_object()
                             ? message_from_json(message)
                             : fail(Code::kInvalidArgument, "it is {}, not an object", value.type_name());
  if (!read)
    return fail(Code::kUpstream, "what {} answered is no message: {}", kFunction, read.error().message);
  Answer answer{.text = std::move(read->content), .tool_calls = std::move(read->tool_calls)};
  if (answer.text.empty() && answer.tool_calls.empty())
    return fail(Code::kUpstream, "{} answered without content and without tool_calls", kFunction);
  answer.model = value.string_or("model");
  answer.finish_reason = finish_reason_from_name(value.string_or("finish_reason"));
  if (answer.finish_reason == FinishReason::kUnknown)
    answer.finish_reason = answer.tool_calls.empty() ? FinishReason::kStop : FinishReason::kToolCalls;
  if (const json::Value* usage = value.find("usage")) {
    answer.usage = {.input_tokens = tokens(*usage, "prompt_tokens", "input_tokens"),
                    .output_tokens = tokens(*usage, "completion_tokens", "output_tokens"),
                    .cached_tokens = tokens(*usage, "cached_tokens", "cache_read_tokens")};
  }
  return answer;
}

bool WorkerProvider::there() const {
  return bus_.replaced(kFunction, {.principal = asking_, .scope = asking_.scope()});
}

Task<Result<Answer>> WorkerProvider::complete(Request request, DeltaSink sink,
                                              std::optional<SteadyTime> deadline, std::stop_token stop) {
  op::CallContext context{.principal = asking_, .scope = asking_.scope(), .deadline = deadline, .stop = stop};
  const Result<json::Value> said =
      co_await bus_.call_replacement(std::move(context), std::string(kFunction), for_worker(request));
  if (stop.stop_requested()) co_return fail(Code::kCancelled, "the model call was cancelled");
  if (said) {
    Result<Answer> answer = answer_from_json(*said);
    if (!answer) co_return answer;
    if (answer->model.empty()) answer->model = request.model;
    if (!answer->text.empty() && sink) sink({.text = answer->text, .reasoning = {}});
    co_return answer;
  }
  Error error = said.error();
  if (bus::never_begun(error) || error.detail("bus_code") == "invocation_stopped") {
    error.code = Code::kUnavailable;
    error.with(std::string(kGone), "1");
    co_return fail(std::move(error));
  }
  error.message = fmt::format("{} of a worker failed: {}", kFunction, error.message);
  co_return fail(std::move(error));
}

Task<Result<std::vector<std::string>>> WorkerProvider::models(std::stop_token) {
  co_return std::vector<std::string>{};
}

Task<Result<Answer>> BusProvider::complete(Request request, DeltaSink sink,
                                           std::optional<SteadyTime> deadline, std::stop_token stop) {
  if (!worker_.there())
    co_return co_await own_.complete(std::move(request), std::move(sink), deadline, std::move(stop));
  Result<Answer> answer = co_await front_.complete(request, sink, deadline, stop);
  if (answer || answer.error().detail(WorkerProvider::kGone).empty()) co_return answer;
  log::warn("llm", "the worker that answers in the model's place has gone; its provider is asked",
            {{"error", answer.error().message}});
  co_return co_await own_.complete(std::move(request), std::move(sink), deadline, std::move(stop));
}

Task<Result<std::vector<std::string>>> BusProvider::models(std::stop_token stop) {
  return own_.models(std::move(stop));
}

}  // namespace chela::llm
