#include "agent/traces/trace.h"
#include "base/utf8.h"

namespace chela::agent::traces {
namespace {

constexpr size_t kWidth = 120;
constexpr size_t kIndent = 2;

class Layout {
 public:
  void add(const json::Value& value, size_t depth, size_t used) {
    const bool simple = !value.is_object() && !value.is_array();
    std::string line = json::write(value);
    // An object of the outermost level is always spread: it is what people look for.
    if (simple || (depth > 0 && used + depth * kIndent + utf8::length(line) <= kWidth)) {
      out_ += simple ? line : spaced(value);
      return;
    }
    if (const json::Object* object = value.as_object()) {
      open(
          '{', object->empty(), '}',
          [&] {
            for (auto member = object->begin(); member != object->end(); ++member) {
              begin_item(member == object->begin(), depth);
              std::string key;
              json::write_string_to(key, member->key);
              out_ += key + ": ";
              add(member->value, depth + 1, utf8::length(key) + 3);
            }
          },
          depth);
      return;
    }
    const json::Array& array = *value.as_array();
    open(
        '[', array.empty(), ']',
        [&] {
          for (auto item = array.begin(); item != array.end(); ++item) {
            begin_item(item == array.begin(), depth);
            add(*item, depth + 1, 1);
          }
        },
        depth);
  }

  std::string take() { return std::move(out_) + "\n"; }

 private:
  template <class Items>
  void open(char first, bool is_empty, char last, const Items& items, size_t depth) {
    out_ += first;
    items();
    if (!is_empty) out_ += "\n" + std::string(depth * kIndent, ' ');
    out_ += last;
  }
  void begin_item(bool is_first, size_t depth) {
    out_ += is_first ? "\n" : ",\n";
    out_ += std::string((depth + 1) * kIndent, ' ');
  }
  // On one line, with a space behind colons and commas.
  static std::string spaced(const json::Value& value) {
    std::string out;
    if (const json::Object* object = value.as_object()) {
      for (const json::Member& each : *object) {
        out += out.empty() ? "{" : ", ";
        json::write_string_to(out, each.key);
        out += ": " + spaced(each.value);
      }
      return out.empty() ? "{}" : out + "}";
    }
    if (const json::Array* array = value.as_array()) {
      for (const json::Value& each : *array) out += (out.empty() ? "[" : ", ") + spaced(each);
      return out.empty() ? "[]" : out + "]";
    }
    return json::write(value);
  }

  std::string out_;
};

}  // namespace

std::string layout(const json::Value& value) {
  Layout made;
  made.add(value, 0, 0);
  return made.take();
}

}  // namespace chela::agent::traces
