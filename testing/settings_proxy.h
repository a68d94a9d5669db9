#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/settings_store.h"

namespace chela::testing {

// A settings table in front of another one: passes everything on. Tests override what is to go otherwise.
class SettingsProxy : public store::SettingsStore {
 public:
  explicit SettingsProxy(store::SettingsStore& inner) : inner_(inner) {}
  Task<Result<std::optional<std::string>>> get(Scope scope, std::string key) override {
    return inner_.get(std::move(scope), std::move(key));
  }
  Task<Result<>> set(Scope scope, std::string key, std::string value, UnixMs at) override {
    return inner_.set(std::move(scope), std::move(key), std::move(value), at);
  }
  Task<Result<bool>> remove(Scope scope, std::string key) override {
    return inner_.remove(std::move(scope), std::move(key));
  }
  Task<Result<std::map<std::string, std::string>>> list(Scope scope, std::string prefix) override {
    return inner_.list(std::move(scope), std::move(prefix));
  }
  Task<Result<std::vector<store::SettingRow>>> rows(Scope scope, std::string prefix) override {
    return inner_.rows(std::move(scope), std::move(prefix));
  }
  Task<Result<>> apply(std::vector<store::SettingChange> changes, UnixMs at) override {
    return inner_.apply(std::move(changes), at);
  }

 private:
  store::SettingsStore& inner_;
};

}  // namespace chela::testing
