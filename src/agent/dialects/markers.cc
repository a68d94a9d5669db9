#include "agent/dialects/markers.h"

#include <algorithm>
#include <vector>

#include "agent/dialects/tags.h"
#include "base/strings.h"

namespace chela::agent::dialects {
namespace {

// Marks that are always written the same way. Those that may have attributes are read as tags.
constexpr std::array kMarks = std::to_array<Mark>({
    {"<tool_call>", Shape::kAny, Family::kTags},
    {"<toolcall>", Shape::kAny, Family::kTags},
    {"<tool-call>", Shape::kAny, Family::kTags},
    {"<invoke>", Shape::kAny, Family::kTags},
    {"<function_call>", Shape::kAny, Family::kTags},
    {"<tool_calls>", Shape::kAny, Family::kTags},
    {"<tools>", Shape::kAny, Family::kTags},
    {"<|tool_call|>", Shape::kAny, Family::kTags},
    {"<|tool_calls|>", Shape::kAny, Family::kTags},
    {"<|function_call|>", Shape::kAny, Family::kTags},
    {"<function_calls>", Shape::kAny, Family::kInvoke},
    {"<antml:function_calls>", Shape::kAny, Family::kInvoke},
    {"<minimax:tool_call>", Shape::kAny, Family::kInvoke},
    {"<minimax:toolcall>", Shape::kAny, Family::kInvoke},
    {"<FunctionCall>", Shape::kFunctionCall, Family::kFunctionCall},
    {"[TOOL_CALL]", Shape::kPerl, Family::kPerl},
    {"[TOOL_CALLS]", Shape::kNamedOrJson, Family::kMistral},
    {"\u25C1think\u25B7", Shape::kThinking},
    {"\u25C1/think\u25B7", Shape::kThinkingEnd},
    {"[THINK]", Shape::kThinking},
    {"[/THINK]", Shape::kThinkingEnd},
    {"\u25C1", Shape::kTriangle, Family::kTriangles},
    {"<|python_tag|>", Shape::kPython, Family::kPython},
    {"<|python_start|>", Shape::kPython, Family::kPython},
    {"<\uFF5Ctool\u2581call\u2581begin\uFF5C>", Shape::kNamed, Family::kDeepSeek},
    {"<|tool_call_begin|>", Shape::kNamed, Family::kKimi},
    {"<|START_ACTION|>", Shape::kCohere, Family::kCohere},
    {"<\uFF5Ctool\u2581calls\u2581begin\uFF5C>"},
    {"<\uFF5Ctool\u2581calls\u2581end\uFF5C>"},
    {"<\uFF5Ctool\u2581call\u2581end\uFF5C>"},
    {"<\uFF5Cend\u2581of\u2581sentence\uFF5C>"},
    {"<|tool_calls_section_begin|>"},
    {"<|tool_calls_section_end|>"},
    {"<|tool_call_end|>"},
    {"<|END_ACTION|>"},
    {"<|START_RESPONSE|>"},
    {"<|END_RESPONSE|>"},
    {"<|START_TEXT|>"},
    {"<|END_TEXT|>"},
    {"<|END_OF_TURN_TOKEN|>"},
    {"<|python_end|>"},
    {"<|eom|>"},
    {"<eom>"},
    {"<|eom_id|>"},
    {"<|eot_id|>"},
    {"<|eot|>"},
    {"<|im_end|>"},
    {"<|end|>"},
    {"<|endoftext|>"},
    {"<|START_THINKING|>", Shape::kThinking},
    {"<|END_THINKING|>", Shape::kThinkingEnd},
});

constexpr std::array<std::string_view, 15> kClosers = {"</tool_call>",
                                                       "</toolcall>",
                                                       "</tool-call>",
                                                       "</invoke>",
                                                       "</function_call>",
                                                       "</tool_calls>",
                                                       "</tools>",
                                                       "<|/tool_call|>",
                                                       "</|tool_call|>",
                                                       "<|/tool_calls|>",
                                                       "<|/function_call|>",
                                                       "</function_calls>",
                                                       "</antml:function_calls>",
                                                       "</minimax:tool_call>",
                                                       "</minimax:toolcall>"};

constexpr size_t kOpeners = 14;  // the first of kMarks

constexpr std::array<std::string_view, kOpeners> kOpenerTexts = [] {
  std::array<std::string_view, kOpeners> texts;
  for (size_t i = 0; i < kOpeners; ++i) texts[i] = kMarks[i].text;
  return texts;
}();

constexpr std::array<std::string_view, kOpeners + kClosers.size()> kBorders = [] {
  std::array<std::string_view, kOpeners + kClosers.size()> texts;
  std::copy(kClosers.begin(), kClosers.end(), texts.begin());
  std::copy(kOpenerTexts.begin(), kOpenerTexts.end(), texts.begin() + kClosers.size());
  return texts;
}();

static_assert(std::all_of(kMarks.begin(), kMarks.begin() + kOpeners,
                          [](const Mark& each) { return each.shape == Shape::kAny; }) &&
              kMarks[kOpeners].shape != Shape::kAny);

// Of a mark that was cut, to be taken for one.
constexpr size_t kMinMarkBytes = 4;

// No element that is looked for is longer.
constexpr size_t kMaxElement = 32;

bool is_element_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == ':' || c == '.';
}

// Elements are looked at without the name space in front of them.
std::string_view local(std::string_view element) { return element.substr(element.rfind(':') + 1); }

bool names_calls(std::string_view element) {
  return strings::iequals(local(element), "invoke") || strings::iequals(local(element), "function_call") ||
         strings::iequals(element, "function");
}

std::optional<Mark> mark_of(const Tag& tag) {
  const bool close = tag.kind == Tag::Kind::kClose;
  const bool holds_text = is_thinking(tag.element) || strings::iequals(tag.element, "final");
  if (holds_text && tag.kind == Tag::Kind::kAlone) return Mark{};  // it holds nothing
  if (is_thinking(tag.element))
    return Mark{.text = {}, .shape = close ? Shape::kThinkingEnd : Shape::kThinking};
  if (strings::iequals(tag.element, "final"))
    return Mark{.text = {}, .shape = close ? Shape::kFinalEnd : Shape::kFinal};
  const bool function = strings::iequals(tag.element, "function");
  const Tag::Naming naming = function ? Tag::Naming::kAssigned : Tag::Naming::kAttribute;
  if (close || tag.name.empty() || !names_calls(tag.element) || tag.naming != naming) return std::nullopt;
  return Mark{.text = {}, .shape = Shape::kXmlCall, .family = function ? Family::kTags : Family::kInvoke};
}

}  // namespace

std::span<const std::string_view> closers() { return kClosers; }
std::span<const std::string_view> openers() { return kOpenerTexts; }
std::span<const std::string_view> borders() { return kBorders; }

bool MarkAt::decide(std::string_view view, More more) {
  if (view.size() < 2) return more == More::kNone;
  for (const Mark& each : kMarks) {
    if (each.text[1] != view[1] || each.text[0] != view[0]) continue;
    if (view.starts_with(each.text)) {
      mark_ = each;
      size_ = each.text.size();
      return true;
    }
    if (!each.text.starts_with(view)) continue;
    if (more == More::kMayCome) return false;
    begins_call_ = view.size() >= kMinMarkBytes;
  }
  return view.front() != '<' || decide_tag(view, more);
}

// <|think|> is a tag as well.
bool MarkAt::decide_tag(std::string_view view, More more) {
  const bool piped = view[1] == '|';
  size_t at = piped ? 2 : 1;
  if (at < view.size() && view[at] == '/') ++at;
  const size_t start = at;
  while (at < view.size() && at < kMaxElement && is_element_char(view[at])) ++at;
  if (at == view.size() && at < kMaxElement && more == More::kMayCome) return false;
  const std::string_view element = view.substr(start, at - start);
  const auto begins = [name = local(element)](std::string_view call) { return call.starts_with(name); };
  if (at == view.size() && local(element).size() >= kMinMarkBytes)
    begins_call_ = begins_call_ || begins("invoke") || begins("function_call");
  if (!is_thinking(element) && (piped || (!strings::iequals(element, "final") && !names_calls(element))))
    return true;
  TagEnd end(0);
  if (!end.decide(view, more)) return false;
  if (end.found() != Found::kYes) {
    begins_call_ = begins_call_ || (end.found() == Found::kOut && names_calls(element));
    return true;
  }
  std::string text(view.substr(0, end.at()));
  if (piped) {
    text.erase(1, 1);
    if (text.ends_with("|>")) text.erase(text.size() - 2, 1);
  }
  if (const std::optional<Tag> tag = parse_tag(text)) mark_ = mark_of(*tag);
  size_ = end.at();
  return true;
}

}  // namespace chela::agent::dialects
