// Fakes for the tests of this folder.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "infer/examples.h"
#include "infer/small_model.h"
#include "infer/words.h"

namespace chela::infer {

// Texts are alike as far as they share words.
class WordEmbedder final : public SentenceEmbedder {
 public:
  Result<std::vector<Embedding>> embed(std::span<const std::string> texts) override {
    std::vector<Embedding> out;
    for (const auto& text : texts) {
      ++embedded;
      Embedding vector(512, 0.0F);
      for (const auto& word : words_of(text)) vector[std::hash<std::string>{}(word) % vector.size()] += 1.0F;
      float squares = 0;
      for (const float x : vector) squares += x * x;
      for (float& x : vector) x = squares > 0 ? x / std::sqrt(squares) : 0;
      out.push_back(std::move(vector));
    }
    return out;
  }
  std::size_t count_tokens(std::string_view text) const override { return words_of(text).size(); }
  std::string_view identity() const override { return "words"; }

  std::size_t embedded = 0;
};

// Answers with a fixed text and keeps what it was asked.
class ScriptedChat final : public ChatModel {
 public:
  Result<std::size_t> prompt_tokens(std::span<const Turn> turns) const override {
    std::size_t bytes = 0;
    for (const auto& turn : turns) bytes += turn.text.size();
    return bytes / 4;
  }
  std::size_t context_tokens() const override { return 2048; }
  Result<Answer> generate(std::span<const Turn> turns, const Generation& generation, const TextSink& sink,
                          std::stop_token) override {
    asked.assign(turns.begin(), turns.end());
    asked_with = generation;
    sink(text);
    return Answer{.text = text, .usage = {.prompt_tokens = 7, .completion_tokens = 3}};
  }

  std::string text = "a free answer";
  std::vector<Turn> asked;
  Generation asked_with;
};

class FakeModels final : public SmallModels {
 public:
  FakeModels()
      : router_(*Router::create(embedder_, *parse_examples(builtin_examples()), "/nonexistent/cache")) {}
  Result<SentenceEmbedder*> embedder() override { return &embedder_; }
  Result<ChatModel*> chat() override {
    if (!with_chat) return fail(Code::kUnavailable, "no chat model");
    return &chat_;
  }
  Result<Router*> router() override { return router_.get(); }

  ScriptedChat& scripted() { return chat_; }
  bool with_chat = true;

 private:
  WordEmbedder embedder_;
  ScriptedChat chat_;
  std::unique_ptr<Router> router_;
};

inline ToolSpec tool(std::string name, std::vector<std::string> required,
                     std::vector<std::string> optional = {}, std::string description = "") {
  auto properties = json::Value::object();
  auto needed = json::Value::array();
  for (const auto& key : required) {
    properties.set(key, json::Value::object({{"type", "string"}}));
    needed.push_back(key);
  }
  for (const auto& key : optional) properties.set(key, json::Value::object({{"type", "string"}}));
  return {std::move(name), std::move(description),
          json::Value::object({{"type", "object"}, {"properties", properties}, {"required", needed}})};
}

// Chela's own tools, with their parameters.
inline std::vector<ToolSpec> own_tools() {
  return {tool("time", {"operation"}, {"timestamp", "timestamp2", "format", "timezone"}),
          tool("calculator", {"expression"}),
          tool("json", {"operation", "data"}, {"path"}),
          tool("echo", {"message"}),
          tool("memory_write", {"content"}, {"target", "append"}),
          tool("memory_search", {"query"}, {"limit"}),
          tool("memory_read", {"path"}),
          tool("memory_tree", {}, {"path", "depth"}),
          tool("read_file", {"path"}, {"offset", "limit"}),
          tool("write_file", {"path", "content"}),
          tool("list_dir", {}, {"path", "recursive", "max_depth"}),
          tool("shell", {"command"}, {"workdir", "timeout"})};
}

}  // namespace chela::infer
