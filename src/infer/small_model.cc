#include "infer/small_model.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "base/utf8.h"
#include "infer/answers.h"
#include "infer/conversation.h"
#include "infer/limits.h"
#include "infer/memory_ranker.h"
#include "infer/span_grammar.h"
#include "infer/tool_result.h"

namespace chela::infer {
namespace {

// What the model was trained with; other texts make its answers worse.
constexpr std::string_view kSystemText =
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
constexpr std::string_view kLongTermMemory = "MEMORY.md";
// How the questions of this program begin: an answer to one is read together with the request that led to it.
constexpr auto kQuestionStarts = std::to_array<std::string_view>(
    {"Which sum should I", "What should I", "Which command should I", "Which JSON do you",
     "The log of which day", "Which file should I", "Which do you want"});
constexpr auto kNeverMind = std::to_array<std::string_view>(
    {"no", "never mind", "nevermind", "cancel", "stop", "forget it", "nothing", "none"});

Answer text_answer(std::string text) { return Answer{.text = std::move(text)}; }

const ToolSpec* find_tool(std::span<const ToolSpec> tools, std::string_view name) {
  for (const auto& tool : tools) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

bool is_own_question(std::string_view text) {
  return std::any_of(kQuestionStarts.begin(), kQuestionStarts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

}  // namespace

std::vector<Turn> chat_turns(std::span<const Turn> earlier, const UserMessage& last) {
  // A turn is a user message and what was answered to it.
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    if (earlier[i].role == Role::kUser) starts.push_back(i);
  }
  constexpr std::size_t kStep = kEarlierTurns - 1;
  std::size_t first =
      starts.size() <= kEarlierTurns ? 0 : (starts.size() - kEarlierTurns + kStep - 1) / kStep * kStep;
  std::vector<Turn> turns = {{Role::kSystem, std::string(kSystemText)}};
  if (!starts.empty())
    turns.insert(turns.end(), earlier.begin() + static_cast<std::ptrdiff_t>(starts[first]), earlier.end());
  std::string text;
  if (!last.memory.empty()) {
    text = "Facts that I told you earlier:\n";
    for (const auto& line : last.memory) text += "- " + line + "\n";
    text += "\n";
  }
  turns.push_back({Role::kUser, text + last.text});
  return turns;
}

SmallModel::SmallModel(SmallModels& models, Places places, NewCallId new_call_id)
    : models_(models), rules_(std::move(places)), new_call_id_(std::move(new_call_id)) {}

Result<Answer> SmallModel::answer(const ChatRequest& request, const TextSink& sink, std::stop_token stop) {
  const Conversation conversation(request);
  if (conversation.last.text.empty())
    return fail(
        Error{.code = Code::kInvalidArgument, .message = "there is no user message with text to answer"}.with(
            "param", "messages"));
  bool streamed = false;
  auto answer = !conversation.results.empty() && request.messages.back().role == Role::kTool
                    ? after_tools(request, conversation)
                    : fresh(request, conversation, sink, stop, streamed);
  if (!answer || streamed) return answer;
  // What no language model has written is counted with the embedder's vocabulary, when it is there.
  if (auto embedder = models_.embedder()) {
    answer->usage.prompt_tokens = (*embedder)->count_tokens(conversation.text);
    std::string written = answer->text;
    for (const auto& made : answer->tool_calls) written += made.arguments;
    answer->usage.completion_tokens = (*embedder)->count_tokens(written);
  }
  if (!answer->text.empty()) sink(answer->text);
  return answer;
}

Answer SmallModel::calls(std::string_view tool, const json::Value& arguments) const {
  return Answer{.tool_calls = {{new_call_id_(), std::string(tool), json::write(arguments)}},
                .finish = Finish::kToolCalls};
}

Result<std::optional<Answer>> SmallModel::from_memory(const Conversation& conversation,
                                                      const std::vector<std::string>& sources, float least) {
  if (sources.empty()) return std::nullopt;
  auto embedder = models_.embedder();
  if (!embedder) return fail(embedder.error());
  auto ranked = rank_sentences(**embedder, conversation.text, sources, least);
  if (!ranked) return fail(ranked.error());
  if (ranked->empty()) return std::nullopt;
  return text_answer(quote_memories(*ranked));
}

// Answers the results of the last calls. A search that found nothing reads the long-term memory before it gives up: full-text search
// needs the same words, comparing meanings does not.
Result<Answer> SmallModel::after_tools(const ChatRequest& request, const Conversation& conversation) {
  std::string text;
  const auto cues = cues_.find(conversation.text);
  for (const auto& spoken : conversation.results) {
    const bool searched = spoken.tool == "memory_search";
    const bool searched_before = std::find(conversation.called.begin(), conversation.called.end(),
                                           "memory_search") != conversation.called.end();
    const bool read_for_search = spoken.tool == "memory_read" && searched_before;
    std::string part;
    if (searched || read_for_search) {
      auto sources = remembered_texts(spoken.result);
      if (read_for_search) {
        // The last place to look: what the person said in this conversation.
        for (const auto& turn : conversation.earlier) {
          if (turn.role == Role::kUser) sources.push_back(turn.text);
        }
      }
      auto found = from_memory(conversation, sources, kRelevant);
      if (!found) return fail(found.error());
      if (*found) {
        part = (*found)->text;
      } else if (searched && conversation.results.size() == 1 &&
                 find_tool(request.tools, "memory_read") != nullptr) {
        return calls("memory_read", json::Value::object({{"path", kLongTermMemory}}));
      } else {
        part = nothing_remembered(strings::join(keywords_of(conversation.text), " "));
      }
    } else {
      part = answer_from(spoken.tool, spoken.arguments, spoken.result);
    }
    text += (text.empty() ? "" : "\n") + part;
  }
  return text_answer(std::move(text));
}

// Routes what was said; `wanted` becomes the request that the route was chosen for.
Result<Route> SmallModel::choose(const ChatRequest& request, const Conversation& conversation,
                                 Request& wanted) {
  wanted = {conversation.text, conversation.last.time, cues_.find(conversation.text)};
  if (!request.tool_choice_name.empty())
    return Route{.kind = Route::Kind::kTool, .tool = request.tool_choice_name};
  if (request.tools.empty() || request.tool_choice == ToolChoice::kNone || conversation.text.empty())
    return Route{};
  auto router = models_.router();
  if (!router) return fail(router.error());
  auto route = (*router)->route(wanted.text, wanted.cues, request.tools);
  if (!route) return route;

  const auto& earlier = conversation.earlier;
  const bool answers_question =
      earlier.size() >= 2 && earlier.back().role == Role::kAssistant && is_own_question(earlier.back().text);
  if (answers_question && route->ground != Route::Ground::kRule && !wanted.cues.question) {
    // "Write a file." - "Which file should I write to?" - "notes.txt: buy milk" is one request.
    const auto before = std::string(value_of(plain_quotes(earlier[earlier.size() - 2].text)));
    const bool chose = earlier.back().text.starts_with("Which do you want");
    Request joined{chose ? wanted.text + " " + before : before + ": " + wanted.text, wanted.now, {}};
    joined.cues = cues_.find(joined.text);
    auto again = (*router)->route(joined.text, joined.cues, request.tools);
    if (!again) return again;
    if (again->kind == Route::Kind::kTool) {
      wanted = std::move(joined);
      route = std::move(again);
    }
  }
  if (route->kind != Route::Kind::kTool && request.tool_choice == ToolChoice::kRequired) {
    auto closest = (*router)->closest(wanted.text, request.tools);
    if (!closest) return fail(closest.error());
    return Route{.kind = Route::Kind::kTool, .tool = *std::move(closest)};
  }
  return route;
}

Result<Answer> SmallModel::fresh(const ChatRequest& request, const Conversation& conversation,
                                 const TextSink& sink, std::stop_token stop, bool& streamed) {
  Request wanted;
  auto route = choose(request, conversation, wanted);
  if (!route) return fail(route.error());
  const bool about_user = wanted.cues.question && wanted.cues.personal;
  if (about_user && (route->kind == Route::Kind::kChat || route->tool == "memory_search")) {
    auto known = from_memory(conversation, conversation.last.memory, kSurelyRelevant);
    if (!known) return fail(known.error());
    if (*known) return **std::move(known);
  }
  const auto& earlier = conversation.earlier;
  const auto low = strings::lower(value_of(conversation.text));
  if (!earlier.empty() && is_own_question(earlier.back().text) &&
      std::find(kNeverMind.begin(), kNeverMind.end(), low) != kNeverMind.end())
    return text_answer("All right.");
  switch (route->kind) {
    case Route::Kind::kTool:
      return call(request, route->tool, wanted, std::move(stop));
    case Route::Kind::kAsk:
      return text_answer(ask_which(route->tool, route->other));
    case Route::Kind::kNoShell:
      return text_answer(cannot_run_commands());
    case Route::Kind::kAbout:
      return text_answer(about_itself(request.tools));
    case Route::Kind::kChat:
      break;
  }
  streamed = true;
  return chat(request, conversation, sink, std::move(stop));
}

Result<Answer> SmallModel::call(const ChatRequest& request, std::string_view name, const Request& wanted,
                                std::stop_token stop) {
  const auto* tool = find_tool(request.tools, name);
  if (tool == nullptr)
    return fail(Code::kInternal, "routing chose the tool \"{}\", which is not offered", name);
  Filled filled = json::Value();
  if (is_known(*tool)) {
    filled = rules_.fill(name, wanted);
    // A client's variant of the tool may have fewer parameters than ours.
    if (auto* arguments = std::get_if<json::Value>(&filled);
        arguments != nullptr && arguments->as_object() != nullptr) {
      json::Object kept;
      for (const auto& [key, value] : *arguments->as_object()) {
        if (tool->property(key) != nullptr) kept.set(key, value);
      }
      *arguments = std::move(kept);
    }
  } else {
    const auto choose = [&](const ToolSpec& chosen, std::string_view text,
                            const std::vector<std::string>& keys) -> Result<std::optional<json::Value>> {
      const auto grammar = span_grammar(text, keys);
      auto model = models_.chat();
      if (!model || grammar.empty()) return std::nullopt;  // then the missing words are asked for
      const auto extraction = extraction_for(chosen);
      std::vector<Turn> turns = {{Role::kSystem, extraction.system}};
      for (const auto& [example, arguments] : extraction.examples) {
        turns.push_back({Role::kUser, example});
        turns.push_back({Role::kAssistant, arguments});
      }
      turns.push_back({Role::kUser, std::string(text)});
      const Generation generation{.sampling = {.temperature = 0, .max_tokens = kSpanAnswerTokens},
                                  .grammar = grammar};
      auto written = (*model)->generate(turns, generation, [](std::string_view) {}, stop);
      if (!written) return fail(written.error());
      auto value = json::parse(written->text);
      return value ? std::optional(*std::move(value)) : std::nullopt;
    };
    auto result = fill_by_schema(*tool, wanted, choose);
    if (!result) return fail(result.error());
    filled = *std::move(result);
  }
  if (const auto* question = std::get_if<Question>(&filled)) return text_answer(question->text);
  return calls(name, std::get<json::Value>(filled));
}

Result<Answer> SmallModel::chat(const ChatRequest& request, const Conversation& conversation,
                                const TextSink& sink, std::stop_token stop) {
  auto model = models_.chat();
  if (!model) return fail(model.error());
  std::span<const Turn> earlier = conversation.earlier;
  // A model of this size mixes earlier turns into whatever it is asked: it gets them only when they are meant.
  if (!cues_.find(conversation.text).refers_back) earlier = {};
  auto last = conversation.last;
  while (true) {
    const auto turns = chat_turns(earlier, last);
    auto tokens = (*model)->prompt_tokens(turns);
    if (!tokens) return fail(tokens.error());
    if (*tokens <= kSmallPromptTokens) {
      Generation generation{.sampling = request.sampling, .grammar = {}};
      generation.sampling.max_tokens =
          std::min(request.sampling.max_tokens.value_or(kSmallAnswerTokens), kSmallAnswerTokens);
      return (*model)->generate(turns, generation, sink, std::move(stop));
    }
    // Too long: first the oldest turns go, then memory lines, then the end of the text itself.
    if (!earlier.empty()) {
      earlier = earlier.subspan(std::min<std::size_t>(earlier.size(), 2));
    } else if (!last.memory.empty()) {
      last.memory.pop_back();
    } else if (last.text.size() > 16) {
      last.text = std::string(utf8::prefix(last.text, last.text.size() * 3 / 4));
    } else {
      return fail(Code::kInternal, "the chat template alone is longer than {} tokens", kSmallPromptTokens);
    }
  }
}

}  // namespace chela::infer
