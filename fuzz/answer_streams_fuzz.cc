// LINK llm/anthropic llm/ollama llm/gemini llm/responses llm/bedrock
// Any bytes are some answer of a model, over every protocol; how they are cut does not change what is read. The first byte chooses the
// protocol, the second the pieces.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "llm/anthropic/stream_reader.h"
#include "llm/bedrock/stream_reader.h"
#include "llm/gemini/stream_reader.h"
#include "llm/ollama/stream_reader.h"
#include "llm/responses/stream_reader.h"

using chela::Result;
using chela::llm::Answer;
using chela::llm::Delta;

namespace {

struct Read {
  bool ok = false;
  Answer answer;
  std::string streamed;
};

template <class Reader>
Read read(std::string_view bytes, size_t piece) {
  Read out;
  Reader reader({.server = "fuzz", .secrets = {}}, [&out](const Delta& delta) {
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

template <class Reader>
void check(std::string_view bytes, size_t piece) {
  const Read whole = read<Reader>(bytes, std::max<size_t>(1, bytes.size()));
  const Read cut = read<Reader>(bytes, piece);
  CHELA_CHECK(whole.ok == cut.ok, "whether there is an answer depends on how the bytes are cut");
  if (!whole.ok) return;
  CHELA_CHECK(whole.streamed == cut.streamed && whole.answer.text == cut.answer.text &&
                  whole.answer.tool_calls == cut.answer.tool_calls &&
                  whole.answer.provider_data == cut.answer.provider_data,
              "the answer depends on how the bytes are cut");
  CHELA_CHECK(whole.answer.text == whole.streamed, "the answer is not what was streamed");
  for (const chela::llm::ToolCall& call : whole.answer.tool_calls)
    CHELA_CHECK(!call.arguments.empty(), "a call has arguments");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t piece = data[1] % 16 + 1;
  switch (data[0] % 5) {
    case 0:
      check<chela::llm::anthropic::StreamReader>(bytes, piece);
      break;
    case 1:
      check<chela::llm::ollama::StreamReader>(bytes, piece);
      break;
    case 2:
      check<chela::llm::gemini::StreamReader>(bytes, piece);
      break;
    case 3:
      check<chela::llm::responses::StreamReader>(bytes, piece);
      break;
    default:
      check<chela::llm::bedrock::StreamReader>(bytes, piece);
      break;
  }
  return 0;
}
