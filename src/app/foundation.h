#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/settings_service.h"
#include "app/paths.h"
#include "config/live.h"
#include "runtime/asio_loop.h"
#include "runtime/pool.h"
#include "store/sqlite/database.h"

namespace chela::app {

// The store and the whole configuration, of which the settings table is a layer: what an engine stands on, and all that commands about
// settings need. Lives on the loop.
class Foundation {
 public:
  enum class Storage { kFile, kMemory };
  struct Options {
    Paths paths;
    config::Sources sources;  // all layers but the table
    std::string user;         // the owner's name, known before the table
    Storage storage = Storage::kFile;
  };

  static Task<Result<std::unique_ptr<Foundation>>> open(runtime::AsioLoop& loop, Options options);

  runtime::Pool& pool() { return pool_; }
  store::sqlite::Database& database() { return *database_; }
  config::Live& live() { return *live_; }
  const config::Settings& settings() const { return live_->running().settings(); }
  api::SettingsService& service() { return *service_; }
  Storage storage() const { return options_.storage; }

  // Why the stored settings do not count: together with the other layers they make no configuration. Commands about settings go on
  // without them, so that they can be mended; an engine does not start.
  const std::optional<Error>& refused() const { return refused_; }

 private:
  Foundation(runtime::AsioLoop& loop, Options options);
  Result<> open_database();
  Task<Result<>> load();

  runtime::AsioLoop& loop_;
  Options options_;
  runtime::Pool pool_;
  std::unique_ptr<store::sqlite::Database> database_;
  std::unique_ptr<config::Live> live_;
  std::unique_ptr<api::SettingsService> service_;
  std::optional<Error> refused_;
};

}  // namespace chela::app
