#include "bus/items/keep_config.h"

namespace chela::bus::items {

KeepConfig read_keep_config(ConfigReader& reader, const ModuleParts& parts, std::string_view name) {
  constexpr std::string_view kMethods[] = {"in_memory", "file_based"};
  const std::string method = reader.choice("store_method", kMethods);
  const std::string folder = reader.text("file_path", name);
  reader.integer("save_interval_ms", kSaveIntervalMs, 1, kMaxSaveIntervalMs);
  if (method == "in_memory") return {};
  if (folder.empty()) reader.refuse("file_path", "must name a folder");
  return {.file = parts.directory / folder / fmt::format("{}.db", name)};
}

Task<Result<>> open_items(Items& items, KeepConfig config, store::OpenRecords open) {
  if (config.file.empty()) co_return Result<>();
  Result<std::unique_ptr<store::Records>> records = co_await open(config.file);
  if (!records) co_return fail(std::move(records.error()));
  co_return co_await items.load(std::move(*records));
}

}  // namespace chela::bus::items
