#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "config/live.h"
#include "op/principal.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"
#include "store/settings_store.h"

namespace chela::api {

// The settings table as people change it while the engine runs: configuration keys, which are the owner's and one layer of
// config::Live, and free keys "ui.*", which are each user's own and mean nothing to the engine. Loop thread only; owned by app/.
class SettingsService {
 public:
  struct Parts {
    runtime::EventLoop& loop;
    store::SettingsStore& store;
    config::Live& live;
    Scope owner;                                     // whose rows configure the engine
    config::Sources sources;                         // all layers but the table
    std::function<Result<std::string>()> read_file;  // the configuration file's text; "" when there is none
  };
  explicit SettingsService(Parts parts);

  // The table's configuration keys as a layer. What no longer is a key, or no value of it, is passed over and logged.
  static Task<Result<std::map<std::string, std::string>>> load(store::SettingsStore& store, Scope owner);

  // Every key, then the caller's own ui.*; `prefix` "" = all.
  Task<Result<json::Value>> list(op::Principal caller, std::string prefix);
  Task<Result<json::Value>> get(op::Principal caller, std::string key);
  // What the caller has to know about a change that was made, "" when it counts now.
  Task<Result<std::string>> put(op::Principal caller, std::string key, json::Value value);
  Task<Result<std::string>> remove(op::Principal caller, std::string key);
  // What the table holds.
  Task<Result<json::Value>> export_all(op::Principal caller);
  // All of it or nothing; gives what the caller has to know.
  Task<Result<std::vector<std::string>>> import_all(op::Principal caller, json::Value settings);

  // Reads file and table again. An error leaves everything as it was.
  Task<Result<>> reload();

 private:
  struct Changes {
    std::vector<store::SettingChange> rows;
    std::map<std::string, std::optional<std::string>> config;  // key, text
  };
  using Rows = std::map<std::string, store::SettingRow>;

  Result<> add(const op::Principal& caller, const std::string& key, const json::Value* value,
               Changes& changes) const;
  Task<Result<>> apply(Changes changes);
  Task<Result<>> check_room(const Changes& changes, Scope scope);
  json::Value entry(const config::Key& key, const Rows& rows) const;
  std::string warning(const std::string& key) const;  // of what was stored
  std::string restart_warning(const std::string& key) const;
  Task<Result<Rows>> rows(Scope scope, std::string prefix);

  Parts p_;
  runtime::Mutex mutex_;  // one change after the other, so that table and configuration agree
};

}  // namespace chela::api
