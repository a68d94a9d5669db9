// LINK llm/openai
// Any bytes are some answer of a model; how they are cut does not change what is read.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "llm/openai/stream_reader.h"

using chela::Result;
using chela::llm::Answer;
using chela::llm::Delta;
using chela::llm::openai::StreamReader;

namespace {

struct Read {
  bool ok = false;
  Answer answer;
  std::string streamed;
};

Read read(std::string_view bytes, size_t piece) {
  Read out;
  StreamReader reader({.server = "fuzz", .secrets = {}}, [&out](const Delta& delta) {
    CHELA_CHECK(chela::utf8::valid(delta.text) && chela::utf8::valid(delta.reasoning), "a delta is no UTF-8");
    out.streamed += delta.text;
  });
  Result<> fed;
  while (fed && !bytes.empty()) {
    fed = reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  if (!fed) return out;
  Result<Answer> answer = reader.finish();
  out.ok = answer.has_value();
  if (answer) out.answer = std::move(*answer);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Read whole = read(bytes, bytes.size());
  const Read cut = read(bytes, data[0] % 16 + 1);
  CHELA_CHECK(whole.ok == cut.ok && whole.streamed == cut.streamed && whole.answer.text == cut.answer.text &&
                  whole.answer.tool_calls == cut.answer.tool_calls,
              "the answer depends on how the bytes are cut");
  CHELA_CHECK(!whole.ok || whole.answer.text == whole.streamed, "the answer is not what was streamed");
  return 0;
}
