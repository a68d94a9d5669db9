#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace chela::bus {

// Reads the configuration of a module or of a part of it: every key that is asked for is known, every other one is a mistake. Ask for all
// keys, then finish(): it gives the first problem. What was asked for is usable only after that.
//   ConfigReader reader("modules::state::StateModule", config);
//   const std::int64_t port = reader.integer("port", 3111, 0, 65535);
//   ConfigReader adapter = reader.section("adapter");  ...  if (Result<> good = adapter.finish(); !good) return ...
//   if (Result<> good = reader.finish(); !good) return fail(good.error());
class ConfigReader {
 public:
  // `where` names the object in messages. Null counts as an empty object. The configuration must outlive the reader.
  ConfigReader(std::string where, const json::Value& config);

  std::string text(std::string_view key, std::string_view otherwise = "");
  // Also a text of digits counts, as substituted values may be quoted.
  std::int64_t integer(std::string_view key, std::int64_t otherwise, std::int64_t least, std::int64_t most);
  std::optional<double> number(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  // One of those allowed, the first when the key is absent.
  std::string choice(std::string_view key, std::span<const std::string_view> allowed);
  std::vector<std::string> texts(std::string_view key);
  // A part that is an object; an empty one when it is absent. It has a finish() of its own.
  ConfigReader section(std::string_view key);
  // The parts of a list of objects; each has a finish() of its own.
  std::vector<ConfigReader> sections(std::string_view key);
  // Anything, nullptr when absent.
  const json::Value* value(std::string_view key);
  bool has(std::string_view key) const;

  const std::string& where() const { return where_; }
  // Something else is wrong with a key.
  void refuse(std::string_view key, std::string_view problem);
  // The first problem, else the first key that nothing asked for.
  Result<> finish() const;

 private:
  std::string where_;
  const json::Value* config_;
  std::set<std::string, std::less<>> asked_;
  std::optional<Error> problem_;
};

}  // namespace chela::bus
