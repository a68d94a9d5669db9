#pragma once

namespace chela::agent::turn {

// How often in one turn a model is told that its calls could not be read, before its text is taken as the answer.
inline constexpr int kMaxRefusedAnswers = 3;

}  // namespace chela::agent::turn
