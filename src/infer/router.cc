#include "infer/router.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "infer/limits.h"

namespace chela::infer {
namespace {

constexpr std::size_t kNeighbours = 5;
constexpr float kLeastLikeness = 0.30F;  // below it the nearest example says nothing
constexpr float kLeastToolLikeness =
    0.38F;  // the same for a description, which resembles requests less than examples do
constexpr float kNamedBonus = 0.22F;  // times the share of the tool's own words that the request uses
constexpr float kCueBonus = 0.12F;    // for labels whose cue is strong evidence in itself
constexpr float kTie = 0.97F;         // votes closer than this are a tie
constexpr std::size_t kFewWords = 2;  // beside a sum, when only the sum is wanted

const ToolSpec* offered(std::span<const ToolSpec> tools, std::string_view name) {
  for (const auto& tool : tools) {
    if (tool.name == name && is_known(tool)) return &tool;
  }
  return nullptr;
}

Route call(std::string_view tool) { return {.kind = Route::Kind::kTool, .tool = std::string(tool)}; }

bool has_phrase(std::string_view text, const std::string& phrase) {
  for (auto at = text.find(phrase); at != std::string_view::npos; at = text.find(phrase, at + 1)) {
    const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    const auto end = at + phrase.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

// "Use the calculator.", "with the get_weather tool"
bool names_tool(std::string_view lower_request, const ToolSpec& tool) {
  for (const auto& name : {strings::lower(tool.name), words_of_name(tool.name)}) {
    for (const std::string_view before :
         {"use ", "use the ", "using ", "using the ", "call ", "call the ", "with the ", "via "}) {
      if (has_phrase(lower_request, std::string(before) + name)) return true;
    }
    for (const std::string_view after : {" tool", " function"}) {
      if (has_phrase(lower_request, name + std::string(after))) return true;
    }
  }
  return false;
}

bool looks_like_folder(const Cues& cues) {
  if (!cues.path) return false;
  const auto& path = cues.path->path;
  return path.ends_with('/') ||
         (cues.folder &&
          path.find('.', path.rfind('/') == std::string::npos ? 0 : path.rfind('/')) == std::string::npos);
}

// The tool that the words name or spell out, if they do.
std::optional<Route> by_rule(std::string_view lower_request, const Cues& cues,
                             std::span<const ToolSpec> tools) {
  for (const auto& tool : tools) {
    if (names_tool(lower_request, tool)) return call(tool.name);
  }
  const auto can = [&](std::string_view name) { return offered(tools, name) != nullptr; };
  if (!cues.run.empty() && can("shell")) return call("shell");
  if (!cues.echo.empty() && can("echo")) return call("echo");
  if (cues.json && lower_request.find_first_of("{[") != std::string_view::npos && can("json"))
    return call("json");
  if (cues.path && cues.write_verb && can("write_file")) return call("write_file");
  if (cues.store && can("memory_write")) return call("memory_write");
  if (cues.arithmetic && cues.arithmetic->words_left <= kFewWords && can("calculator"))
    return call("calculator");
  if (looks_like_folder(cues) && can("list_dir")) return call("list_dir");
  if (cues.path && cues.read_verb && can("read_file")) return call("read_file");
  if ((cues.all_memory || (cues.daily && (cues.question || cues.read_verb))) && can("memory_read"))
    return call("memory_read");
  if (cues.path && strings::trim(lower_request).find(' ') == std::string_view::npos && can("read_file") &&
      can("write_file")) {
    return Route{.kind = Route::Kind::kAsk, .tool = "read_file", .other = "write_file"};
  }
  return std::nullopt;
}

// False when the request lacks what the label cannot do without.
bool possible(std::string_view label, const Cues& cues) {
  if (label == "read_file") return cues.file && !cues.write_verb;
  if (label == "write_file") return cues.file && (cues.write_verb || !cues.read_verb);
  if (label == "list_dir") return cues.folder && !cues.write_verb;
  if (label == "calculator") return cues.arithmetic.has_value();
  if (label == "memory_write") return cues.store;
  if (label == "memory_search") return cues.personal;
  if (label == "memory_read" || label == "memory_tree") return cues.memory || cues.all_memory;
  if (label == "json") return cues.json;
  if (label == "echo") return !cues.echo.empty();
  if (label == "shell") return !cues.run.empty();
  if (label == "time") return cues.day;
  if (label == "about") return cues.model;
  return true;
}

float bonus(std::string_view label, const Cues& cues) {
  if (label == "calculator" || label == "read_file" || label == "write_file" || label == "list_dir")
    return kCueBonus;
  if (label == "memory_search" && cues.question && cues.personal) return kCueBonus / 2;
  return 0;
}

}  // namespace

Router::Router(SentenceEmbedder& embedder, std::vector<Example> examples, std::vector<Embedding> vectors)
    : embedder_(embedder), examples_(std::move(examples)), vectors_(std::move(vectors)) {}

Result<std::unique_ptr<Router>> Router::create(SentenceEmbedder& embedder, std::vector<Example> examples,
                                               const std::filesystem::path& cache) {
  std::vector<std::string> texts;
  texts.reserve(examples.size());
  for (const auto& example : examples) texts.push_back(masked(example.phrase));
  auto vectors = cached_vectors(embedder, texts, cache);
  if (!vectors) return fail(vectors.error());
  return std::unique_ptr<Router>(new Router(embedder, std::move(examples), *std::move(vectors)));
}

Result<Route> Router::route(std::string_view request, const Cues& cues, std::span<const ToolSpec> tools) {
  if (auto sure = by_rule(strings::lower(request), cues, tools)) {
    sure->ground = Route::Ground::kRule;
    return *std::move(sure);
  }
  return nearest(request, cues, tools);
}

Result<const std::vector<Embedding>*> Router::vectors_of(const ToolSpec& tool) {
  const auto name = words_of_name(tool.name);
  const auto sentences = sentences_of(tool.description);
  std::vector<std::string> texts = {name};
  if (!sentences.empty()) {
    texts.push_back(sentences.front());
    texts.push_back(name + ": " + sentences.front());
  }
  const auto& key = texts.back();
  if (const auto known = tool_vectors_.find(key); known != tool_vectors_.end()) return &known->second;
  auto vectors = embedder_.embed(texts);
  if (!vectors) return fail(vectors.error());
  if (tool_vectors_.size() >= kMaxCachedToolVectors) tool_vectors_.clear();
  return &tool_vectors_.emplace(key, *std::move(vectors)).first->second;
}

Result<Route> Router::nearest(std::string_view request, const Cues& cues, std::span<const ToolSpec> tools) {
  const std::string text = masked(request);
  auto embedded = embedder_.embed(std::span(&text, 1));
  if (!embedded) return fail(embedded.error());
  const auto& asked = embedded->front();

  std::vector<Neighbour> near;
  for (std::size_t i = 0; i < examples_.size(); ++i) {
    const std::string_view label = examples_[i].label;
    // Without a shell its examples stay, so that a wish for one can be recognised and answered plainly.
    const bool fixed = label == "none" || label == "about" || label == "shell";
    if ((!fixed && offered(tools, label) == nullptr) || !possible(label, cues)) continue;
    near.push_back({similarity(asked, vectors_[i]) + bonus(label, cues), label});
  }
  const auto request_words = words_of(request);
  for (const auto& tool : tools) {
    if (is_known(tool)) continue;
    auto vectors = vectors_of(tool);
    if (!vectors) return fail(vectors.error());
    const float named = kNamedBonus * overlap(keywords_of(words_of_name(tool.name)), request_words);
    for (const auto& vector : **vectors) {
      const float score = similarity(asked, vector) + named;
      if (score >= kLeastToolLikeness) near.push_back({score, tool.name});
    }
  }
  const auto count = std::min(kNeighbours, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end(),
                    [](const Neighbour& a, const Neighbour& b) { return a.score > b.score; });
  near.resize(count);
  if (near.empty() || near.front().score < kLeastLikeness) return Route{};

  std::map<std::string_view, float> votes;
  for (const auto& neighbour : near)
    votes[neighbour.label] += std::pow(std::max(0.0F, neighbour.score), 4.0F);
  std::vector<Neighbour> ranked;
  for (const auto& [label, vote] : votes) ranked.push_back({vote, label});
  std::sort(ranked.begin(), ranked.end(),
            [](const Neighbour& a, const Neighbour& b) { return a.score > b.score; });
  const auto best = ranked.front().label;
  if (best == "none") return Route{};
  if (best == "about") return Route{.kind = Route::Kind::kAbout};
  if (best == "shell" && offered(tools, "shell") == nullptr) return Route{.kind = Route::Kind::kNoShell};
  if (ranked.size() > 1 && ranked[1].score > kTie * ranked[0].score && ranked[1].label != "none" &&
      ranked[1].label != "about" && ranked[1].label != "shell") {
    return Route{.kind = Route::Kind::kAsk, .tool = std::string(best), .other = std::string(ranked[1].label)};
  }
  return call(best);
}

Result<std::string> Router::closest(std::string_view request, std::span<const ToolSpec> tools) {
  const std::string text = masked(request);
  auto embedded = embedder_.embed(std::span(&text, 1));
  if (!embedded) return fail(embedded.error());
  std::string best = tools.front().name;
  float most = -1;
  const auto consider = [&](const std::string& name, const Embedding& vector) {
    if (const float score = similarity(embedded->front(), vector); score > most) {
      most = score;
      best = name;
    }
  };
  for (const auto& tool : tools) {
    if (is_known(tool)) {
      for (std::size_t i = 0; i < examples_.size(); ++i) {
        if (examples_[i].label == tool.name) consider(tool.name, vectors_[i]);
      }
    } else {
      auto vectors = vectors_of(tool);
      if (!vectors) return fail(vectors.error());
      for (const auto& vector : **vectors) consider(tool.name, vector);
    }
  }
  return best;
}

}  // namespace chela::infer
