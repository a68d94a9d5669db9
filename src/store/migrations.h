#pragma once

#include <span>
#include <string_view>

namespace chela::store {

// One file of store/migrations/<domain>/ or store/record_migrations/<domain>/, embedded at build time.
struct Migration {
  std::string_view domain;
  int number;  // per domain, gapless from 1
  std::string_view name;
  std::string_view sha256;  // of the file, hex
  std::string_view sql;
};

// In the order in which they are applied.
std::span<const Migration> sqlite_migrations();         // of chela.db
std::span<const Migration> sqlite_record_migrations();  // of a file of records

}  // namespace chela::store
