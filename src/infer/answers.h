// Answers from templates: results are shown as the tool gave them, never retold by a model.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "infer/memory_ranker.h"
#include "infer/tool_result.h"
#include "infer/tool_spec.h"

namespace chela::infer {

// What a call gave, in a sentence or as a block. `arguments` is the call's JSON; `tool` may be unknown.
std::string answer_from(std::string_view tool, const json::Value& arguments, const ToolResult& result);

// Every text in the results of memory_search or the document of memory_read: where an answer is looked for.
std::vector<std::string> remembered_texts(const ToolResult& result);
std::string quote_memories(const std::vector<RankedSentence>& sentences);
std::string nothing_remembered(std::string_view about);

// "Sunday, 22 November 2026, 10:00 UTC" of an RFC 3339 time; the text itself when it is none.
std::string spoken_time(std::string_view rfc3339);

// What the model is and what it can do with these tools.
std::string about_itself(std::span<const ToolSpec> tools);

std::string ask_which(std::string_view tool, std::string_view other);
std::string cannot_run_commands();

}  // namespace chela::infer
