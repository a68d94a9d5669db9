#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "llm/backends/backends.h"
#include "llm/bus/bus_provider.h"
#include "llm/bus/bus_router.h"
#include "llm/cache/cache_provider.h"
#include "llm/routing/routing_provider.h"

namespace chela::app {

// Which provider a call of a model begins at. From the inside out: what the model's name leads to, answers that were given before, a worker
// that answers in its place; and before all of them, where nobody named a model, smart routing. Lives on the loop; its owner awaits stop().
class ModelAccess {
 public:
  struct Parts {
    runtime::EventLoop& loop;
    obs::Metrics& metrics;
    store::ResponseCacheStore& store;
    const llm::Backends& backends;
    std::function<llm::Provider&(std::string_view model)> own;  // "" is the default model's
    std::function<const config::LlmSettings&()> settings;       // as they are now
    op::Principal asking;                                       // of workers
    std::function<std::unique_ptr<llm::Provider>(llm::Provider& inner)>
        count;  // stands before what a worker answers
  };
  explicit ModelAccess(Parts parts);

  // For a model that somebody named.
  llm::Provider& named(std::string_view model);
  // For the default model, where nobody did.
  llm::Provider& unnamed() { return routing_; }

  const llm::routing::RoutingProvider& routing() const { return routing_; }
  void use(bus::Bus& bus);
  Task<> stop() { return cache_.stop(); }

 private:
  llm::routing::Rules rules() const;
  Task<std::optional<std::string>> choice_of_worker(const llm::Request& request, std::stop_token stop);

  const Parts parts_;
  llm::cache::ResponseCache cache_;
  bus::Bus* bus_ = nullptr;
  std::unique_ptr<llm::BusRouter> bus_router_;
  std::map<llm::Provider*, std::unique_ptr<llm::cache::CacheProvider>> cached_;  // by what they stand before
  std::map<llm::Provider*, std::unique_ptr<llm::BusProvider>> workers_;
  llm::routing::RoutingProvider routing_;
};

}  // namespace chela::app
