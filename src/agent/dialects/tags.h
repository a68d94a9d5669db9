#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/dialects/waits.h"

namespace chela::agent::dialects {

// A tag as models write them: <name>, <invoke name="x">, <parameter=x>, </name>, <name/>.
struct Tag {
  std::string_view element;  // as written
  std::string_view name;     // of the attribute `name`, or what follows `=`
  enum class Naming { kNone, kAttribute, kAssigned } naming = Naming::kNone;
  enum class Kind { kOpen, kClose, kAlone } kind = Kind::kOpen;
};

// The tag that this text is, from < to >; nothing when it is none.
std::optional<Tag> parse_tag(std::string_view text);

// The end of the tag whose < is at an offset: behind the first > that is in no quotes.
class TagEnd final : public Wait {
 public:
  explicit TagEnd(size_t from) : from_(from), at_(from + 1) {}
  bool decide(std::string_view view, More more) override;
  Found found() const { return found_; }
  size_t at() const { return at_; }

 private:
  size_t from_;
  size_t at_;
  char quote_ = 0;
  Found found_ = Found::kOut;
};

// Elements that hold a model's thoughts.
bool is_thinking(std::string_view element);

}  // namespace chela::agent::dialects
