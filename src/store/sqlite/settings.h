#pragma once

#include "store/settings_store.h"
#include "store/sqlite/readers.h"
#include "store/sqlite/writer.h"

namespace chela::store::sqlite {

class Settings final : public SettingsStore {
 public:
  Settings(Writer& writer, Readers& readers) : writer_(writer), readers_(readers) {}

  Task<Result<std::optional<std::string>>> get(Scope scope, std::string key) override;
  Task<Result<>> set(Scope scope, std::string key, std::string value, UnixMs at) override;
  Task<Result<bool>> remove(Scope scope, std::string key) override;
  Task<Result<std::map<std::string, std::string>>> list(Scope scope, std::string prefix) override;
  Task<Result<std::vector<SettingRow>>> rows(Scope scope, std::string prefix) override;
  Task<Result<>> apply(std::vector<SettingChange> changes, UnixMs at) override;

 private:
  Writer& writer_;
  Readers& readers_;
};

}  // namespace chela::store::sqlite
