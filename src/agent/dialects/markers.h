#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "agent/dialects/waits.h"

namespace chela::agent::dialects {

// Kinds of protocol. A model writes one: once an answer has a call, marks of the other families are text that quotes them.
enum class Family {
  kNone,
  kTags,
  kInvoke,
  kFence,
  kPerl,
  kFunctionCall,
  kLine,
  kTriangles,
  kPython,
  kMistral,
  kDeepSeek,
  kKimi,
  kCohere,
  kPhi,
};

// What a mark says about the bytes behind it.
enum class Shape {
  kAny,           // JSON, XML or GLM's notation, up to a closing mark
  kXmlCall,       // the mark is a tag that names the tool
  kJson,          // JSON
  kCohere,        // JSON with `tool_name`
  kTriangle,      // one JSON object and the closing triangle
  kNamed,         // a name, then its arguments as JSON
  kNamedOrJson,   // that, or JSON
  kPython,        // JSON or a call in Python's notation
  kPerl,          // {tool => "x", args => {--key "value"}}
  kFunctionCall,  // a name and <code>
  kNoise,         // nothing: the mark alone is left out
  kThinking,
  kThinkingEnd,
  kFinal,
  kFinalEnd,
};

struct Mark {
  std::string_view text;
  Shape shape = Shape::kNoise;
  Family family = Family::kNone;
};

// What closes a block of Shape::kAny, and what opens one.
std::span<const std::string_view> closers();
std::span<const std::string_view> openers();
// Both: where a broken block ends at the latest.
std::span<const std::string_view> borders();

// The mark at the start of the view, or that there is none: asked where a byte begins one.
class MarkAt final : public Wait {
 public:
  bool decide(std::string_view view, More more) override;
  const std::optional<Mark>& mark() const {
    return mark_;
  }  // its text points into the table, or is empty for a tag
  size_t size() const { return size_; }
  // There is none, but the bytes end inside what may become one, or the tag of a call.
  bool begins_call() const { return begins_call_; }

 private:
  bool decide_tag(std::string_view view, More more);

  std::optional<Mark> mark_;
  size_t size_ = 0;
  bool begins_call_ = false;
};

}  // namespace chela::agent::dialects
