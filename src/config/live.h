#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace chela::config {

// The configuration of a running engine. Those keys whose Reload is kAtOnce follow every change; the parts that use them subscribe. All
// others keep the value of the start. Loop thread only; owned by app/, outlives its subscribers.
class Live {
 public:
  explicit Live(Config start) : running_(start), wanted_(std::move(start)) {}

  // What counts now.
  const Config& running() const { return running_; }
  // What counts after a restart.
  const Config& wanted() const { return wanted_; }

  // Called with the running settings whenever one of the keys has changed; all of them count at once.
  using Subscriber = std::function<void(const Settings&)>;
  void subscribe(std::vector<std::string_view> keys, Subscriber subscriber);

  // A newly loaded configuration: changes what counts at once and calls its subscribers.
  void replace(Config next);

  // Whether the key has another value after a restart.
  bool waits_for_restart(std::string_view key) const;
  // Keys that count at once and that nobody has subscribed to: a fault of the program.
  std::vector<std::string_view> unheard() const;

 private:
  struct Entry {
    std::vector<std::string_view> keys;
    Subscriber call;
  };

  Config running_;
  Config wanted_;
  std::vector<Entry> subscribers_;
};

}  // namespace chela::config
