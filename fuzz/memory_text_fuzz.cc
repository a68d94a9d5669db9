// LINK memory
// Any path is refused or stays the same when it is normalised again; words, chunks and recalled lines of any text are parts of it.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "memory/chunker.h"
#include "memory/documents.h"
#include "memory/path.h"
#include "memory/recall.h"
#include "memory/words.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  using namespace chela;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const Result<std::string> path = memory::normalise_path(text)) {
    CHELA_CHECK(memory::normalise_path(*path).value_or("") == *path, "a normalised path is not final");
    (void)memory::is_protected(*path);
  }
  const std::string document(text);
  for (const std::string& chunk : memory::chunk(document))
    CHELA_CHECK(document.contains(chunk), "a chunk is not of the document");
  const std::string valid = utf8::sanitize(text);
  const std::vector<std::string> keywords = memory::keywords_of(valid);
  CHELA_CHECK(keywords.size() <= memory::kMaxTerms, "too many terms");
  for (const memory::Line& line : memory::matching_lines(valid, keywords)) {
    CHELA_CHECK(utf8::valid(line.text) && utf8::length(line.text) <= memory::kMaxRecallChars,
                "a recalled line is too long or no text");
  }
  return 0;
}
