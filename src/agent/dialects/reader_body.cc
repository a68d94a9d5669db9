#include <algorithm>

#include "agent/dialects/glm_calls.h"
#include "agent/dialects/parser.h"
#include "agent/dialects/python_calls.h"
#include "agent/dialects/reader.h"
#include "agent/dialects/waits.h"

// Calls without closing marks: answers that are nothing but calls, and lines.
namespace chela::agent::dialects {
namespace {

constexpr std::array<std::string_view, 9> kTerminals = {"<|eot_id|>", "<|eom_id|>", "<|eot|>",
                                                        "<|im_end|>", "<|end|>",    "<|eom|>",
                                                        "<eom>",      "</s>",       "<|endoftext|>"};
constexpr std::array<std::string_view, 1> kQuote = {"\""};
constexpr std::array<std::string_view, 1> kNewline = {"\n"};
constexpr std::array<std::string_view, 1> kFence = {"```"};
constexpr size_t kMaxKeyBytes = 24;

// First members of objects that hold calls.
constexpr std::array<std::string_view, 14> kKeys = {
    "content", "tool_calls", "role",    "name",  "function", "arguments", "parameters",
    "id",      "type",       "choices", "index", "object",   "call_id",   "tool_call_id"};

// Words that begin a line with calls, beside the names of tools.
constexpr std::array<std::string_view, 3> kLineWords = {"TOOL_CALL", "Action:", "functools"};

// The word at the start of a line: the end of it, or that no word that calls begins so.
class LineWord final : public Wait {
 public:
  LineWord(size_t from, const ToolSet& tools) : word_(from), from_(from), tools_(tools) {}
  bool decide(std::string_view view, More more) override {
    if (word_.decide(view, more)) return true;
    const std::string_view word = view.substr(from_, word_.at() - from_);
    may_call_ = tools_.begins_name(word) || std::ranges::any_of(kLineWords, [word](std::string_view each) {
                  return each.starts_with(word);
                });
    return !may_call_;
  }
  size_t at() const { return word_.at(); }
  bool may_call() const { return may_call_; }

 private:
  WordEnd word_;
  size_t from_;
  const ToolSet& tools_;
  bool may_call_ = true;
};

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace

// Whether nothing but white space and the tokens that end an answer follows.
Task<bool> Reader::ends_here(size_t from) {
  while (true) {
    NotSpace space(from);
    co_await in_.until(space);
    if (space.at() >= in_.view().size()) co_return !in_.full();
    Literal terminal(space.at(), kTerminals, 1);
    co_await in_.until(terminal);
    if (terminal.found() != Found::kYes) co_return false;
    from = terminal.end();
  }
}

// Whether an answer that was cut would have been calls: it names a known tool where they do.
bool Reader::begins_calls(std::string_view body) const {
  if (body.find("\"tool_calls\"") != std::string_view::npos) return true;
  constexpr std::string_view kName = "\"name\"";
  size_t at = body.find(kName);
  if (at == std::string_view::npos) {
    const size_t end = body.find('(');
    return body.starts_with('[') && end != std::string_view::npos &&
           tools_.find(strings::trim(body.substr(1, end - 1))) != nullptr;
  }
  at = body.find('"', at + kName.size());
  if (at == std::string_view::npos) return false;
  const size_t end = body.find('"', at + 1);
  return end != std::string_view::npos &&
         tools_.find(strings::trim(body.substr(at + 1, end - at - 1))) != nullptr;
}

// An answer that is one JSON value or one list in Python's notation. What is not, is text: nothing of it is consumed, except JSON
// that turned out to hold no call, in which nothing else is looked for.
Task<void> Reader::whole_body() {
  fresh_ = false;
  in_.look_ahead();
  NotSpace first(1);
  co_await in_.until(first);
  if (first.at() >= in_.view().size()) co_return;
  size_t key_at = first.at();
  const bool list = in_.view().front() == '[';
  std::vector<Call> calls;
  size_t end = 0;
  std::string content;
  const char c = in_.view()[key_at];
  if (list && c != '{') {
    WordEnd word(key_at);
    co_await in_.until(word);
    if (word.at() == key_at || word.at() >= in_.view().size() || in_.view()[word.at()] != '(') co_return;
    BracketEnd bracket(0, BracketEnd::Quotes::kBoth);
    co_await in_.until(bracket);
    if (bracket.found() == Found::kOut && was_cut() && begins_calls(in_.view())) co_return refuse_rest();
    if (bracket.found() != Found::kYes) co_return;
    end = bracket.at();
    if (co_await ends_here(end)) calls = python_calls(in_.view().substr(0, end), tools_);
  } else {
    if (list) {
      NotSpace key(key_at + 1);
      co_await in_.until(key);
      key_at = key.at();
    }
    AtLeast quote(key_at, 1);
    co_await in_.until(quote);
    if (key_at >= in_.view().size() || in_.view()[key_at] != '"') co_return;
    Literal key_end(key_at + 1, kQuote, kMaxKeyBytes);
    co_await in_.until(key_end);
    const std::string_view key = in_.view().substr(key_at + 1, key_end.at() - key_at - 1);
    if (key_end.found() != Found::kYes || std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      co_return;
    JsonEnd json(0);
    co_await in_.until(json);
    if (json.found() == Found::kOut && was_cut() && begins_calls(in_.view())) co_return refuse_rest();
    if (json.found() != Found::kYes) co_return;
    end = json.at();
    if (co_await ends_here(end)) {
      if (const Result<json::Value> value = json::parse(in_.view().substr(0, end))) {
        calls = calls_from_json(*value, tools_, JsonStyle::kBare);
        content = value->string_or("content");
      }
    }
  }
  if (calls.empty()) co_return release(end);
  if (!content.empty()) {
    // The answer's text, as a server reports it: it may hold thoughts, and calls that are told as such beside it.
    Parser inner(ToolSet(), Final::kReplaces);
    inner.feed(content);
    out_.add(inner.finish(ending_).text);
    out_.think(inner.thoughts());
  }
  finish(Block{.size = end, .calls = std::move(calls)}, list ? Family::kPython : Family::kNone);
}

// What a line may begin with: a word that says what follows. True when something was taken.
Task<bool> Reader::line_call(size_t indent) {
  in_.look_ahead();
  LineWord word_end(indent, tools_);
  co_await in_.until(word_end);
  if (!word_end.may_call()) co_return false;
  const std::string word(in_.view().substr(indent, word_end.at() - indent));
  const size_t at = word_end.at();
  const char next = at < in_.view().size() ? in_.view()[at] : '\0';
  if (word == "TOOL_CALL" && may_open(Family::kPerl)) {
    Block block = co_await perl_block(at, at);
    if (block.kind == Block::Kind::kText && !was_cut()) co_return false;
    finish(std::move(block), Family::kPerl);
    co_return true;
  }
  if ((word == "Action:" && may_open(Family::kCohere)) ||
      (word == "functools" && next == '[' && may_open(Family::kPhi))) {
    NotSpace body(at);
    co_await in_.until(body);
    Literal fence(body.at(), kFence, 1);
    co_await in_.until(fence);
    const char first = body.at() < in_.view().size() ? in_.view()[body.at()] : '\0';
    if (fence.found() != Found::kYes && first != '{' && first != '[') co_return false;
    const bool cohere = word == "Action:";
    Block block =
        co_await json_block(body.at(), Meaning{.style = cohere ? JsonStyle::kCohere : JsonStyle::kTagged});
    if (block.calls.empty() && block.kind == Block::Kind::kDone) block.kind = Block::Kind::kText;
    finish(std::move(block), cohere ? Family::kCohere : Family::kPhi);
    co_return true;
  }
  const Tool* tool = next == '/' && may_open(Family::kLine) ? tools_.find_alias(word) : nullptr;
  if (tool == nullptr) co_return false;
  Block block = co_await line_value(at + 1, tool, word);
  if (block.kind == Block::Kind::kDone && block.calls.empty()) block.kind = Block::Kind::kText;
  finish(std::move(block), Family::kLine);
  co_return true;
}

// What follows `tool/`: JSON, or `parameter>value`, to the end of the line.
Task<Reader::Block> Reader::line_value(size_t at, const Tool* tool, std::string written) {
  WordEnd word(at);
  co_await in_.until(word);
  const char next = word.at() < in_.view().size() ? in_.view()[word.at()] : '\0';
  size_t value_at = word.at() + 1;
  const bool json = word.at() == at && next == '{';
  if (json) {
    JsonEnd end(at);
    co_await in_.until(end);
    if (end.found() != Found::kYes) co_return Block{.kind = Block::Kind::kText, .size = at};
    value_at = end.at();
  } else if (word.at() == at || next != '>') {
    co_return Block{.kind = Block::Kind::kText, .size = at};
  }
  Literal line(value_at, kNewline);
  co_await in_.until(line);
  if (line.found() != Found::kYes && in_.full()) co_return Block{.kind = Block::Kind::kStop};
  Block block{.size = line.at()};
  const std::string_view view = in_.view();
  if (json) {
    if (is_blank(view.substr(value_at, line.at() - value_at)))
      add_json(view.substr(at, value_at - at), Meaning{.tool = tool}, block.calls);
  } else if (line.found() == Found::kYes || ending_ == Ending::kComplete) {
    std::optional<Call> call = glm_line(*tool, written, view.substr(at, word.at() - at),
                                        view.substr(value_at, line.at() - value_at));
    if (call) block.calls.push_back(std::move(*call));
  }
  co_return block;
}

}  // namespace chela::agent::dialects
