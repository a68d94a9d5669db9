#include "security/vault_format.h"

#include <algorithm>
#include <optional>

#include "base/limits.h"
#include "base/strings.h"
#include "crypto/random.h"
#include "crypto/seal.h"
#include "security/vault.h"

namespace chela::security {
namespace {

constexpr std::string_view kMagic = "CHELAVLT";
constexpr std::uint8_t kVersion = 1;
constexpr size_t kMarkBytes = 8;
constexpr size_t kHeaderBytes = kMagic.size() + 1 + crypto::kSaltBytes + kMarkBytes;

// The key that seals, and a mark by which the file knows it.
struct Keys {
  crypto::Secret seal;
  std::string mark;
};

Keys keys_from(std::string_view master, std::string_view salt) {
  Keys keys{.seal = crypto::derive_key(master, salt, "chela-vault-1"), .mark = {}};
  keys.mark = crypto::derive_key(keys.seal.view(), salt, "chela-vault-mark").view().substr(0, kMarkBytes);
  return keys;
}

// Counts bytes, or writes them into a buffer of exactly their number: the plain bytes are in one place only.
class Writer {
 public:
  explicit Writer(char* out) : out_(out) {}

  void number(std::uint64_t value, size_t bytes) {
    for (size_t i = bytes; i-- > 0;) byte(static_cast<char>(value >> (8 * i)));
  }
  void text(std::string_view bytes) {
    number(bytes.size(), 4);
    for (const char each : bytes) byte(each);
  }
  size_t written() const { return written_; }

 private:
  void byte(char value) {
    if (out_ != nullptr) out_[written_] = value;
    ++written_;
  }

  char* out_;
  size_t written_ = 0;
};

void write_entries(Writer& out, const VaultEntries& entries) {
  out.number(entries.size(), 4);
  for (const auto& [key, entry] : entries) {
    out.text(std::get<0>(key));
    out.text(std::get<1>(key));
    out.text(std::get<2>(key));
    out.number(static_cast<std::uint64_t>(entry.created_at), 8);
    out.number(static_cast<std::uint64_t>(entry.updated_at), 8);
    out.text(entry.value.view());
  }
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::optional<std::uint64_t> number(size_t count) {
    if (bytes_.size() < count) return std::nullopt;
    std::uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes_[i]);
    bytes_.remove_prefix(count);
    return value;
  }
  std::optional<std::string_view> text(size_t max_bytes) {
    const std::optional<std::uint64_t> size = number(4);
    if (!size || *size > max_bytes || *size > bytes_.size()) return std::nullopt;
    const std::string_view taken = bytes_.substr(0, *size);
    bytes_.remove_prefix(*size);
    return taken;
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

Failure damaged(std::string_view path) {
  return fail(Code::kInvalidArgument,
              "the vault {} is damaged; put a backup of it back, or move it away to begin with an empty one",
              path);
}

}  // namespace

crypto::Secret encode_entries(const VaultEntries& entries) {
  Writer counting(nullptr);
  write_entries(counting, entries);
  crypto::Secret bytes = crypto::Secret::zeroed(counting.written());
  Writer writing(bytes.data());
  write_entries(writing, entries);
  return bytes;
}

Result<VaultEntries> decode_entries(std::string_view bytes) {
  const auto bad = [] { return fail(Code::kInvalidArgument, "these are no entries of a vault"); };
  Reader in(bytes);
  const std::optional<std::uint64_t> count = in.number(4);
  if (!count || *count > kMaxSecrets) return bad();
  VaultEntries entries;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto realm = in.text(kMaxForeignIdBytes);
    const auto user = in.text(kMaxForeignIdBytes);
    const auto name = in.text(kMaxSecretNameBytes);
    const auto created = in.number(8);
    const auto updated = in.number(8);
    const auto value = in.text(kMaxSecretBytes);
    if (!realm || !user || !name || !created || !updated || !value) return bad();
    if (!check_secret_name(*name) || !check_secret_value(*value)) return bad();
    VaultEntryKey key(*realm, *user, *name);
    if (!entries.empty() && key <= entries.rbegin()->first)
      return bad();  // one form only: in order, none twice
    entries.emplace_hint(entries.end(), std::move(key),
                         VaultEntry{.value = crypto::Secret(*value),
                                    .created_at = static_cast<UnixMs>(*created),
                                    .updated_at = static_cast<UnixMs>(*updated)});
  }
  if (!in.at_end()) return bad();
  return entries;
}

std::string seal_vault(const VaultEntries& entries, std::string_view master_key) {
  std::string file(kMagic);
  file += static_cast<char>(kVersion);
  const std::string salt = crypto::random_bytes(crypto::kSaltBytes);
  const Keys keys = keys_from(master_key, salt);
  file += salt + keys.mark;
  return file + crypto::seal(keys.seal, file, encode_entries(entries).view());
}

Result<> check_header(std::string_view file, std::string_view path) {
  if (file.size() < kHeaderBytes || !file.starts_with(kMagic)) return damaged(path);
  const auto version = static_cast<std::uint8_t>(file[kMagic.size()]);
  if (version > kVersion) {
    return fail(Code::kUnsupported,
                "the vault {} was written by a later version of Chela (its format is {}, known is {})", path,
                version, kVersion);
  }
  return version == kVersion ? Result<>() : damaged(path);
}

Result<VaultEntries> open_vault(std::string_view file, std::string_view master_key, std::string_view path) {
  if (Result<> good = check_header(file, path); !good) return fail(good.error());
  const std::string_view header = file.substr(0, kHeaderBytes);
  const Keys keys = keys_from(master_key, header.substr(kMagic.size() + 1, crypto::kSaltBytes));
  if (!strings::constant_time_equals(header.substr(kHeaderBytes - kMarkBytes), keys.mark)) {
    return fail(Code::kPermissionDenied,
                "the vault {} is sealed under another master key; set SECRETS_MASTER_KEY, or put vault.key "
                "back, as it was",
                path);
  }
  const std::optional<crypto::Secret> plain =
      crypto::open_sealed(keys.seal, header, file.substr(kHeaderBytes));
  if (!plain) return damaged(path);
  Result<VaultEntries> entries = decode_entries(plain->view());
  if (!entries) return damaged(path);
  return entries;
}

}  // namespace chela::security
