// Looking at the words of a request: key words, sentences, file paths, masks. Pure functions; text is UTF-8, rules are for English.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chela::infer {

struct PathMention {
  std::string path;
  std::size_t begin = 0;  // of the words in the text, quotes included
  std::size_t end = 0;
};

// Curly quotes become ' and ": the rules know only these.
std::string plain_quotes(std::string_view text);

// Words without surrounding punctuation, lower case (ASCII).
std::vector<std::string> words_of(std::string_view text);

// The words that say what a question is about: without question words, pronouns, articles and the like.
std::vector<std::string> keywords_of(std::string_view text);

// Lines and sentences, list marks and "[HH:MM:SS]" stamps taken off.
std::vector<std::string> sentences_of(std::string_view text);

// Cuts white space and punctuation that does not belong to a value off both ends, and one pair of quotes.
std::string_view value_of(std::string_view text);

// The first file path: "notes.txt", "src/main.cc", "/etc/hosts", "~/x", "Makefile". URLs, numbers and abbreviations are none.
std::optional<PathMention> find_path(std::string_view text);

// The text with paths as file.txt and numbers as 7: what is compared with the examples.
std::string masked(std::string_view text);

// "get_weather" -> "get weather", "getWeather" -> "get weather".
std::string words_of_name(std::string_view name);

// Share of the words of `of` that occur in `in`; plural and other short endings do not count.
float overlap(const std::vector<std::string>& of, const std::vector<std::string>& in);

}  // namespace chela::infer
