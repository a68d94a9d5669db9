#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace chela::llm {

// A text of data with the path that errors name: what share/ holds, or a person's file that is laid over it.
struct DataFile {
  std::string path;
  json::Value root;
};

// The files laid over each other, the last one uppermost: tables are merged key by key, everything else is replaced.
json::Value overlaid(const std::vector<DataFile>& files);

// The path of the uppermost file that says something of the entry ("": of the section): where a mistake is to be looked for.
std::string_view origin_of(const std::vector<DataFile>& files, std::string_view section,
                           std::string_view entry);

// Reads the fields of one table by name and type. The first mistake is kept, and so is a key that nobody asked for.
class Fields {
 public:
  // `where` begins every error: "providers.toml: provider 'openai'".
  Fields(const json::Object& table, std::string where) : table_(table), where_(std::move(where)) {}

  void read(std::string_view key, std::string& out);
  void read(std::string_view key, bool& out);
  void read(std::string_view key, std::int64_t& out);           // from 0 on
  void read(std::string_view key, std::optional<double>& out);  // from 0 on
  void read(std::string_view key, std::vector<std::string>& out);
  void read(std::string_view key, std::vector<std::pair<std::string, std::string>>& out);  // a table of texts
  const json::Object* table(std::string_view key);

  void fail_with(std::string why);
  // kInvalidArgument for the first mistake.
  Result<> finish();

 private:
  const json::Value* find(std::string_view key);
  void wrong(std::string_view key, std::string_view expected);

  const json::Object& table_;
  std::string where_;
  std::vector<std::string_view> known_;
  std::string error_;
};

}  // namespace chela::llm
