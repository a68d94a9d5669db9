#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "base/time.h"
#include "runtime/task.h"

namespace chela::store {

struct SettingRow {
  std::string key;
  std::string value;
  UnixMs updated_at = 0;
};

struct SettingChange {
  Scope scope;
  std::string key;
  std::optional<std::string> value;  // nothing: the key is removed
};

// Small values by key: configuration ("config:<key>") and free settings ("ui.<name>"), the user's active thread ("active_thread"), tools that need no more asking
// ("auto_approve:<agent>:<tool>"). Values are JSON text. Scope::agent is ignored.
class SettingsStore {
 public:
  virtual ~SettingsStore() = default;
  virtual Task<Result<std::optional<std::string>>> get(Scope scope, std::string key) = 0;
  virtual Task<Result<>> set(Scope scope, std::string key, std::string value, UnixMs at) = 0;
  virtual Task<Result<bool>> remove(Scope scope, std::string key) = 0;
  virtual Task<Result<std::map<std::string, std::string>>> list(Scope scope, std::string prefix) = 0;
  // As list, by key, with the time of the last change.
  virtual Task<Result<std::vector<SettingRow>>> rows(Scope scope, std::string prefix) = 0;
  // All of them or none.
  virtual Task<Result<>> apply(std::vector<SettingChange> changes, UnixMs at) = 0;
};

}  // namespace chela::store
