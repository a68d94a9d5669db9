#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "llm/wire/answer_reader.h"
#include "llm/wire/provider_error.h"

namespace chela::llm::openai {

inline constexpr std::string_view kChatData =
    "openai";  // of provider data: the thoughts before calls, a text

// Puts an answer together from the chunks of a stream, or from one whole completion. Providers disagree about details of the
// protocol: tool calls without index or id, ids and names repeated in each fragment, arguments as an object, content as parts.
class AnswerBuilder {
 public:
  explicit AnswerBuilder(wire::ErrorContext errors) : errors_(std::move(errors)) {}

  // One chat.completion.chunk. Gives its new text. Fails on an error object and when the answer passes kMaxModelAnswerBytes.
  Result<Delta> add_chunk(const json::Value& chunk);
  // A chat.completion.
  Result<Delta> add_whole(const json::Value& completion);

  // Whether a finish reason came.
  bool finished() const { return saw_finish_; }
  bool called() const { return !slots_.empty(); }  // the call of a tool has begun
  // Whether any choice came, be it an empty one.
  bool started() const { return saw_choice_; }
  // Of text, thoughts and calls so far.
  size_t bytes() const { return bytes_; }

  // The answer so far, made regular: no empty calls, arguments never "", a finish reason that fits.
  Answer take();

 private:
  struct Slot {
    ToolCall call;
    std::optional<std::int64_t> index;
  };
  enum class Origin { kFragment, kWhole };

  Result<Delta> add(const json::Value& root, std::string_view message_key, Origin origin);
  void add_message(const json::Value& message, Origin origin, Delta& delta);
  void add_usage(const json::Value& usage);
  void add_call(const json::Value& fragment, Origin origin, size_t of);
  Slot& slot_for(const json::Value& fragment, Origin origin, size_t of);

  wire::ErrorContext errors_;
  Answer answer_;
  std::vector<Slot> slots_;
  size_t bytes_ = 0;  // of the answer, for the limit
  bool saw_choice_ = false;
  bool saw_finish_ = false;
};

}  // namespace chela::llm::openai
