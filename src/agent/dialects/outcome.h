#pragma once

namespace chela::agent::dialects {

// What was meant as a call and is none.
enum class Refused {
  kNothing,
  kUnreadable,  // it names no known tool, what it says cannot be read, or it is too large
  kCut,         // the text was cut inside it
};

// Whether a tool did what was asked.
enum class Outcome { kOk, kError };

}  // namespace chela::agent::dialects
