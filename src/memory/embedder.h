#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "runtime/task.h"

namespace chela::memory {

using Embedding = std::vector<double>;

// Texts as vectors: those that point the same way mean alike. Loop thread only.
class Embedder {
 public:
  virtual ~Embedder() = default;

  // Whether there is somebody to ask for the scope's user now.
  virtual bool ready(const Scope& scope) const = 0;
  // A vector for each text, in their order, all of one length and none of them zero.
  virtual Task<Result<std::vector<Embedding>>> embed(Scope scope, std::vector<std::string> texts) = 0;
};

}  // namespace chela::memory
