#include "app/checks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/limits.h"
#include "llm/local/infer_process.h"
#include "os/fd.h"
#include "security/vault_file.h"
#include "store/sqlite/integrity.h"

namespace chela::app {
namespace {

namespace fs = std::filesystem;
using cli::Check;
using Verdict = Check::Verdict;

constexpr UnixMs kEarliest = 1'735'689'600'000;  // 2025-01-01: before this program was written
constexpr UnixMs kDay = 86'400'000;
// Files that an engine has open beside its connections: log, database, pipes of children, sockets to models.
constexpr std::uint64_t kOtherFiles = 200;
constexpr double kMiB = 1024 * 1024;

std::string reason(int number) {
  char buffer[128];
  return ::strerror_r(number, buffer, sizeof buffer);
}

// The folder itself, or the nearest one above it that is there.
std::string existing(const std::string& path) {
  std::error_code ignored;
  fs::path at = path;
  while (!fs::exists(at, ignored) && at.has_relative_path()) at = at.parent_path();
  return at.string();
}

// Nothing when a file can be made in the folder, else why not. Rights alone do not say it: a file system may be read-only.
std::string why_not_writable(const std::string& folder) {
  std::string name = folder + "/.doctor.XXXXXX";
  const os::Fd fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd) return reason(errno);
  ::unlink(name.c_str());
  return {};
}

Check program(std::string_view name, std::string_view needed_for) {
  const std::string path = llm::local::beside_this_program(name);
  if (::access(path.c_str(), X_OK) == 0) return {.name = std::string(name), .message = path};
  return {.name = std::string(name),
          .verdict = Verdict::kFail,
          .message = fmt::format("{} cannot be run ({}); {}", path, reason(errno), needed_for),
          .next_step = "install Chela again, all of it: the programs belong into one folder"};
}

}  // namespace

std::vector<Check> check_installation(const std::map<std::string, std::string>& environment) {
  std::vector<Check> checks{program("chela-guard", "no program can be started without it"),
                            program("chela-infer", "local models cannot answer without it")};
  const Result<std::string> share = share_folder(environment);
  checks.push_back(
      share ? Check{.name = "data", .message = *share}
            : Check{.name = "data",
                    .verdict = Verdict::kFail,
                    .message = share.error().message,
                    .next_step =
                        "install Chela again, or set CHELA_SHARE to the folder `share` of its sources"});
  void* const curl = ::dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
  checks.push_back(curl ? Check{.name = "libcurl", .message = "found"}
                        : Check{.name = "libcurl",
                                .verdict = Verdict::kFail,
                                .message = "libcurl.so.4 is missing: no model can be asked",
                                .next_step = "apt-get install libcurl4"});
  if (curl != nullptr) ::dlclose(curl);
  const bool zones = ::access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0;
  checks.push_back(zones ? Check{.name = "time zones", .message = "found"}
                         : Check{.name = "time zones",
                                 .verdict = Verdict::kWarn,
                                 .message = "the time zone database is missing: agents know UTC only",
                                 .next_step = "apt-get install tzdata"});
  return checks;
}

Check check_home(const Paths& paths) {
  Check check{.name = "home", .message = paths.home};
  const auto failed = [&check](std::string message, std::string next) {
    check.verdict = Verdict::kFail;
    check.message = std::move(message);
    check.next_step = std::move(next);
    return check;
  };
  struct stat info{};
  if (::stat(paths.home.c_str(), &info) != 0) {
    const std::string above = existing(paths.home);
    const std::string why = fs::is_directory(above) ? why_not_writable(above) : "it is no folder";
    if (!why.empty())
      return failed(fmt::format("{} does not exist and cannot be made in {}: {}", paths.home, above, why),
                    "choose another folder with --home or CHELA_HOME");
    check.message += " does not exist yet; the first start makes it";
    return check;
  }
  if (!S_ISDIR(info.st_mode))
    return failed(paths.home + " is no folder", "move it away, or choose another folder with --home");
  if (const std::string why = why_not_writable(paths.home); !why.empty())
    return failed(fmt::format("nothing can be written in {}: {}", paths.home, why),
                  "give this user the right to write there, or choose another folder with --home");
  if (info.st_uid != ::geteuid() || (info.st_mode & 077) != 0) {
    check.verdict = Verdict::kWarn;
    check.message = fmt::format("{} is open to other users of this machine", paths.home);
    check.next_step = "chmod 700 " + paths.home;
  }
  return check;
}

std::uintmax_t free_bytes_at(const std::string& path) {
  std::error_code error;
  const fs::space_info space = fs::space(existing(path), error);
  return error ? 0 : space.available;
}

Check check_disk(const std::string& path, std::uintmax_t free_bytes) {
  Check check{.name = "disk",
              .message = fmt::format("{:.0f} MiB free for {}", static_cast<double>(free_bytes) / kMiB, path)};
  if (free_bytes >= kLowDiskBytes) return check;
  check.verdict = free_bytes < kMinDiskBytes ? Verdict::kFail : Verdict::kWarn;
  check.next_step = "make room on this disk, or move the home to another one";
  return check;
}

Check check_database(const Paths& paths) {
  const Result<> good = store::sqlite::check_integrity(paths.database);
  if (good) return {.name = "database", .message = paths.database + " is sound"};
  if (good.error().code == Code::kNotFound)
    return {.name = "database",
            .verdict = Verdict::kSkip,
            .message = "there is none yet; the first start makes it"};
  return {.name = "database",
          .verdict = Verdict::kFail,
          .message = good.error().message,
          .next_step = fmt::format(
              "stop the engine and put a backup of {} back, or move it away to begin anew", paths.database)};
}

Check check_vault(const Paths& paths, const std::string& master_key) {
  const security::VaultFile vault(paths.home, master_key);
  if (::access(vault.path().c_str(), F_OK) != 0)
    return {.name = "vault", .verdict = Verdict::kSkip, .message = "there are no secrets yet"};
  if (const Result<> good = vault.check(); !good)
    return {.name = "vault",
            .verdict = Verdict::kFail,
            .message = good.error().message,
            .next_step = "give it the key and the file that belong together"};
  for (const std::string& each : {vault.path(), vault.key_path()}) {
    struct stat info{};
    if (::stat(each.c_str(), &info) == 0 && (info.st_mode & 077) != 0)
      return {.name = "vault",
              .verdict = Verdict::kFail,
              .message = each + " can be read by other users of this machine",
              .next_step = "chmod 600 " + each};
  }
  return {.name = "vault", .message = "it opens"};
}

Check check_port(const ListenPlace& place) {
  const std::string where = fmt::format("{} port {}", place.host, place.port);
  if (!place.enabled)
    return {.name = place.part + " port", .verdict = Verdict::kSkip, .message = "it is switched off"};
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int wrong = ::getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  std::string why = wrong == 0 ? "" : ::gai_strerror(wrong);
  if (wrong == 0) {
    const os::Fd fd(::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol));
    const int yes = 1;
    if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (!fd || ::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd.get(), 1) != 0)
      why = reason(errno);
  }
  if (why.empty()) return {.name = place.part + " port", .message = where + " is free"};
  return {.name = place.part + " port",
          .verdict = Verdict::kFail,
          .message = fmt::format("the {} cannot listen on {}: {}", place.part, where, why),
          .next_step =
              fmt::format("end the program that has it, or choose another port: --set {}=0 takes a free one "
                          "(the address is {}.host)",
                          place.key, place.key.substr(0, place.key.find('.')))};
}

Check check_model_files(const Paths& paths, const llm::ModelInfo& model) {
  std::string missing;
  for (const std::string& file : model.files) {
    if (::access((fs::path(paths.models) / file).c_str(), R_OK) != 0)
      missing += (missing.empty() ? "" : ", ") + file;
  }
  if (missing.empty()) return {.name = "model files", .message = fmt::format("{} is complete", model.id)};
  return {.name = "model files",
          .verdict = Verdict::kFail,
          .message = fmt::format("{} lacks {} in {}", model.id, missing, paths.models),
          .next_step = fmt::format("chela models pull {}", model.id)};
}

Check check_clock(const Paths& paths, UnixMs now) {
  Check check{.name = "clock", .message = format_rfc3339(now)};
  const auto wrong = [&check](const std::string& message) {
    check.verdict = Verdict::kFail;
    check.message = message;
    check.next_step = "set the clock of this machine, best by a time service (timedatectl set-ntp true)";
    return check;
  };
  if (now < kEarliest) return wrong(fmt::format("the clock says {}, which is long past", check.message));
  for (const std::string& each : {paths.database, paths.engine_file, paths.config}) {
    struct stat info{};
    if (::stat(each.c_str(), &info) != 0) continue;
    const UnixMs written = static_cast<UnixMs>(info.st_mtim.tv_sec) * 1000;
    if (written > now + kDay)
      return wrong(fmt::format("the clock says {}, but {} was written at {}", check.message, each,
                               format_rfc3339(written)));
  }
  return check;
}

Check check_open_files(std::uint64_t allowed, size_t connections) {
  Check check{.name = "open files", .message = fmt::format("{} allowed", allowed)};
  if (allowed >= connections + kOtherFiles) return check;
  check.verdict = Verdict::kWarn;
  check.message += fmt::format(", too few for {} connections (limits.connections)", connections);
  check.next_step =
      fmt::format("raise the limit (ulimit -n {}), or lower limits.connections", connections + kOtherFiles);
  return check;
}

}  // namespace chela::app
