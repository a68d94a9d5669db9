#include "cli/suggestions.h"

#include "base/limits.h"
#include "base/strings.h"
#include "cli/thread_list.h"
#include "tui/glyphs.h"

namespace chela::cli {
namespace {

using json::Value;
using tui::Candidate;

constexpr std::string_view kThread = "/thread ";
constexpr std::string_view kModel = "/model ";

}  // namespace

Suggestions::Suggestions(runtime::EventLoop& loop, Client& client, std::function<void()> on_change)
    : client_(client), on_change_(std::move(on_change)), loads_(loop) {}

Task<> Suggestions::close() {
  loads_.stop();
  co_await loads_.join();
}

// An engine that does not answer has nothing to suggest; it is asked again the next time.
Task<> Suggestions::load(Words& into, std::string operation, std::string list, std::string word,
                         std::string help) {
  into.state = Words::State::kAsked;
  const Result<Value> value =
      co_await client_.call(std::move(operation), Value::object(), loads_.stop_token());
  into.state = value ? Words::State::kKnown : Words::State::kUnknown;
  if (!value) co_return;
  const Value* items = value->find(list);
  const std::vector<Value> all =
      list == "threads"            ? threads_of(*value)
      : items && items->is_array() ? std::vector<Value>(items->as_array()->begin(), items->as_array()->end())
                                   : std::vector<Value>();
  into.words.clear();
  for (const Value& each : all) {
    if (into.words.size() == kMaxCompletions) break;
    if (const std::string found = tui::one_line(each.string_or(word)); !found.empty())
      into.words.push_back({.word = found,
                            .help = tui::one_line(each.string_or(help)),
                            .takes_more = each.find("argument") != nullptr});
  }
  on_change_();
}

const std::vector<Suggestions::Word>& Suggestions::commands() {
  if (commands_.state == Words::State::kUnknown)
    loads_.spawn(load(commands_, "chat::commands", "commands", "name", "help"));
  return commands_.words;
}

const std::vector<Suggestions::Word>& Suggestions::threads() {
  if (threads_.state == Words::State::kUnknown)
    loads_.spawn(load(threads_, "thread::list", "threads", "id", "title"));
  return threads_.words;
}

const std::vector<Suggestions::Word>& Suggestions::models() {
  if (models_.state == Words::State::kUnknown) loads_.spawn(load(models_, "model::list", "models", "id", ""));
  return models_.words;
}

std::vector<Candidate> Suggestions::of(std::string_view line) {
  std::vector<Candidate> found;
  if (!line.starts_with('/')) return found;
  if (line.starts_with(kThread)) {
    const std::string part = strings::lower(line.substr(kThread.size()));
    for (const Word& each : threads()) {
      // By the id, or by what its title says.
      if (each.word.starts_with(part) || strings::lower(each.help).contains(part))
        found.push_back({.line = std::string(kThread) + each.word, .label = each.word, .help = each.help});
    }
    return found;
  }
  if (threads_.state == Words::State::kKnown) threads_.state = Words::State::kUnknown;
  if (line.starts_with(kModel)) {
    const std::string_view part = line.substr(kModel.size());
    for (const Word& each : models()) {
      if (each.word.starts_with(part))
        found.push_back({.line = std::string(kModel) + each.word, .label = each.word});
    }
    return found;
  }
  for (const Word& each : commands()) {
    if (each.word.starts_with(line))
      found.push_back(
          {.line = each.word + (each.takes_more ? " " : ""), .label = each.word, .help = each.help});
  }
  return found;
}

}  // namespace chela::cli
