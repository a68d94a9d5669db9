// Writes what OpenAI clients read: completions, stream chunks, embeddings, model lists, errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "infer/chat_request.h"
#include "infer/sentence_embedder.h"

namespace chela::infer {

struct Usage {
  std::size_t prompt_tokens = 0;
  std::size_t cached_tokens = 0;  // of prompt_tokens: found in the KV cache
  std::size_t completion_tokens = 0;
};

enum class Finish { kStop, kLength, kToolCalls };

struct Answer {
  std::string text;  // all of it, also what a stream has shown already
  std::vector<ToolCall> tool_calls;
  Usage usage;
  Finish finish = Finish::kStop;
};

// What is the same in all chunks of one answer.
struct ReplyHead {
  std::string id;  // "chatcmpl-..."
  std::string model;
  std::int64_t created = 0;  // seconds
};

json::Value completion(const ReplyHead& head, const Answer& answer);

// One server-sent event each, "data: ...\n\n" included.
std::string text_chunk(const ReplyHead& head, std::string_view text);
std::string role_chunk(const ReplyHead& head);
std::string tool_calls_chunk(const ReplyHead& head, const std::vector<ToolCall>& calls);
std::string finish_chunk(const ReplyHead& head, Finish finish);
std::string usage_chunk(const ReplyHead& head, const Usage& usage);
std::string error_chunk(const Error& error);
std::string_view done_chunk();

json::Value embedding_list(std::string_view model, const std::vector<Embedding>& vectors, std::size_t tokens,
                           std::string_view encoding);

json::Value model_list(const std::vector<std::string>& ids, std::int64_t created);

// OpenAI's error envelope and the HTTP status that goes with it; what a model cannot do is the request's fault here (400).
int error_status(const Error& error);
json::Value error_body(const Error& error);

}  // namespace chela::infer
