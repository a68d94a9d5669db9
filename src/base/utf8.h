#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace chela::utf8 {

// True when the text is well-formed UTF-8 (no surrogates, no overlong forms, at most U+10FFFF).
bool valid(std::string_view text);

// Replaces each maximal ill-formed part by U+FFFD.
std::string sanitize(std::string_view text);

// The longest prefix of at most max_bytes that ends between characters.
std::string_view prefix(std::string_view text, size_t max_bytes);

// The number of code points; ill-formed bytes count one each.
size_t length(std::string_view text);

// Appends the code point; a surrogate or a value past U+10FFFF becomes U+FFFD.
void append(std::string& out, char32_t code_point);

// How many bytes at the end of the text begin a character that is not complete yet (0..3): what a stream must hold back.
size_t incomplete_tail(std::string_view text);

}  // namespace chela::utf8
