#include <algorithm>

#include "agent/dialects/glm_calls.h"
#include "agent/dialects/reader.h"
#include "agent/dialects/tags.h"
#include "agent/dialects/waits.h"

// Calls as XML: elements named after the tool, or tags that name it. Values have no escapes, so each ends at its own closing tag,
// and a call in which anything else stands between them is none.
namespace chela::agent::dialects {
namespace {

// Elements around calls that are none.
bool is_meta(std::string_view element) { return is_thinking(element) || element == "analysis"; }

// A value as the model wrote it: pretty-printed ones lose the line breaks around them, others the spaces.
std::string_view stripped(std::string_view value) {
  constexpr std::string_view kOpen = "<![CDATA[";
  constexpr std::string_view kClose = "]]>";
  const std::string_view marked = strings::trim(value);
  if (marked.size() >= kOpen.size() + kClose.size() && marked.starts_with(kOpen) && marked.ends_with(kClose))
    return marked.substr(kOpen.size(), marked.size() - kOpen.size() - kClose.size());
  const size_t first = value.find_first_not_of(" \t\r");
  if (first != std::string_view::npos && value[first] == '\n') value.remove_prefix(first + 1);
  const size_t last = value.find_last_not_of(" \t\r");
  if (last != std::string_view::npos && value[last] == '\n') value = value.substr(0, last);
  return value.find('\n') == std::string_view::npos ? strings::trim(value) : value;
}

// A quote is open: the value may have been cut at a tag that it holds.
bool is_cut(std::string_view value) { return std::count(value.begin(), value.end(), '"') % 2 != 0; }

}  // namespace

// Elements up to the closing mark.
Task<Reader::Block> Reader::xml_block(size_t at) {
  std::vector<Call> calls;
  while (true) {
    NotSpace space(at);
    co_await in_.until(space);
    at = space.at();
    if (at >= in_.view().size()) co_return out_of_bytes(std::move(calls));
    if (in_.view()[at] != '<') co_return co_await junk(at, {});
    Literal closer(at, closers(), 1);
    co_await in_.until(closer);
    if (closer.found() == Found::kYes) co_return Block{.size = closer.end(), .calls = std::move(calls)};
    Literal opener(at, openers(), 1);
    co_await in_.until(opener);
    // A block that was not closed.
    if (opener.found() == Found::kYes) co_return Block{.size = at, .calls = std::move(calls)};
    TagEnd tag_end(at);
    co_await in_.until(tag_end);
    const std::optional<Tag> tag =
        tag_end.found() == Found::kYes ? parse_tag(in_.view().substr(at, tag_end.at() - at)) : std::nullopt;
    if (!tag || tag->kind == Tag::Kind::kClose) co_return co_await junk(at, {});
    const std::string element(tag->element);
    const std::string name(tag->name);
    const bool alone = tag->kind == Tag::Kind::kAlone;
    if (name.empty() && tag->naming == Tag::Naming::kAttribute && tools_.find(element) != nullptr) {
      // <shell command="ls"/>: attributes are arguments, where nothing else is.
      std::optional<Call> whole =
          alone ? glm_body(in_.view().substr(at + 1, tag_end.at() - at - 2), tools_) : std::nullopt;
      if (!whole) co_return co_await junk(tag_end.at(), {});
      calls.push_back(std::move(*whole));
      at = tag_end.at();
      continue;
    }
    at = tag_end.at();
    XmlCall call{.found = Found::kYes, .at = at};
    if (is_meta(element) && !alone) {
      const std::string closing = "</" + element + ">";
      const std::string_view texts[] = {closing};
      Literal end(at, texts);
      co_await in_.until(end);
      if (end.found() != Found::kYes) co_return out_of_bytes(std::move(calls));
      at = end.end();
      continue;
    }
    if (!alone)
      call = co_await xml_call(at, element, name.empty() ? Parameters::kElements : Parameters::kNamed,
                               tools_.find(name));
    if (call.found == Found::kOut) co_return out_of_bytes(std::move(calls));
    if (call.found == Found::kNo) co_return co_await junk(call.at, {});
    at = call.at;
    add_xml(name.empty() ? element : name, std::move(call), calls);
  }
}

// A tag that names the tool, alone in the text.
Task<Reader::Block> Reader::xml_call_block(size_t mark_size) {
  const std::optional<Tag> tag = parse_tag(in_.view().substr(0, mark_size));
  if (!tag) co_return Block{.kind = Block::Kind::kText, .size = mark_size};
  const std::string element(tag->element);
  const std::string name(tag->name);
  std::vector<Call> calls;
  XmlCall call{.found = Found::kYes, .at = mark_size};
  if (tag->kind == Tag::Kind::kOpen)
    call = co_await xml_call(mark_size, element, Parameters::kNamed, tools_.find(name));
  if (call.found == Found::kOut) co_return out_of_bytes({});
  if (call.found == Found::kNo) co_return co_await junk(call.at, {});
  const size_t end = call.at;
  add_xml(name, std::move(call), calls);
  // The rest of a wrapper that was left out in front.
  NotSpace space(end);
  co_await in_.until(space);
  Literal closer(space.at(), closers(), 1);
  co_await in_.until(closer);
  co_return Block{.size = closer.found() == Found::kYes ? closer.end() : end, .calls = std::move(calls)};
}

// Parameters, or one text, up to the closing tag of the element.
Task<Reader::XmlCall> Reader::xml_call(size_t at, std::string element, Parameters parameters,
                                       const Tool* tool) {
  XmlCall call;
  const std::string closing = "</" + element + ">";
  while (true) {
    NotSpace space(at);
    co_await in_.until(space);
    call.at = space.at();
    if (space.at() >= in_.view().size()) {
      call.found = Found::kOut;
      co_return call;
    }
    if (in_.view()[space.at()] != '<') {
      if (!call.parameters.empty()) co_return call;
      co_return co_await xml_content(at, closing, std::move(call));
    }
    TagEnd tag_end(space.at());
    co_await in_.until(tag_end);
    if (tag_end.found() == Found::kOut) {
      call.found = Found::kOut;
      co_return call;
    }
    const std::optional<Tag> tag = tag_end.found() == Found::kYes
                                       ? parse_tag(in_.view().substr(space.at(), tag_end.at() - space.at()))
                                       : std::nullopt;
    if (tag && tag->kind == Tag::Kind::kClose &&
        (!call.parameters.empty() || strings::iequals(tag->element, element))) {
      call.found = Found::kYes;
      call.at = tag_end.at();
      co_return call;
    }
    const bool declared =
        tag && tag->name.empty() && tool != nullptr && property(*tool, tag->element) != nullptr;
    const bool named = parameters == Parameters::kNamed && !declared;
    if (!tag || tag->kind == Tag::Kind::kClose || (named && tag->name.empty())) {
      if (!call.parameters.empty()) co_return call;
      co_return co_await xml_content(at, closing, std::move(call));
    }
    const std::string key(named ? tag->name : tag->element);
    at = tag_end.at();
    if (tag->kind == Tag::Kind::kAlone) continue;
    const std::string end_text = "</" + std::string(tag->element) + ">";
    const std::string_view ends[] = {end_text};
    Literal end(at, ends);
    co_await in_.until(end);
    if (end.found() != Found::kYes) {
      call.found = Found::kOut;
      call.at = in_.view().size();
      co_return call;
    }
    call.parameters.emplace_back(key, stripped(in_.view().substr(at, end.at() - at)));
    at = end.end();
  }
}

// Anything up to the closing tag; in JSON it may stand in strings.
Task<Reader::XmlCall> Reader::xml_content(size_t at, std::string closer, XmlCall call) {
  const std::string_view texts[] = {closer};
  NotSpace space(at);
  co_await in_.until(space);
  size_t from = at;
  if (space.at() < in_.view().size() && in_.view()[space.at()] == '{') {
    JsonEnd json(space.at());
    co_await in_.until(json);
    if (json.found() == Found::kYes) from = json.at();
  }
  Literal end(from, texts);
  co_await in_.until(end);
  call.found = end.found();
  call.at = end.end();
  if (end.found() == Found::kYes)
    call.content = std::string(strings::trim(stripped(in_.view().substr(at, end.at() - at))));
  co_return call;
}

void Reader::add_xml(const std::string& name, XmlCall xml, std::vector<Call>& calls) const {
  const Tool* tool = tools_.find(name);
  if (tool == nullptr) return;
  Call call{.name = tool->name};
  for (const auto& [key, text] : xml.parameters) {
    if (call.arguments.find(key) != nullptr) return;  // which of them is meant?
    json::Value value = typed(*tool, key, text);
    const bool empty_text = text.empty() && (!value.is_string() || property(*tool, key) == nullptr);
    if (!empty_text) call.arguments.set(key, std::move(value));
  }
  const std::string content = xml.content.value_or("");
  if (!content.empty()) {
    Result<json::Value> value = json::parse(content);
    if (value && value->is_object()) {
      call.arguments = std::move(*value);
    } else if (value && !value->is_string()) {
      call.arguments =
          lone_argument(*tool, property(*tool, "content") != nullptr ? "content" : "value", content);
    } else if (is_cut(content)) {
      return;
    } else {
      call.arguments = lone_argument(*tool, "content", content);
    }
  }
  calls.push_back(std::move(call));
}

}  // namespace chela::agent::dialects
