#pragma once

#include <map>
#include <string>

#include "llm/backends/provider_keys.h"

namespace chela::testing {

// Variables and a vault of providers' keys, as a test has them.
class FakeKeys final : public llm::ProviderKeys {
 public:
  std::string variable(std::string_view name) const override {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second : std::string();
  }
  bool in_vault(std::string_view name) const override { return secrets.find(name) != secrets.end(); }
  Task<Result<std::string>> from_vault(std::string name) override {
    const auto found = secrets.find(name);
    if (found == secrets.end()) co_return fail(Code::kNotFound, "there is no secret '{}'", name);
    co_return found->second;
  }
  std::uint64_t changes() const override { return changes_; }

  void set_secret(const std::string& name, std::string value) {
    secrets[name] = std::move(value);
    change();
  }
  void change() { ++changes_; }

  std::map<std::string, std::string, std::less<>> variables;
  std::map<std::string, std::string, std::less<>> secrets;

 private:
  std::uint64_t changes_ = 0;
};

}  // namespace chela::testing
