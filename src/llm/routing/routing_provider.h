#pragma once

#include <functional>
#include <optional>
#include <string>

#include "llm/routing/router.h"

namespace chela::llm::routing {

struct RoutingStats {
  std::uint64_t total = 0;
  std::uint64_t cheap = 0;    // answered by the cheap model
  std::uint64_t primary = 0;  // asked of the default model at once
  std::uint64_t escalations = 0;
};

// Asks the cheap model for what does not need the default one. It stands before all else, and only where nobody named a model: it is given
// to nobody whose model was named by a person, a thread, an agent or a client. A cheap model that fails, or whose answer will not do, is
// followed by the default one, as long as nothing of its answer was passed on. Loop thread only.
class RoutingProvider final : public Provider {
 public:
  struct Parts {
    runtime::EventLoop& loop;
    obs::Metrics& metrics;
    std::function<Provider&(std::string_view model)> named;  // what is asked for a model by its name
    std::function<std::string(std::string_view model)> provider_id;
    std::function<bool(std::string_view model)> sees_images;
    std::function<Rules()> rules;
    // The model that somebody else chooses for the request, if there is such a one. May be empty.
    std::function<Task<std::optional<std::string>>(const Request& request, std::stop_token stop)> elsewhere =
        {};
  };
  explicit RoutingProvider(Parts parts);

  // `request.model` is the default model.
  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

  // What complete() would do first.
  Plan plan(const Request& request) const;
  RoutingStats stats() const;
  std::string cheap_model() const { return parts_.rules().cheap_model; }  // "" = nothing is routed

 private:
  Task<Plan> choose(const Request& request, std::stop_token stop);
  void tell(const Request& request, const Plan& plan) const;
  Task<Result<Answer>> ask_cheap(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                 std::stop_token stop, Plan plan);

  const Parts parts_;
  obs::Counter& cheap_;
  obs::Counter& primary_;
  obs::Counter& escalations_;
};

}  // namespace chela::llm::routing
