#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/dialects/input.h"
#include "agent/dialects/json_calls.h"
#include "agent/dialects/markers.h"
#include "agent/dialects/outcome.h"
#include "agent/dialects/text_out.h"
#include "agent/dialects/tool_set.h"
#include "runtime/task.h"

namespace chela::agent::dialects {

// How a text ended.
enum class Ending {
  kComplete,  // the model was done
  kCut,       // a limit or a failure cut it: a call that is not closed is none
};

// Reads a text: what is text goes to TextOut, what is a call to `calls`. A coroutine that stops where bytes are missing; how the
// bytes came makes no difference.
class Reader {
 public:
  Reader(const ToolSet& tools, Input& in, TextOut& out, Unread unread)
      : tools_(tools), in_(in), out_(out), unread_(unread) {}

  Script run();
  void ends_as(Ending ending) { ending_ = ending; }
  std::vector<Call>& calls() { return calls_; }
  Refused refused() const { return calls_.empty() ? refused_ : Refused::kNothing; }

 private:
  // What became of a mark and the bytes behind it. Offsets and sizes count from the mark.
  struct Block {
    enum class Kind {
      kDone,  // read, or dropped
      kText,  // no protocol: so much is text as it stands
      kStop,  // larger than what is read
    } kind = Kind::kDone;
    size_t size = 0;
    std::vector<Call> calls = {};
  };
  // A Markdown fence that JSON stands in.
  enum class Fence {
    kNone,
    kInside,  // it is inside the block's marks
    kAround,  // it is the block's mark
  };
  // What JSON in a block means: arguments of the tool, or calls in a style.
  struct Meaning {
    JsonStyle style = JsonStyle::kTagged;
    const Tool* tool = nullptr;
    std::string id = {};
    Fence fence = Fence::kNone;
  };
  struct XmlCall {
    Found found = Found::kNo;
    size_t at = 0;
    std::vector<std::pair<std::string, std::string>> parameters = {};
    std::optional<std::string> content = {};
  };

  // reader_text.cc: text, code and thoughts
  Task<void> line_start();
  Task<void> fence(size_t indent);
  Task<void> backticks();
  Task<void> mark();
  Task<void> read_block(Mark mark, size_t size);
  Task<void> skip_thinking();
  void plain();
  void release(size_t size);
  void finish(Block block, Family family);
  // The text was cut, and its end decided what was looked at last.
  bool was_cut() const { return ending_ == Ending::kCut && in_.ran_out(); }
  void refuse_rest();
  // Without tools that may be called, marks of calls are text where nothing is left out.
  bool reads_calls() const { return unread_ == Unread::kLeftOut || !tools_.empty(); }
  bool may_open(Family family) const { return lock_ == Family::kNone || lock_ == family; }

  // reader_body.cc: whole answers, and lines
  Task<void> whole_body();
  Task<bool> ends_here(size_t from);
  bool begins_calls(std::string_view body) const;
  Task<bool> line_call(size_t indent);
  Task<Block> line_value(size_t at, const Tool* tool, std::string written);

  // reader_blocks.cc
  Task<Block> block(Mark mark, size_t at);
  Task<Block> any_block(size_t at);
  Task<Block> json_block(size_t at, Meaning meaning);
  Task<bool> begins_json(size_t at);
  Task<size_t> close(size_t at, Fence fence);
  Task<Block> named_block(size_t at, size_t mark_size);
  Task<Block> glm_block(size_t at, size_t mark_size);
  Task<Block> glm_arguments(size_t at, const Tool* tool);
  Task<Block> triangle_block(size_t at, size_t mark_size);
  Task<Block> python_block(size_t at, size_t mark_size);
  Task<Block> perl_block(size_t at, size_t mark_size);
  Task<Block> function_call_block(size_t at, size_t mark_size);
  Task<Block> junk(size_t at, std::vector<Call> calls);
  Block out_of_bytes(std::vector<Call> calls) const;
  void add_json(std::string_view text, const Meaning& meaning, std::vector<Call>& calls) const;

  // reader_xml.cc
  Task<Block> xml_block(size_t at);
  Task<Block> xml_call_block(size_t mark_size);
  enum class Parameters { kNamed, kElements };
  // `tool`: whose parameters may also be elements without a name; may be null.
  Task<XmlCall> xml_call(size_t at, std::string element, Parameters parameters, const Tool* tool);
  Task<XmlCall> xml_content(size_t at, std::string closer, XmlCall call);
  void add_xml(const std::string& name, XmlCall call, std::vector<Call>& calls) const;

  const ToolSet& tools_;
  Input& in_;
  TextOut& out_;
  const Unread unread_;
  Ending ending_ = Ending::kComplete;
  std::vector<Call> calls_;
  Refused refused_ = Refused::kNothing;
  Family lock_ = Family::kNone;
  bool line_start_ = true;
  bool fresh_ = true;  // nothing but white space and thoughts so far
  size_t span_ = 0;    // backticks of the code span that is open
  size_t fence_ = 0;   // length of the fence that is open, which quotes
  char fence_char_ = '`';
  bool stopped_ = false;
  bool plain_ = false;  // all that comes is text
};

}  // namespace chela::agent::dialects
