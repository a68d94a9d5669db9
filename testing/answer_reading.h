#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "llm/wire/answer_reader.h"
#include "llm/wire/provider_error.h"

// Reading bodies of answers in tests of the adapters' readers.
namespace chela::testing {

inline const llm::wire::ErrorContext kReadErrors{.server = "test:80", .secrets = {"sk-very-secret"}};

struct ReadAnswer {
  Result<llm::Answer> answer;
  std::string text;  // as it was passed on
  std::string reasoning;
  bool streamed = false;
};

// The answer of the body, fed in pieces of so many bytes.
template <class Reader>
ReadAnswer read_answer(std::string_view body, size_t piece = std::numeric_limits<size_t>::max()) {
  std::string text;
  std::string reasoning;
  Reader reader(kReadErrors, [&](const llm::Delta& delta) {
    EXPECT_TRUE(utf8::valid(delta.text) && utf8::valid(delta.reasoning));
    text += delta.text;
    reasoning += delta.reasoning;
  });
  Result<> fed;
  while (fed && !body.empty()) {
    fed = reader.feed(body.substr(0, piece));
    body.remove_prefix(std::min(piece, body.size()));
  }
  Result<llm::Answer> answer = fed ? reader.finish() : Result<llm::Answer>(fail(fed.error()));
  return {.answer = std::move(answer), .text = text, .reasoning = reasoning, .streamed = reader.streamed()};
}

// Reads a whole body, and again cut at every byte and in other pieces: nothing may change.
template <class Reader>
llm::Answer answer_of(std::string_view body) {
  ReadAnswer whole = read_answer<Reader>(body);
  if (!whole.answer) {
    ADD_FAILURE() << whole.answer.error().text();
    return {};
  }
  EXPECT_EQ(whole.text, whole.answer->text);
  for (const size_t piece : {1, 2, 3, 7, 64}) {
    const ReadAnswer cut = read_answer<Reader>(body, piece);
    if (!cut.answer) {
      ADD_FAILURE() << "cut: " << cut.answer.error().text();
      continue;
    }
    EXPECT_EQ(cut.answer->text, whole.answer->text);
    EXPECT_EQ(cut.answer->reasoning, whole.answer->reasoning);
    EXPECT_EQ(cut.answer->tool_calls, whole.answer->tool_calls);
    EXPECT_EQ(cut.answer->provider_data, whole.answer->provider_data);
    EXPECT_EQ(cut.answer->finish_reason, whole.answer->finish_reason);
    EXPECT_EQ(cut.answer->usage.input_tokens, whole.answer->usage.input_tokens);
  }
  return std::move(*whole.answer);
}

template <class Reader>
Error error_of(std::string_view body) {
  const ReadAnswer read = read_answer<Reader>(body);
  const ReadAnswer cut = read_answer<Reader>(body, 1);
  if (read.answer || cut.answer) {
    ADD_FAILURE() << "it was read: " << body.substr(0, 200);
    return {};
  }
  EXPECT_EQ(read.answer.error().code, cut.answer.error().code);
  EXPECT_EQ(read.answer.error().message.find("sk-very-secret"), std::string::npos);
  return read.answer.error();
}

// Every beginning of the body that lacks its end is an error, never half an answer. `whole_from`: where the answer is whole.
template <class Reader>
void expect_cuts_are_upstream(std::string_view body, size_t whole_from) {
  for (size_t end = 0; end < whole_from; ++end) {
    const ReadAnswer read = read_answer<Reader>(body.substr(0, end));
    ASSERT_FALSE(read.answer) << "cut at " << end;
    EXPECT_EQ(read.answer.error().code, Code::kUpstream) << "cut at " << end;
  }
  for (size_t end = whole_from; end <= body.size(); ++end)
    EXPECT_TRUE(read_answer<Reader>(body.substr(0, end)).answer) << "cut at " << end;
}

// Pieces of an endless answer until they are refused, which must be for its size.
template <class Reader, class Piece>
void expect_a_limit(std::string_view beginning, Piece piece, size_t most) {
  Reader reader(kReadErrors, {});
  Result<> fed = reader.feed(beginning);
  size_t count = 0;
  for (; fed && count <= most; ++count) fed = reader.feed(piece(count));
  ASSERT_FALSE(fed) << "after " << count;
  EXPECT_EQ(fed.error().code, Code::kUpstream);
  EXPECT_EQ(fed.error().detail("reason"), "answer_too_large");
}

}  // namespace chela::testing
