#include "llm/wire/event_reader.h"

#include <algorithm>

#include "base/limits.h"
#include "base/strings.h"
#include "base/utf8.h"

namespace chela::llm::wire {

Result<> EventReader::feed(std::string_view bytes) {
  if (!decided_) {
    // Gateways that keep a connection alive send white space before the answer.
    while (!bytes.empty() && (bytes[0] == ' ' || bytes[0] == '\n' || bytes[0] == '\r' || bytes[0] == '\t'))
      bytes.remove_prefix(1);
    if (bytes.empty()) return {};
    decided_ = true;
    document_ = framing_ == Framing::kEvents && (bytes[0] == '{' || bytes[0] == '[');
  }
  if (document_) return keep_document(bytes);
  return framing_ == Framing::kEvents ? feed_events(bytes) : feed_lines(bytes);
}

Result<> EventReader::feed_events(std::string_view bytes) {
  const Result<std::vector<net::SseEvent>> events = events_.feed(bytes);
  if (!events)
    return fail(Code::kUpstream, "{} sent a broken stream: {}", errors_.server, events.error().message);
  for (const net::SseEvent& event : *events) {
    if (Result<> read = read_event(event.event, event.data); !read) return read;
  }
  return {};
}

Result<> EventReader::feed_lines(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (rest_.size() + part.size() > kMaxEventBytes)
      return fail(Code::kUpstream, "{} sent a line of more than {} bytes", errors_.server, kMaxEventBytes);
    rest_ += part;
    if (end == std::string_view::npos) return {};
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(rest_, {});
    if (Result<> read = read_event("", line); !read) return read;
  }
  return {};
}

Result<> EventReader::keep_document(std::string_view bytes) {
  if (rest_.size() + bytes.size() > kMaxModelAnswerBytes) return fail(answer_too_large(errors_.server));
  rest_ += bytes;
  return {};
}

Result<> EventReader::read_event(std::string_view name, std::string_view text) {
  text = strings::trim(text);
  if (done_ || text.empty()) return {};
  if (text == "[DONE]") {  // of proxies that end every stream as OpenAI does
    done_ = true;
    return {};
  }
  const Result<json::Value> event = parse(text);
  if (!event) return fail(event.error());
  if (!event->is_object())
    return fail(Code::kUpstream, "{} sent {} where an event was expected", errors_.server,
                event->type_name());
  return on_event(name, *event);
}

Result<json::Value> EventReader::parse(std::string_view text) const {
  Result<json::Value> value = utf8::valid(text) ? json::parse(text) : json::parse(utf8::sanitize(text));
  if (!value)
    return fail(Code::kUpstream, "{} sent something that is no JSON: {}", errors_.server,
                value.error().message);
  return value;
}

void EventReader::pass_on(Delta delta) {
  streamed_ = true;
  if (sink_) sink_(delta);
}

Result<> EventReader::count(size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > kMaxModelAnswerBytes) return fail(answer_too_large(errors_.server));
  return {};
}

Result<> EventReader::add_text(std::string_view text) {
  if (text.empty()) return {};
  if (Result<> fits = count(text.size()); !fits) return fits;
  answer_.text += text;
  pass_on({.text = std::string(text), .reasoning = {}});
  return {};
}

Result<> EventReader::add_reasoning(std::string_view text) {
  if (text.empty()) return {};
  if (Result<> fits = count(text.size()); !fits) return fits;
  answer_.reasoning += text;
  pass_on({.text = {}, .reasoning = std::string(text)});
  return {};
}

Result<> EventReader::begin_call(std::int64_t key, std::string id, std::string name) {
  if (answer_.tool_calls.size() >= kMaxAnswerCalls) return fail(answer_too_large(errors_.server));
  if (Result<> fits = count(id.size() + name.size()); !fits) return fits;
  answer_.tool_calls.push_back({.id = std::move(id), .name = std::move(name), .arguments = {}});
  keys_.push_back(key);
  return {};
}

ToolCall* EventReader::call_of(std::int64_t key) {
  const auto found = std::ranges::find(keys_, key);
  return found == keys_.end() ? nullptr : &answer_.tool_calls[static_cast<size_t>(found - keys_.begin())];
}

Result<> EventReader::add_arguments(std::int64_t key, std::string_view piece) {
  ToolCall* call = call_of(key);
  if (call == nullptr) return {};
  if (Result<> fits = count(piece.size()); !fits) return fits;
  call->arguments += piece;
  return {};
}

Result<> EventReader::set_arguments(std::int64_t key, std::string whole) {
  ToolCall* call = call_of(key);
  if (call == nullptr) return {};
  if (Result<> fits = count(whole.size()); !fits) return fits;
  call->arguments = std::move(whole);
  return {};
}

Result<Answer> EventReader::finish() {
  if (document_) {
    const Result<json::Value> document = parse(rest_);
    if (!document) return fail(document.error());
    if (Result<> read = on_document(*document); !read) return fail(read.error());
  } else if (!rest_.empty()) {
    // The last line need not end.
    const std::string line = std::exchange(rest_, {});
    if (Result<> read = read_event("", line); !read) return fail(read.error());
  }
  if (!finished_) {
    return fail(
        Code::kUpstream, "{} {}", errors_.server,
        streamed_ || !answer_.tool_calls.empty() ? "cut the answer off before its end" : "sent no answer");
  }
  complete(answer_);
  make_regular(answer_);
  return std::move(answer_);
}

std::int64_t token_count(const json::Value& usage, std::string_view key) {
  constexpr std::int64_t kSane = 1'000'000'000'000;  // sums of them stay far from overflowing
  return std::clamp<std::int64_t>(usage.int_or(key, 0), 0, kSane);
}

const json::Value* given(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

}  // namespace chela::llm::wire
