// Chooses what a request wants: one of the offered tools, a word about the model itself, or free chat. Sure signs are read by
// rules; what is left is decided by the nearest example requests (sentence embeddings), with cues as gates.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infer/cues.h"
#include "infer/examples.h"
#include "infer/sentence_embedder.h"
#include "infer/tool_spec.h"

namespace chela::infer {

struct Route {
  enum class Kind {
    kTool,     // call `tool`
    kAsk,      // `tool` and `other` are equally likely
    kNoShell,  // a command is wanted and no tool runs commands
    kAbout,    // "who are you", "what can you do"
    kChat,
  };
  Kind kind = Kind::kChat;
  std::string tool;
  std::string other;
  enum class Ground { kLikeness, kRule } ground = Ground::kLikeness;
};

// Lives on the inference thread. The embedder must outlive it.
class Router {
 public:
  static Result<std::unique_ptr<Router>> create(SentenceEmbedder& embedder, std::vector<Example> examples,
                                                const std::filesystem::path& cache);

  // `request` has plain quotes and at most kMaxRoutedBytes.
  Result<Route> route(std::string_view request, const Cues& cues, std::span<const ToolSpec> tools);

  // The tool that resembles the request most, whatever else may be meant. `tools` is not empty.
  Result<std::string> closest(std::string_view request, std::span<const ToolSpec> tools);

 private:
  struct Neighbour {
    float score;
    std::string_view label;
  };

  Router(SentenceEmbedder& embedder, std::vector<Example> examples, std::vector<Embedding> vectors);
  Result<Route> nearest(std::string_view request, const Cues& cues, std::span<const ToolSpec> tools);
  Result<const std::vector<Embedding>*> vectors_of(const ToolSpec& tool);

  SentenceEmbedder& embedder_;
  std::vector<Example> examples_;
  std::vector<Embedding> vectors_;
  std::map<std::string, std::vector<Embedding>>
      tool_vectors_;  // by what was embedded; emptied when kMaxCachedToolVectors are in it
};

}  // namespace chela::infer
