#pragma once

#include <cstddef>

// What the reader of a model's text holds at most. All are bytes.
namespace chela::agent::dialects {

// Of one call (or list of calls) with its marks. What is larger ends the reading: nothing behind it is text or a call.
inline constexpr size_t kMaxCallBytes = 1024 * 1024;
// Of what stands between the marks of a call without being one, before it is taken for text that mentions the marks.
inline constexpr size_t kMaxJunkBytes = 4096;
// Of a tag with its attributes, of the line that opens a fence, and of what stands between a mark and the arguments.
inline constexpr size_t kMaxTagBytes = 512;
// Of brackets and separators too many between a call and its closing mark, which go with it.
inline constexpr size_t kMaxStrayBytes = 16;
// Of the name of a tool.
inline constexpr size_t kMaxNameBytes = 128;
// Of white space that is held back because the text may end behind it.
inline constexpr size_t kMaxHeldSpaceBytes = 4096;
// Of a piece that is taken into the buffer at once.
inline constexpr size_t kMaxPieceBytes = 64 * 1024;
// How often arguments may be packed as a string into a string; a count.
inline constexpr int kMaxStringWraps = 3;
// Brackets in Python's notation; a count.
inline constexpr int kMaxPythonDepth = 32;
// And in Perl's, which needs two.
inline constexpr int kMaxPerlDepth = 2;

}  // namespace chela::agent::dialects
