#include "security/vault.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <rapidcheck.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "base/limits.h"
#include "obs/log.h"
#include "os/file.h"
#include "runtime/pool.h"
#include "runtime/task_group.h"
#include "security/file_vault.h"
#include "testing/manual_loop.h"
#include "testing/test_dir.h"

namespace chela::security {
namespace {

using crypto::Secret;

const std::string kMaster = "0123456789abcdef0123456789abcdef";
const Scope kAda{"default", "ada", ""};
const Scope kBob{"default", "bob", ""};

VaultEntry entry(std::string_view value) {
  return {.value = Secret(value), .created_at = 1, .updated_at = 2};
}

mode_t mode_of(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
}

// A child process that does `work` and gives its wait status.
int in_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

// From now on this process dies the moment it makes the system call, before the kernel does anything.
void die_at(const std::vector<int>& calls) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};  // the call's number
  for (const int call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()), .filter = filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(1);
}

class VaultTest : public ::testing::Test {
 protected:
  VaultFile vault(std::string_view master = {}) const {
    return {dir_.path(), master, std::chrono::milliseconds(20)};
  }
  std::string value_of(const Scope& scope, const std::string& name) const {
    const Result<Secret> value = vault().get(scope, name);
    return value ? std::string(value->view()) : std::string(code_name(value.error().code));
  }
  std::string file() const { return os::read_file(dir_.path() + "/vault", kMaxVaultBytes).value_or(""); }
  void put_file(std::string_view bytes) const {
    ASSERT_TRUE(os::write_file_atomic(dir_.path() + "/vault", bytes, 0600));
  }

  testing::TestDir dir_;
};

TEST_F(VaultTest, KeepsSecretsByUserAndName) {
  EXPECT_TRUE(vault().list(kAda)->empty());
  EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/vault.key"));  // looking makes nothing
  ASSERT_TRUE(vault().set(kAda, "github", Secret("ghp_abcdefgh"), 1000));
  ASSERT_TRUE(vault().set(kAda, "a.key-1:x", Secret("line\nline"), 1000));
  ASSERT_TRUE(vault().set(kBob, "github", Secret("other-value"), 1000));
  ASSERT_TRUE(vault().set({"realm-2", "ada", ""}, "github", Secret("third-value"), 1000));
  ASSERT_TRUE(vault().set({"default", "ada", "an agent"}, "github", Secret("newer-value"), 2000));
  EXPECT_EQ(value_of(kAda, "github"), "newer-value");
  EXPECT_EQ(value_of(kBob, "github"), "other-value");
  const auto infos = vault().list(kAda);
  ASSERT_TRUE(infos);
  ASSERT_EQ(infos->size(), 2u);
  EXPECT_EQ(infos->at(0).name, "a.key-1:x");
  EXPECT_EQ(infos->at(1).created_at, 1000);
  EXPECT_EQ(infos->at(1).updated_at, 2000);
  ASSERT_TRUE(vault().remove(kAda, "github"));
  EXPECT_EQ(value_of(kAda, "github"), "not_found");
  EXPECT_EQ(vault().remove(kAda, "github").error().code, Code::kNotFound);
  EXPECT_EQ(value_of(kBob, "github"), "other-value");
}

TEST_F(VaultTest, NothingOnTheDiskCanBeReadByOthersOrByEye) {
  ASSERT_TRUE(vault().set(kAda, "github", Secret("ghp_abcdefgh"), 1000));
  EXPECT_EQ(mode_of(dir_.path() + "/vault"), 0600u);
  EXPECT_EQ(mode_of(dir_.path() + "/vault.key"), 0600u);
  for (const std::string_view word : {"ghp_abcdefgh", "github", "ada"})
    EXPECT_EQ(file().find(word), std::string::npos);
}

TEST_F(VaultTest, ValuesAreMaskedInTheLog) {
  ASSERT_TRUE(vault().set(kAda, "a", Secret("set-here-0123"), 1));
  EXPECT_EQ(log::redact("x set-here-0123 y"), "x [redacted] y");
  // What is no secret of the vault stays as it is.
  EXPECT_FALSE(vault().set(kAda, "bad name", Secret("not-a-secret-0123"), 1));
  EXPECT_EQ(log::redact("x not-a-secret-0123 y"), "x not-a-secret-0123 y");
  put_file(seal_vault({}, kMaster));
  VaultEntries entries;
  entries[{"default", "ada", "b"}] = entry("read-here-0123");
  put_file(seal_vault(entries, kMaster));
  ASSERT_TRUE(vault(kMaster).check());
  EXPECT_EQ(log::redact("x read-here-0123 y"), "x [redacted] y");
  EXPECT_EQ(log::redact(kMaster), "[redacted]");
}

TEST_F(VaultTest, AnotherKeyReadsNothingAndChangesNothing) {
  ASSERT_TRUE(vault(kMaster).set(kAda, "a", Secret("the-value"), 1));
  EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/vault.key"));
  const std::string before = file();
  const VaultFile other = vault("another-master-key-of-32-bytes-or-more");
  EXPECT_EQ(other.get(kAda, "a").error().code, Code::kPermissionDenied);
  EXPECT_EQ(other.set(kAda, "a", Secret("changed"), 2).error().code, Code::kPermissionDenied);
  EXPECT_EQ(other.remove(kAda, "a").error().code, Code::kPermissionDenied);
  EXPECT_EQ(other.check().error().code, Code::kPermissionDenied);
  // Without a key no new one is made beside the sealed file.
  EXPECT_EQ(vault().set(kAda, "a", Secret("changed"), 2).error().code, Code::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/vault.key"));
  EXPECT_EQ(vault("too short").get(kAda, "a").error().code, Code::kInvalidArgument);
  EXPECT_EQ(file(), before);
}

TEST_F(VaultTest, ADamagedFileIsSaidAndKept) {
  ASSERT_TRUE(vault().set(kAda, "a", Secret("the-value"), 1));
  const std::string good = file();
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    put_file(bad);
    EXPECT_FALSE(vault().get(kAda, "a")) << at;
    EXPECT_FALSE(vault().set(kAda, "a", Secret("changed"), 2)) << at;
    EXPECT_EQ(file(), bad);
  }
  put_file(good.substr(0, good.size() - 1));
  EXPECT_EQ(vault().get(kAda, "a").error().code, Code::kInvalidArgument);
  put_file("");
  EXPECT_NE(vault().get(kAda, "a").error().message.find("damaged"), std::string::npos);
  std::string later = good;
  later[8] = 2;
  put_file(later);
  EXPECT_EQ(vault().get(kAda, "a").error().code, Code::kUnsupported);
}

TEST_F(VaultTest, NamesAndValuesAreChecked) {
  const std::string longest(kMaxSecretNameBytes, 'n');
  ASSERT_TRUE(vault().set(kAda, longest, Secret("v"), 1));
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("../a"), std::string("a/b"), std::string("-a"),
        std::string("\xc3\xa4"), std::string("a\nb"), longest + "n"}) {
    EXPECT_EQ(vault().set(kAda, bad, Secret("v"), 1).error().code, Code::kInvalidArgument) << bad;
    EXPECT_FALSE(vault().get(kAda, bad)) << bad;
    EXPECT_FALSE(vault().remove(kAda, bad)) << bad;
  }
  ASSERT_TRUE(vault().set(kAda, "big", Secret(std::string(kMaxSecretBytes, 'v')), 1));
  EXPECT_EQ(vault().set(kAda, "big", Secret(std::string(kMaxSecretBytes + 1, 'v')), 1).error().code,
            Code::kTooLarge);
  for (const std::string_view bad :
       {std::string_view(), std::string_view("a\0b", 3), std::string_view("\xff")})
    EXPECT_EQ(vault().set(kAda, "bad", Secret(bad), 1).error().code, Code::kInvalidArgument);
  EXPECT_EQ(vault()
                .set({"default", std::string(kMaxForeignIdBytes + 1, 'u'), ""}, "a", Secret("v"), 1)
                .error()
                .code,
            Code::kInvalidArgument);
}

TEST_F(VaultTest, NumberAndSizeAreLimited) {
  VaultEntries entries;
  for (size_t i = 0; i < kMaxSecrets; ++i)
    entries[{"default", "ada", "s" + std::to_string(i)}] = entry("value");
  put_file(seal_vault(entries, kMaster));
  EXPECT_EQ(vault(kMaster).set(kAda, "one-more", Secret("v"), 1).error().code, Code::kTooLarge);
  ASSERT_TRUE(vault(kMaster).set(kAda, "s0", Secret("changed"), 1));
  entries.clear();
  for (size_t i = 0; i < kMaxVaultBytes / kMaxSecretBytes - 1; ++i)
    entries[{"default", "ada", "s" + std::to_string(i)}] = entry(std::string(kMaxSecretBytes, 'v'));
  put_file(seal_vault(entries, kMaster));
  EXPECT_EQ(vault(kMaster).set(kAda, "one-more", Secret(std::string(kMaxSecretBytes, 'v')), 1).error().code,
            Code::kTooLarge);
  EXPECT_EQ(vault(kMaster).list(kAda)->size(), kMaxVaultBytes / kMaxSecretBytes - 1);
}

TEST_F(VaultTest, AMasterKeyHasALength) {
  const auto set_under = [this](size_t bytes) {
    return vault(std::string(bytes, 'k')).set(kAda, "a", Secret("v"), 1);
  };
  EXPECT_EQ(set_under(kMinMasterKeyBytes - 1).error().code, Code::kInvalidArgument);
  EXPECT_EQ(set_under(kMaxMasterKeyBytes + 1).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(file().empty());
  EXPECT_TRUE(set_under(kMaxMasterKeyBytes));
  // The same in the home's own file of the key.
  const std::string key_file = dir_.path() + "/vault.key";
  const auto get_with_file = [&](size_t bytes) {
    EXPECT_TRUE(os::write_file_atomic(key_file, std::string(bytes, 'k'), 0600));
    return value_of(kAda, "a");
  };
  EXPECT_EQ(get_with_file(kMaxMasterKeyBytes), "v");
  EXPECT_EQ(get_with_file(kMaxMasterKeyBytes + 1), code_name(Code::kTooLarge));
  EXPECT_EQ(get_with_file(kMinMasterKeyBytes - 1), code_name(Code::kInvalidArgument));
}

TEST_F(VaultTest, ALockThatStaysIsAConflict) {
  ASSERT_TRUE(vault().set(kAda, "a", Secret("v"), 1));
  const Result<os::FileLock> held = os::FileLock::acquire(dir_.path() + "/vault.lock");
  ASSERT_TRUE(held);
  const Result<> refused = vault().set(kAda, "a", Secret("w"), 2);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_NE(refused.error().message.find(std::to_string(::getpid())), std::string::npos);
  EXPECT_EQ(value_of(kAda, "a"), "v");  // readers need no lock
}

TEST_F(VaultTest, ProcessesThatWriteAtOnceLoseNothing) {
  std::vector<pid_t> children;
  constexpr int kEach = 10;
  for (const std::string who : {"x", "y", "z"}) {
    const pid_t child = ::fork();
    if (child == 0) {
      const VaultFile mine(dir_.path(), "");
      for (int i = 0; i < kEach; ++i) {
        if (!mine.set(kAda, who + std::to_string(i), Secret(who), 1)) ::_exit(1);
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(vault().list(kAda)->size(), 3u * kEach);
}

TEST_F(VaultTest, AProcessThatDiesWhileItWritesLeavesTheOldFile) {
  ASSERT_TRUE(vault().set(kAda, "a", Secret("old"), 1));
  const std::vector<std::vector<int>> moments{
      {SYS_write}, {SYS_fsync, SYS_fdatasync}, {SYS_rename, SYS_renameat, SYS_renameat2}};
  for (const auto& moment : moments) {
    const int status = in_child([&] {
      const VaultFile mine(dir_.path(), "");
      const Secret value("new");
      die_at(moment);
      (void)mine.set(kAda, "a", value, 2);
    });
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), SIGSYS);
    EXPECT_EQ(value_of(kAda, "a"), "old");
  }
  ASSERT_TRUE(vault().set(kAda, "a", Secret("newer"), 3));
  EXPECT_EQ(value_of(kAda, "a"), "newer");
}

TEST_F(VaultTest, AProcessThatDiesWithTheFirstSecretLeavesAUsableHome) {
  const int status = in_child([&] {
    const VaultFile mine(dir_.path(), "");
    const Secret value("new");
    die_at({SYS_rename, SYS_renameat, SYS_renameat2});
    (void)mine.set(kAda, "a", value, 2);
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_TRUE(vault().list(kAda)->empty());
  ASSERT_TRUE(vault().set(kAda, "a", Secret("value"), 3));
  EXPECT_EQ(value_of(kAda, "a"), "value");
}

TEST_F(VaultTest, ThePortWorksOnThePool) {
  testing::ManualLoop loop;
  runtime::Pool pool(loop, 2);
  FileVault port(dir_.path(), "", pool, loop.clock());
  ASSERT_TRUE(runtime::block_on(loop, port.set(kAda, "a", Secret("value"))));
  EXPECT_EQ(runtime::block_on(loop, port.get(kAda, "a"))->view(), "value");
  EXPECT_EQ(runtime::block_on(loop, port.list(kAda))->at(0).created_at, loop.clock().now());
  EXPECT_EQ(runtime::block_on(loop, port.get(kBob, "a")).error().code, Code::kNotFound);
  ASSERT_TRUE(runtime::block_on(loop, port.remove(kAda, "a")));
  EXPECT_EQ(runtime::block_on(loop, port.remove(kAda, "a")).error().code, Code::kNotFound);
}

TEST(VaultFormat, ComesBackAsItWas) {
  EXPECT_TRUE(rc::check([](const std::map<std::string, std::string>& texts) {
    VaultEntries entries;
    for (const auto& [name, value] : texts) {
      if (check_secret_name("n" + name) && check_secret_value(value))
        entries[{"realm", name, "n" + name}] = entry(value);
    }
    const Secret bytes = encode_entries(entries);
    const Result<VaultEntries> decoded = decode_entries(bytes.view());
    RC_ASSERT((decoded && decoded->size() == entries.size()));
    RC_ASSERT(encode_entries(*decoded).view() == bytes.view());
    const Result<VaultEntries> opened = open_vault(seal_vault(entries, kMaster), kMaster, "vault");
    RC_ASSERT((opened && encode_entries(*opened).view() == bytes.view()));
  }));
}

TEST(VaultFormat, ArbitraryBytesAreRefusedInWords) {
  VaultEntries entries;
  entries[{"default", "ada", "a"}] = entry("value");
  const std::string good(encode_entries(entries).view());
  EXPECT_TRUE(rc::check([&](const std::string& bytes, std::uint8_t at, char other) {
    const Result<VaultEntries> opened = open_vault(bytes, kMaster, "vault");
    RC_ASSERT((!opened && !opened.error().message.empty()));
    RC_ASSERT(!open_vault("CHELAVLT\x01" + bytes, kMaster, "vault"));
    std::string changed = good;
    changed[at % changed.size()] = other;
    for (const std::string& text : {bytes, changed, good + bytes}) {
      const Result<VaultEntries> decoded = decode_entries(text);
      RC_ASSERT((!decoded || encode_entries(*decoded).view() == text));
    }
  }));
}

}  // namespace
}  // namespace chela::security
