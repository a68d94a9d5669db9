#include "testing/scripted_answer.h"

#include <cmath>

#include "base/strings.h"

namespace chela::testing {
namespace {

std::string sse(std::string_view data) { return fmt::format("data: {}\n\n", data); }

json::Value usage_json(const Reply& reply, const AnswerForm& form) {
  const ScriptedUsage fitting{.input = form.prompt_tokens,
                              .output = static_cast<std::int64_t>(reply.text.size() / 4 + 1)};
  const ScriptedUsage& usage = reply.usage ? *reply.usage : fitting;
  return json::Value::object(
      {{"prompt_tokens", usage.input},
       {"completion_tokens", usage.output},
       {"total_tokens", usage.input + usage.output},
       {"prompt_tokens_details", json::Value::object({{"cached_tokens", usage.cached}})}});
}

std::string finish_reason(const Reply& reply) {
  if (!reply.finish_reason.empty()) return reply.finish_reason;
  return reply.calls.empty() ? "stop" : "tool_calls";
}

json::Value envelope(std::string_view object, const AnswerForm& form) {
  return json::Value::object(
      {{"id", form.id}, {"object", object}, {"created", form.now / 1000}, {"model", form.model}});
}

class Events {
 public:
  explicit Events(const AnswerForm& form) : form_(form) {}

  void add(json::Value delta, json::Value finish = nullptr) {
    json::Value chunk = envelope("chat.completion.chunk", form_);
    chunk.set("choices",
              json::Value::array({json::Value::object(
                  {{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}})}));
    out_.push_back(sse(json::write(chunk)));
  }

  void add_pieces(std::string_view key, std::string_view text, size_t size) {
    for (const std::string_view piece : pieces_of(text, size))
      add(json::Value::object({{std::string(key), piece}}));
  }

  // The beginnings of all calls, then their arguments piece by piece in turn: as parallel as the protocol allows.
  void add_calls(const std::vector<ScriptedCall>& calls, size_t fragment_bytes) {
    std::vector<std::vector<std::string_view>> arguments;
    size_t longest = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
      const json::Value function = json::Value::object({{"name", calls[i].name}, {"arguments", ""}});
      json::Value call = json::Value::object(
          {{"index", i}, {"id", calls[i].id}, {"type", "function"}, {"function", function}});
      if (calls[i].id.empty()) call.as_object()->erase("id");
      add(json::Value::object({{"tool_calls", json::Value::array({call})}}));
      const size_t size =
          fragment_bytes != 0 ? fragment_bytes : std::max<size_t>(1, calls[i].arguments.size());
      arguments.push_back(pieces_of(calls[i].arguments, size));
      longest = std::max(longest, arguments.back().size());
    }
    for (size_t n = 0; n < longest; ++n) {
      for (size_t i = 0; i < calls.size(); ++i) {
        if (n >= arguments[i].size()) continue;
        const json::Value function = json::Value::object({{"arguments", arguments[i][n]}});
        const json::Value call = json::Value::object({{"index", i}, {"function", function}});
        add(json::Value::object({{"tool_calls", json::Value::array({call})}}));
      }
    }
  }

  void add_usage(const Reply& reply) {
    json::Value chunk = envelope("chat.completion.chunk", form_);
    chunk.set("choices", json::Array{});
    chunk.set("usage", usage_json(reply, form_));
    out_.push_back(sse(json::write(chunk)));
  }

  // A byte that is no UTF-8, inside a JSON text.
  void add_stray_byte() {
    add(json::Value::object({{"content", "@"}}));
    std::string& event = out_.back();
    event[event.find('@')] = static_cast<char>(0xff);
  }

  std::vector<std::string> take() { return std::move(out_); }

 private:
  const AnswerForm& form_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string_view> pieces_of(std::string_view text, size_t size) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    size_t end = size != 0 ? size : text.find_first_of(" \n", 1);
    if (end == std::string_view::npos || end > text.size()) end = text.size();
    // A piece is JSON text of its own, so it does not end inside a character.
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

std::vector<std::string> stream_events(const Reply& reply, const AnswerForm& form) {
  std::vector<std::string> out;
  if (!reply.events.empty()) {
    for (const json::Value& event : reply.events) {
      out.push_back(sse(event.is_string() ? *event.as_string() : json::write(event)));
    }
  } else {
    Events events(form);
    events.add(json::Value::object({{"role", "assistant"}, {"content", ""}}));
    events.add_pieces("reasoning_content", reply.reasoning, reply.chunk_bytes);
    events.add_pieces("content", reply.text, reply.chunk_bytes);
    if (reply.invalid_utf8) events.add_stray_byte();
    events.add_calls(reply.calls, reply.fragment_bytes);
    events.add(json::Object(), finish_reason(reply));
    if (reply.usage || form.usage == AnswerForm::Usage::kInStream) events.add_usage(reply);
    out = events.take();
  }
  if (reply.done) out.push_back(sse("[DONE]"));
  return out;
}

std::string whole_answer(const Reply& reply, const AnswerForm& form) {
  json::Value message = json::Value::object({{"role", "assistant"}, {"content", reply.text}});
  if (!reply.reasoning.empty()) message.set("reasoning_content", reply.reasoning);
  json::Array calls;
  for (const ScriptedCall& call : reply.calls) {
    const json::Value function = json::Value::object({{"name", call.name}, {"arguments", call.arguments}});
    calls.push_back(json::Value::object({{"id", call.id}, {"type", "function"}, {"function", function}}));
  }
  if (!calls.empty()) message.set("tool_calls", std::move(calls));
  json::Value out = envelope("chat.completion", form);
  out.set("choices", json::Value::array({json::Value::object(
                         {{"index", 0}, {"message", message}, {"finish_reason", finish_reason(reply)}})}));
  out.set("usage", usage_json(reply, form));
  return json::write(out);
}

std::string error_body(const Reply& reply) {
  if (reply.body) return *reply.body;
  if (reply.error) return json::write(json::Value::object({{"error", *reply.error}}));
  const std::string message = fmt::format("scripted status {}", reply.status);
  const json::Value error =
      json::Value::object({{"message", message}, {"type", "scripted_error"}, {"code", nullptr}});
  return json::write(json::Value::object({{"error", error}}));
}

std::vector<double> embed(std::string_view text, size_t dimensions) {
  std::vector<double> out(dimensions, 0.0);
  const std::string lower = strings::lower(text);
  std::string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
    for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    out[hash % dimensions] += 1.0;
    word.clear();
  };
  for (const char c : lower) {
    const bool part =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
    if (part) {
      word += c;
    } else {
      end_word();
    }
  }
  end_word();
  double sum = 0;
  for (const double value : out) sum += value * value;
  if (sum == 0) {
    out[0] = 1.0;
    return out;
  }
  for (double& value : out) value /= std::sqrt(sum);
  return out;
}

}  // namespace chela::testing
