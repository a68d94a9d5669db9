#include "llm/backends/front.h"

namespace chela::llm {

Task<Result<Answer>> ByName::complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                      std::stop_token stop) {
  std::string provider = backends_.provider_id(request.model);
  Provider& asked = backends_.provider_for(request.model);
  Result<Answer> answer =
      co_await asked.complete(std::move(request), std::move(sink), deadline, std::move(stop));
  if (answer) answer->provider = std::move(provider);
  co_return answer;
}

Task<Result<std::vector<std::string>>> ByName::models(std::stop_token stop) {
  return backends_.default_provider().models(std::move(stop));
}

// One of the doors to everything: the same calls go through all of them.
class Front::Entrance final : public Provider {
 public:
  Entrance(Provider& calls, Provider& own) : calls_(calls), own_(own) {}

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override {
    return calls_.complete(std::move(request), std::move(sink), deadline, std::move(stop));
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override {
    return own_.models(std::move(stop));
  }

 private:
  Provider& calls_;
  Provider& own_;
};

Front::Front(Backends& backends, const config::LlmSettings& llm, const runtime::EventLoop& loop)
    : backends_(backends),
      by_name_(backends),
      fail_over_(
          by_name_, [&backends](const std::string& model) { return backends.target(model); }, loop),
      outermost_(fail_over_) {
  configure(llm);
}

Front::~Front() = default;

void Front::configure(const config::LlmSettings& llm) {
  fail_over_.configure(
      {.models = llm.fallback, .threshold = llm.failover_threshold, .cooldown = llm.failover_cooldown});
}

Provider& Front::provider_for(std::string_view model) {
  Provider& own = backends_.provider_for(model);
  std::unique_ptr<Entrance>& entrance = entrances_[&own];
  if (!entrance) entrance = std::make_unique<Entrance>(outermost_, own);
  return *entrance;
}

}  // namespace chela::llm
