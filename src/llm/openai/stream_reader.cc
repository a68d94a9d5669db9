#include "llm/openai/stream_reader.h"

#include "base/limits.h"
#include "base/strings.h"
#include "base/utf8.h"

namespace chela::llm::openai {

StreamReader::StreamReader(wire::ErrorContext errors, DeltaSink sink)
    : errors_(std::move(errors)), sink_(std::move(sink)), builder_(errors_) {}

Result<> StreamReader::feed(std::string_view bytes) {
  if (form_ == Form::kUndecided) {
    // Gateways that keep a connection alive send white space before the answer.
    while (!bytes.empty() && (bytes[0] == ' ' || bytes[0] == '\n' || bytes[0] == '\r' || bytes[0] == '\t'))
      bytes.remove_prefix(1);
    if (bytes.empty()) return {};
    form_ = bytes[0] == '{' ? Form::kWhole : Form::kEvents;
  }
  if (form_ == Form::kEvents) return feed_events(bytes);
  if (whole_.size() + bytes.size() > kMaxModelAnswerBytes)
    return fail(wire::answer_too_large(errors_.server));
  whole_ += bytes;
  return {};
}

Result<> StreamReader::feed_events(std::string_view bytes) {
  const Result<std::vector<net::SseEvent>> events = events_.feed(bytes);
  if (!events)
    return fail(Code::kUpstream, "{} sent a broken stream: {}", errors_.server, events.error().message);
  for (const net::SseEvent& event : *events) {
    if (done_) return {};
    if (Result<> read = on_event(event); !read) return read;
  }
  return {};
}

Result<> StreamReader::on_event(const net::SseEvent& event) {
  const std::string_view data = strings::trim(event.data);
  if (data.empty()) return {};
  if (data == "[DONE]") {
    done_ = true;
    return {};
  }
  const Result<json::Value> chunk = parse(data);
  if (!chunk) return fail(chunk.error());
  const bool bare_error = event.event == "error" && chunk->find("error") == nullptr;
  if (bare_error) return fail(wire::from_error_value(errors_, *chunk));
  const Result<Delta> delta = builder_.add_chunk(*chunk);
  if (!delta) return fail(delta.error());
  pass_on(*delta);
  return {};
}

Result<json::Value> StreamReader::parse(std::string_view text) const {
  Result<json::Value> value = utf8::valid(text) ? json::parse(text) : json::parse(utf8::sanitize(text));
  if (!value)
    return fail(Code::kUpstream, "{} sent something that is no JSON: {}", errors_.server,
                value.error().message);
  return value;
}

void StreamReader::pass_on(const Delta& delta) {
  if (delta.text.empty() && delta.reasoning.empty()) return;
  streamed_ = true;
  if (sink_) sink_(delta);
}

Result<Answer> StreamReader::finish() {
  if (form_ == Form::kWhole) {
    const Result<json::Value> completion = parse(whole_);
    if (!completion) return fail(completion.error());
    const Result<Delta> delta = builder_.add_whole(*completion);
    if (!delta) return fail(delta.error());
    if (!builder_.started())
      return fail(Code::kUpstream, "{} sent an answer without choices", errors_.server);
    pass_on(*delta);
  } else if (!builder_.finished() && !(done_ && builder_.started())) {
    return fail(Code::kUpstream, "{} {}", errors_.server,
                builder_.started() ? "cut the answer off before its end" : "sent no answer");
  }
  Answer answer = builder_.take();
  // A server that says [DONE] without a reason has simply stopped.
  if (!builder_.finished() && answer.finish_reason == FinishReason::kUnknown)
    answer.finish_reason = FinishReason::kStop;
  return answer;
}

}  // namespace chela::llm::openai
