#include "llm/backends/keyed_provider.h"

namespace chela::llm {

Task<Result<std::shared_ptr<Provider>>> KeyedProvider::current() {
  const std::uint64_t now = keys_.changes();
  if (made_ && made_at_ == now) co_return made_;
  Result<std::unique_ptr<Provider>> made = co_await make_();
  if (!made) co_return fail(std::move(made.error()));
  made_ = std::move(*made);
  made_at_ = now;
  co_return made_;
}

Task<Result<Answer>> KeyedProvider::complete(Request request, DeltaSink sink,
                                             std::optional<SteadyTime> deadline, std::stop_token stop) {
  const Result<std::shared_ptr<Provider>> provider = co_await current();
  if (!provider) co_return fail(provider.error());
  co_return co_await (*provider)->complete(std::move(request), std::move(sink), deadline, std::move(stop));
}

Task<Result<std::vector<std::string>>> KeyedProvider::models(std::stop_token stop) {
  const Result<std::shared_ptr<Provider>> provider = co_await current();
  if (!provider) co_return fail(provider.error());
  co_return co_await (*provider)->models(std::move(stop));
}

}  // namespace chela::llm
