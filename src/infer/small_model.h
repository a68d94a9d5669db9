// local/small: chooses tools by meaning and rules, answers results from templates, and leaves the rest to the small chat model.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "infer/arguments.h"
#include "infer/chat_model.h"
#include "infer/chat_request.h"
#include "infer/router.h"
#include "infer/schema_arguments.h"
#include "infer/sentence_embedder.h"
#include "infer/user_message.h"

namespace chela::infer {

struct Conversation;

// Where the two models come from; each is loaded when it is first asked for.
class SmallModels {
 public:
  virtual ~SmallModels() = default;
  virtual Result<SentenceEmbedder*> embedder() = 0;
  virtual Result<ChatModel*> chat() = 0;
  virtual Result<Router*> router() = 0;
};

// Lives on the inference thread.
class SmallModel {
 public:
  using NewCallId = std::function<std::string()>;

  SmallModel(SmallModels& models, Places places, NewCallId new_call_id);

  // `sink` gets all text of the answer as it is known. Errors are those of the models.
  Result<Answer> answer(const ChatRequest& request, const TextSink& sink, std::stop_token stop);

 private:
  Result<Answer> after_tools(const ChatRequest& request, const Conversation& conversation);
  Result<Answer> fresh(const ChatRequest& request, const Conversation& conversation, const TextSink& sink,
                       std::stop_token stop, bool& streamed);
  Result<Route> choose(const ChatRequest& request, const Conversation& conversation, Request& wanted);
  Result<std::optional<Answer>> from_memory(const Conversation& conversation,
                                            const std::vector<std::string>& sources, float least);
  Result<Answer> call(const ChatRequest& request, std::string_view tool, const Request& wanted,
                      std::stop_token stop);
  Result<Answer> chat(const ChatRequest& request, const Conversation& conversation, const TextSink& sink,
                      std::stop_token stop);
  Answer calls(std::string_view tool, const json::Value& arguments) const;

  SmallModels& models_;
  CueFinder cues_;
  ArgumentRules rules_;
  NewCallId new_call_id_;
};

// What a turn of free chat is given: the default system text, at most kEarlierTurns earlier turns, the memory lines marked as facts.
// The window moves in steps, so that most turns begin as the one before did and its computed prefix is used again.
std::vector<Turn> chat_turns(std::span<const Turn> earlier, const UserMessage& last);

}  // namespace chela::infer
