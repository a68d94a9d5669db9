#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "bus/worker.h"

namespace chela::bus {

// Watches what happens on a bus. Set with Bus::set_observer; must live until Bus::stop() is over. Loop thread only; must not call back.
class Observer {
 public:
  enum class Kind { kEngine, kWorker };  // who runs the function
  struct Call {
    std::string_view function_id;
    std::string_view tenant;  // whose call it is
    Kind kind;
    std::string_view traceparent;  // of the caller, plain text, "" = none
  };
  struct Watch {
    std::uint64_t id = 0;          // 0: not watched
    std::string traceparent = {};  // what the callee is told, plain text; "" = what the caller gave
  };

  virtual ~Observer() = default;
  virtual Watch began(const Call& call) = 0;
  // `code` is "" when it went well.
  virtual void ended(std::uint64_t id, std::string_view code, std::string_view message) = 0;
  virtual void connected(const Worker& worker) = 0;
  virtual void gone(const Worker& worker) = 0;
  // A frame of measurements of somebody's SDK.
  virtual void measured(std::string_view tenant, std::string_view frame) = 0;
  // What a worker measured of itself last, an object; null when nothing.
  virtual json::Value latest_metrics(const Worker& worker) const = 0;
};

}  // namespace chela::bus
