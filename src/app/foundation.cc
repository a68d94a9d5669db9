#include "app/foundation.h"

#include "app/configuration.h"
#include "security/authenticator.h"

namespace chela::app {
namespace {

constexpr size_t kPoolThreads = 4;

}  // namespace

Foundation::Foundation(runtime::AsioLoop& loop, Options options)
    : loop_(loop), options_(std::move(options)), pool_(loop, kPoolThreads) {}

Task<Result<std::unique_ptr<Foundation>>> Foundation::open(runtime::AsioLoop& loop, Options options) {
  std::unique_ptr<Foundation> made(new Foundation(loop, std::move(options)));
  if (Result<> opened = made->open_database(); !opened) co_return fail(opened.error());
  if (Result<> loaded = co_await made->load(); !loaded) co_return fail(loaded.error());
  co_return made;
}

Result<> Foundation::open_database() {
  Result<std::unique_ptr<store::sqlite::Database>> opened =
      options_.storage == Storage::kMemory
          ? store::sqlite::Database::open_in_memory(loop_)
          : store::sqlite::Database::open(options_.paths.database, loop_, pool_);
  if (!opened) return fail(opened.error());
  database_ = std::move(*opened);
  return {};
}

Task<Result<>> Foundation::load() {
  const Scope owner = security::owner_principal(options_.user).scope();
  Result<std::map<std::string, std::string>> stored =
      co_await api::SettingsService::load(database_->settings(), owner);
  if (!stored) co_return fail(stored.error());
  config::Sources sources = std::move(options_.sources);
  config::Sources without = sources;
  sources.settings = std::move(*stored);
  Result<config::Config> config = config::Config::load(sources);
  if (!config) {
    refused_ = config.error();
    config = config::Config::load(without);
    if (!config) co_return fail(config.error());
  }
  live_ = std::make_unique<config::Live>(std::move(*config));
  service_ = std::make_unique<api::SettingsService>(
      api::SettingsService::Parts{.loop = loop_,
                                  .store = database_->settings(),
                                  .live = *live_,
                                  .owner = owner,
                                  .sources = std::move(sources),
                                  .read_file = [this] { return read_configuration_file(options_.paths); }});
  co_return Result<>{};
}

}  // namespace chela::app
