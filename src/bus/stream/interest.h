#pragma once

#include <string>

namespace chela::bus::stream {

// Is told when somebody begins to hear of a stream and when he ends, once for each. Must not call back.
class Interest {
 public:
  virtual ~Interest() = default;
  virtual void heard(const std::string& stream) = 0;
  virtual void unheard(const std::string& stream) = 0;
};

}  // namespace chela::bus::stream
