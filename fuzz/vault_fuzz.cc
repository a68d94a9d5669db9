// LINK security
// Any file is a vault that comes back as it was, or an error that says something; the same of the entries inside.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "security/vault_format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  using namespace chela;
  using namespace chela::security;
  constexpr std::string_view kMaster = "0123456789abcdef0123456789abcdef";
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const Result<VaultEntries> opened = open_vault(bytes, kMaster, "vault");
  if (!opened) CHELA_CHECK(!opened.error().message.empty(), "an error says nothing");
  const Result<VaultEntries> entries = decode_entries(bytes);
  if (!entries) return 0;
  CHELA_CHECK(encode_entries(*entries).view() == bytes, "entries have two forms");
  const Result<VaultEntries> again = open_vault(seal_vault(*entries, kMaster), kMaster, "vault");
  CHELA_CHECK(again && encode_entries(*again).view() == bytes, "what was sealed does not come back");
  return 0;
}
