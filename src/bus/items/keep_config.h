#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "bus/config_reader.h"
#include "bus/items/items.h"
#include "bus/module.h"

namespace chela::bus::items {

// iii's keys for what is kept: store_method (in_memory, file_based), file_path (a folder), save_interval_ms. Every change is on the disk
// when it is answered, so that the interval, up to which iii may wait, has no effect.
struct KeepConfig {
  std::filesystem::path file = {};  // "" = in memory
};

// Asks the reader for the keys; the caller finishes it. A module's file is `name`.db in its folder, `name` the folder when none is named.
KeepConfig read_keep_config(ConfigReader& reader, const ModuleParts& parts, std::string_view name);

// Opens the file, if there is one, and loads what it holds.
Task<Result<>> open_items(Items& items, KeepConfig config, store::OpenRecords open);

}  // namespace chela::bus::items
