#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Looking at the words of queries and messages.
namespace chela::memory {

inline constexpr std::size_t kMaxTerms = 32;  // of one search; further words are left out

// Runs of letters and digits, lower case (ASCII); every other character separates, punctuation outside ASCII included.
std::vector<std::string> words_of(std::string_view text);

// Each word once, at most kMaxTerms.
std::vector<std::string> terms_of(std::string_view query);

// The terms that say what a message is about: without articles, pronouns, question words, greetings and the like.
std::vector<std::string> keywords_of(std::string_view message);

// "dentists" and "dentist", "meeting" and "meet": the same word with another ending. Both in lower case.
bool same_word(std::string_view a, std::string_view b);

}  // namespace chela::memory
