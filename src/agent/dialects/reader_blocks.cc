#include <algorithm>

#include "agent/dialects/glm_calls.h"
#include "agent/dialects/perl_calls.h"
#include "agent/dialects/python_calls.h"
#include "agent/dialects/reader.h"
#include "agent/dialects/tags.h"
#include "agent/dialects/waits.h"

// What stands behind a mark, but for XML.
namespace chela::agent::dialects {
namespace {

constexpr std::array<std::string_view, 1> kBrace = {"{"};
constexpr std::array<std::string_view, 1> kNewline = {"\n"};
constexpr std::array<std::string_view, 2> kTriangles = {"\u25B7", "\u25C1"};
constexpr std::array<std::string_view, 2> kFunctionCallEnds = {"</FunctionCall>", "<FunctionCall>"};
constexpr std::array<std::string_view, 2> kPerlEnds = {"/TOOL_CALL", "[/TOOL_CALL]"};
constexpr std::array<std::string_view, 1> kKey = {"<arg_key>"};
constexpr std::array<std::string_view, 1> kKeyEnd = {"</arg_key>"};
constexpr std::array<std::string_view, 1> kValue = {"<arg_value>"};
constexpr std::array<std::string_view, 1> kValueEnd = {"</arg_value>"};
// What may stand between the name and the arguments of a named call.
constexpr std::string_view kDeepSeekSeparator = "<\uFF5Ctool\u2581sep\uFF5C>";
constexpr std::string_view kKimiSeparator = "<|tool_call_argument_begin|>";
constexpr std::string_view kMistralArguments = "[ARGS]";
constexpr std::string_view kMistralId = "[CALL_ID]";

// Closing marks of other shapes, which may follow JSON.
constexpr std::array<std::string_view, 4> kTokenEnds = {
    "<\uFF5Ctool\u2581call\u2581end\uFF5C>", "<|tool_call_end|>", "<|END_ACTION|>", "<|python_end|>"};

struct Head {
  std::string name;
  std::string id = {};
};

std::string_view before(std::string_view text, std::string_view mark) {
  return text.substr(0, text.find(mark));
}
std::string_view after(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}

// NAME<sep>, function<sep>NAME, functions.NAME:0<sep>, NAME[CALL_ID]id[ARGS], each with ```json behind it or not.
Head parse_head(std::string_view text, const ToolSet& tools) {
  text = strings::trim(before(before(text, "```"), kKimiSeparator));
  const std::string_view id = strings::trim(before(after(text, kMistralId), kMistralArguments));
  std::string_view name = strings::trim(before(before(text, kMistralArguments), kMistralId));
  if (const std::string_view typed_name = strings::trim(after(name, kDeepSeekSeparator));
      !typed_name.empty()) {
    name = typed_name;
  } else {
    name = strings::trim(before(name, kDeepSeekSeparator));
  }
  if (tools.find(name) != nullptr) return {.name = std::string(name), .id = std::string(id)};
  constexpr std::string_view kPrefix = "functions.";
  std::string_view plain = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
  const size_t colon = plain.rfind(':');
  const bool counted = colon != std::string_view::npos && colon + 1 < plain.size() &&
                       plain.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (!counted) return {.name = std::string(plain), .id = std::string(id)};
  return {.name = std::string(plain.substr(0, colon)), .id = std::string(name)};
}

}  // namespace

// The bytes ended inside a block: at the limit nothing more is read, else the block is dropped, whose whole calls count.
Reader::Block Reader::out_of_bytes(std::vector<Call> calls) const {
  if (in_.full()) return Block{.kind = Block::Kind::kStop};
  return Block{.size = in_.view().size(), .calls = std::move(calls)};
}

// Drops what is broken up to the next mark that closes a block, or opens another.
Task<Reader::Block> Reader::junk(size_t at, std::vector<Call> calls) {
  Literal border(at, borders());
  co_await in_.until(border);
  if (border.found() != Found::kYes) co_return out_of_bytes(std::move(calls));
  const bool closes = std::find(closers().begin(), closers().end(), border.text()) != closers().end();
  co_return Block{.size = closes ? border.end() : border.at(), .calls = std::move(calls)};
}

void Reader::add_json(std::string_view text, const Meaning& meaning, std::vector<Call>& calls) const {
  Result<json::Value> value = json::parse(text);
  if (!value) return;
  if (meaning.tool == nullptr) {
    std::vector<Call> found = calls_from_json(*value, tools_, meaning.style);
    std::move(found.begin(), found.end(), std::back_inserter(calls));
    return;
  }
  Call call{.name = meaning.tool->name, .id = meaning.id};
  if (value->is_object()) call.arguments = std::move(*value);
  calls.push_back(std::move(call));
}

Task<Reader::Block> Reader::block(Mark mark, size_t at) {
  switch (mark.shape) {
    case Shape::kXmlCall:
      co_return co_await xml_call_block(at);
    case Shape::kTriangle:
      co_return co_await triangle_block(at, at);
    case Shape::kNamed:
    case Shape::kNamedOrJson:
      break;
    case Shape::kCohere:
      break;
    case Shape::kPython:
      co_return co_await python_block(at, at);
    case Shape::kPerl:
      co_return co_await perl_block(at, at);
    case Shape::kFunctionCall:
      co_return co_await function_call_block(at, at);
    default:
      co_return co_await any_block(at);
  }
  NotSpace body(at);
  co_await in_.until(body);
  const char c = body.at() < in_.view().size() ? in_.view()[body.at()] : '\0';
  if (mark.shape != Shape::kNamed && (c == '{' || c == '['))
    co_return co_await json_block(
        body.at(), {.style = mark.shape == Shape::kCohere ? JsonStyle::kCohere : JsonStyle::kTagged});
  if (mark.shape == Shape::kCohere) co_return Block{.kind = Block::Kind::kText, .size = at};
  co_return co_await named_block(body.at(), at);
}

Task<Reader::Block> Reader::any_block(size_t at) {
  size_t mark_size = at;
  while (true) {
    NotSpace body(at);
    co_await in_.until(body);
    at = body.at();
    if (at >= in_.view().size()) co_return Block{.kind = Block::Kind::kText, .size = mark_size};
    if (in_.view()[at] != '<') break;
    Literal opener(at, openers(), 1);  // a mark that is written twice
    co_await in_.until(opener);
    if (opener.found() != Found::kYes) break;
    at = mark_size = opener.end();
  }
  switch (in_.view()[at]) {
    case '{':
    case '[': {
      // Escaped quotes: the mark stands in a string of something else.
      NotSpace inner(at + 1);
      co_await in_.until(inner);
      if (inner.at() < in_.view().size() && in_.view()[inner.at()] == '\\')
        co_return Block{.kind = Block::Kind::kText, .size = mark_size};
      co_return co_await json_block(at, {});
    }
    case '`':
      co_return co_await json_block(at, {});
    case '<':
      co_return co_await xml_block(at);
    default:
      co_return co_await glm_block(at, mark_size);
  }
}

// JSON values, in a fence or not, up to the closing mark or to what is neither.
Task<Reader::Block> Reader::json_block(size_t at, Meaning meaning) {
  std::vector<Call> calls;
  while (true) {
    if (at < in_.view().size() && in_.view()[at] == '`') {
      Literal line(at, kNewline, kMaxTagBytes);
      co_await in_.until(line);
      if (line.found() != Found::kYes) co_return co_await junk(at, std::move(calls));
      NotSpace body(line.end());
      co_await in_.until(body);
      at = body.at();
      if (meaning.fence == Fence::kNone) meaning.fence = Fence::kInside;
    }
    JsonEnd value(at);
    co_await in_.until(value);
    if (value.found() == Found::kOut) co_return out_of_bytes(std::move(calls));
    if (value.found() == Found::kNo) co_return co_await junk(value.at(), std::move(calls));
    add_json(in_.view().substr(at, value.at() - at), meaning, calls);
    at = value.at();
    NotSpace space(at);
    co_await in_.until(space);
    size_t next = space.at();
    if (next < in_.view().size() && (in_.view()[next] == ',' || in_.view()[next] == ';')) {
      NotSpace more(next + 1);
      co_await in_.until(more);
      next = more.at();
    }
    const char c = next < in_.view().size() ? in_.view()[next] : '\0';
    if (c != '{' && c != '[') break;
    if (c == '[' && !co_await begins_json(next)) break;  // [TOOL_CALLS] and the like are no list
    at = next;
  }
  co_return Block{.size = co_await close(at, meaning.fence), .calls = std::move(calls)};
}

// Whether the bracket at the offset begins a list of objects.
Task<bool> Reader::begins_json(size_t at) {
  NotSpace item(at + 1);
  co_await in_.until(item);
  co_return item.at() < in_.view().size() && in_.view()[item.at()] == '{';
}

// Behind what closes a block at the offset: a fence, closing tags, and the block's own mark; the offset itself when there is none.
Task<size_t> Reader::close(size_t at, Fence fence) {
  while (true) {
    NotSpace space(at);
    co_await in_.until(space);
    const size_t next = space.at();
    const char c = next < in_.view().size() ? in_.view()[next] : '\0';
    if (c == '`' && fence != Fence::kNone) {
      AtLeast three(next, 3);
      co_await in_.until(three);
      if (!in_.view().substr(next).starts_with("```")) co_return at;
      at = next + 3;
      while (fence == Fence::kAround) {  // it may be longer
        AtLeast one(at, 1);
        co_await in_.until(one);
        if (at >= in_.view().size() || in_.view()[at] != '`') co_return at;
        ++at;
      }
      fence = Fence::kNone;
      continue;
    }
    Literal end(next, closers(), 1);
    co_await in_.until(end);
    if (end.found() == Found::kYes) co_return end.end();
    Literal token(next, kTokenEnds, 1);
    co_await in_.until(token);
    if (token.found() == Found::kYes) co_return token.end();
    if (fence != Fence::kAround) {
      Strays strays(next);
      co_await in_.until(strays);
      Literal late(strays.at(), closers(), 1);
      co_await in_.until(late);
      if (strays.at() > next && late.found() == Found::kYes) co_return late.end();
    }
    if (c != '<' || fence == Fence::kAround) co_return at;
    TagEnd tag_end(next);
    co_await in_.until(tag_end);
    if (tag_end.found() != Found::kYes) co_return at;
    const std::optional<Tag> tag = parse_tag(in_.view().substr(next, tag_end.at() - next));
    if (!tag || tag->kind != Tag::Kind::kClose || is_thinking(tag->element)) co_return at;
    at = tag_end.at();
  }
}

// A name and what separates it from its arguments, then these.
Task<Reader::Block> Reader::named_block(size_t at, size_t mark_size) {
  Literal brace(at, kBrace, kMaxTagBytes);
  co_await in_.until(brace);
  if (brace.found() != Found::kYes) co_return Block{.kind = Block::Kind::kText, .size = mark_size};
  Head head = parse_head(in_.view().substr(at, brace.at() - at), tools_);
  const Tool* tool = tools_.find(head.name);
  JsonEnd value(brace.at());
  co_await in_.until(value);
  if (value.found() == Found::kOut) co_return out_of_bytes({});
  if (value.found() == Found::kNo) {
    const bool known = tool != nullptr;
    co_return Block{.kind = known ? Block::Kind::kDone : Block::Kind::kText,
                    .size = known ? value.at() : mark_size};
  }
  std::vector<Call> calls;
  if (tool != nullptr)
    add_json(in_.view().substr(brace.at(), value.at() - brace.at()), {.tool = tool, .id = std::move(head.id)},
             calls);
  co_return Block{.size = co_await close(value.at(), Fence::kInside), .calls = std::move(calls)};
}

// A name, then arguments in one of GLM's notations. What names no tool is a text that speaks of the mark, unless the closing mark
// is near.
Task<Reader::Block> Reader::glm_block(size_t at, size_t mark_size) {
  WordEnd word(at);
  co_await in_.until(word);
  const std::string name(in_.view().substr(at, word.at() - at));
  if (const Tool* tool = tools_.find_alias(name)) {
    NotSpace next(word.at());
    co_await in_.until(next);
    const char c = next.at() < in_.view().size() ? in_.view()[next.at()] : '\0';
    if (c == '{') co_return co_await json_block(next.at(), {.tool = tool});
    Literal key(next.at(), kKey, 1);
    co_await in_.until(key);
    if (key.found() == Found::kYes) co_return co_await glm_arguments(next.at(), tool);
    Literal border(word.at(), borders());
    co_await in_.until(border);
    if (border.found() != Found::kYes && in_.full()) co_return Block{.kind = Block::Kind::kStop};
    const bool closed =
        border.found() == Found::kYes && std::ranges::find(closers(), border.text()) != closers().end();
    // Without its closing mark only a lone value may be whole, at the end of an answer that is.
    bool whole = closed || (border.found() == Found::kOut && c == '>' && ending_ == Ending::kComplete);
    const std::string_view body = in_.view().substr(at, border.at() - at);
    // A name alone stands right behind the mark: "<tool_call> and </tool_call>" only speaks of it.
    whole = whole && (strings::trim(body) != name || in_.view()[at - 1] != ' ');
    std::optional<Call> call = whole ? glm_body(body, tools_) : std::nullopt;
    Block block{.size = closed ? border.end() : border.at()};
    if (call) block.calls.push_back(std::move(*call));
    if (call || closed) co_return block;
    co_return Block{.kind = Block::Kind::kText, .size = mark_size};
  }
  Literal border(at, borders(), kMaxJunkBytes);
  co_await in_.until(border);
  const bool closed =
      border.found() == Found::kYes && std::ranges::find(closers(), border.text()) != closers().end();
  if (closed) co_return Block{.size = border.end()};
  co_return Block{.kind = Block::Kind::kText, .size = mark_size};
}

// <arg_key>k</arg_key><arg_value>v</arg_value>, as often as there are, and the closing mark.
Task<Reader::Block> Reader::glm_arguments(size_t at, const Tool* tool) {
  Call call{.name = tool->name};
  const std::span<const std::string_view> steps[] = {kKey, kKeyEnd, kValue, kValueEnd};
  while (true) {
    size_t edges[4];
    for (size_t step = 0; step < 4; ++step) {
      const bool raw = step == 1 || step == 3;  // in front of a closing tag stands anything
      NotSpace space(at);
      co_await in_.until(space);
      Literal edge(raw ? at : space.at(), steps[step], raw ? Literal::kAnywhere : 1);
      co_await in_.until(edge);
      if (edge.found() == Found::kOut) co_return out_of_bytes({});
      if (edge.found() == Found::kNo && step > 0) co_return co_await junk(space.at(), {});
      if (edge.found() == Found::kNo) {
        Literal end(space.at(), closers(), 1);
        co_await in_.until(end);
        if (end.found() != Found::kYes) co_return co_await junk(space.at(), {});
        Block block{.size = end.end()};
        block.calls.push_back(std::move(call));
        co_return block;
      }
      edges[step] = raw ? edge.at() : edge.end();
      at = edge.end();
    }
    const std::string_view key = strings::trim(in_.view().substr(edges[0], edges[1] - edges[0]));
    const std::string_view value = in_.view().substr(edges[2], edges[3] - edges[2]);
    if (key.empty() || call.arguments.find(key) != nullptr) co_return co_await junk(at, {});
    call.arguments.set(std::string(key), typed(*tool, key, value));
  }
}

// Our own format: one object and the closing triangle. Without it the mark is text.
Task<Reader::Block> Reader::triangle_block(size_t at, size_t mark_size) {
  NotSpace body(at);
  co_await in_.until(body);
  if (body.at() >= in_.view().size() || in_.view()[body.at()] != '{')
    co_return Block{.kind = Block::Kind::kText, .size = mark_size};
  JsonEnd value(body.at());
  co_await in_.until(value);
  if (value.found() == Found::kOut && in_.full()) co_return Block{.kind = Block::Kind::kStop};
  NotSpace space(value.at());
  co_await in_.until(space);
  if (value.found() == Found::kYes && space.at() >= in_.view().size() && ending_ == Ending::kComplete) {
    // Nothing but the closing mark is missing.
    Block last{.size = in_.view().size()};
    add_json(in_.view().substr(body.at(), value.at() - body.at()), {.style = JsonStyle::kStrict}, last.calls);
    if (!last.calls.empty() && !in_.full()) co_return last;
  }
  Literal end(space.at(), kTriangles, value.found() == Found::kYes ? 1 : kMaxJunkBytes);
  co_await in_.until(end);
  if (end.found() != Found::kYes || end.text() != kTriangles[0])
    co_return Block{.kind = Block::Kind::kText, .size = mark_size};
  Block block{.size = end.end()};
  if (value.found() == Found::kYes)
    add_json(in_.view().substr(body.at(), value.at() - body.at()), {.style = JsonStyle::kStrict},
             block.calls);
  co_return block;
}

// JSON, or calls in Python's notation; any other program is text.
Task<Reader::Block> Reader::python_block(size_t at, size_t mark_size) {
  NotSpace body(at);
  co_await in_.until(body);
  at = body.at();
  const char c = at < in_.view().size() ? in_.view()[at] : '\0';
  if (c == '{' || (c == '[' && co_await begins_json(at))) co_return co_await json_block(at, {});
  WordEnd word(c == '[' ? at + 1 : at);
  co_await in_.until(word);
  const char next = word.at() < in_.view().size() ? in_.view()[word.at()] : '\0';
  if (next != '(') co_return Block{.size = mark_size};
  BracketEnd bracket(c == '[' ? at : word.at(), BracketEnd::Quotes::kBoth);
  co_await in_.until(bracket);
  if (bracket.found() == Found::kOut) co_return out_of_bytes({});
  std::vector<Call> calls;
  if (bracket.found() == Found::kYes) calls = python_calls(in_.view().substr(at, bracket.at() - at), tools_);
  if (calls.empty()) co_return Block{.size = mark_size};
  co_return Block{.size = co_await close(bracket.at(), Fence::kNone), .calls = std::move(calls)};
}

Task<Reader::Block> Reader::perl_block(size_t at, size_t mark_size) {
  const Block text{.kind = Block::Kind::kText, .size = mark_size};
  NotSpace body(at);
  co_await in_.until(body);
  if (body.at() >= in_.view().size() || in_.view()[body.at()] != '{') co_return text;
  BracketEnd bracket(body.at(), BracketEnd::Quotes::kDouble);
  co_await in_.until(bracket);
  if (bracket.found() == Found::kOut) co_return out_of_bytes({});
  if (bracket.found() == Found::kNo) co_return text;
  NotSpace space(bracket.at());
  co_await in_.until(space);
  Literal end(space.at(), kPerlEnds, 1);
  co_await in_.until(end);
  if (end.found() != Found::kYes) co_return text;
  Block block{.size = end.end()};
  std::optional<Call> call = perl_call(in_.view().substr(body.at(), bracket.at() - body.at()), tools_);
  if (call) block.calls.push_back(std::move(*call));
  co_return block;
}

Task<Reader::Block> Reader::function_call_block(size_t at, size_t mark_size) {
  Literal end(at, kFunctionCallEnds);
  co_await in_.until(end);
  if (end.found() == Found::kOut && in_.full()) co_return Block{.kind = Block::Kind::kStop};
  if (end.found() != Found::kYes || end.text() != kFunctionCallEnds[0])
    co_return Block{.kind = Block::Kind::kText, .size = mark_size};
  Block block{.size = end.end()};
  std::optional<Call> call = function_call(in_.view().substr(at, end.at() - at), tools_);
  if (call) block.calls.push_back(std::move(*call));
  co_return block;
}

}  // namespace chela::agent::dialects
