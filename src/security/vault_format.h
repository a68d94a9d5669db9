#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "base/result.h"
#include "base/time.h"
#include "crypto/secret.h"

// The bytes of the vault's file: a header (magic, version, salt, a mark of the key) and the sealed entries bound to it. Pure.
namespace chela::security {

struct VaultEntry {
  crypto::Secret value;
  UnixMs created_at = 0;
  UnixMs updated_at = 0;
};
using VaultEntryKey = std::tuple<std::string, std::string, std::string>;  // realm, user, name
using VaultEntries = std::map<VaultEntryKey, VaultEntry>;

// The entries as plain bytes, and back. kInvalidArgument for bytes that encode_entries() does not write.
crypto::Secret encode_entries(const VaultEntries& entries);
Result<VaultEntries> decode_entries(std::string_view bytes);

// A whole file under a new salt.
std::string seal_vault(const VaultEntries& entries, std::string_view master_key);

// Whether the file looks like one, which needs no key. kUnsupported for a file of a later version, else kInvalidArgument. `path` is for
// the messages.
Result<> check_header(std::string_view file, std::string_view path);

// Errors of check_header(); kPermissionDenied when another master key sealed it, kInvalidArgument for anything else
// that seal_vault() did not write.
Result<VaultEntries> open_vault(std::string_view file, std::string_view master_key, std::string_view path);

}  // namespace chela::security
