#include "app/engine_file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>

#include "base/json.h"
#include "os/fd.h"
#include "os/file.h"

namespace chela::app {
namespace {

constexpr size_t kMaxEngineFileBytes = 64 * 1024;

}  // namespace

std::string EngineFile::text() const {
  std::string out = fmt::format("pid {}", pid);
  for (const auto& [name, port] : ports) out += fmt::format(", {} on port {}", name, port);
  return out;
}

std::string address_of(const std::string& host, int port) {
  const std::string reached = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host;
  const bool ipv6 = reached.find(':') != std::string::npos;
  return fmt::format("http://{}:{}", ipv6 ? "[" + reached + "]" : reached, port);
}

Result<> write_engine_file(const std::string& path, const EngineFile& file) {
  json::Value ports = json::Value::object();
  for (const auto& [name, port] : file.ports) ports.set(name, port);
  const json::Value value = json::Value::object({{"pid", file.pid},
                                                 {"version", file.version},
                                                 {"started_at", format_rfc3339(file.started_at)},
                                                 {"socket", file.socket},
                                                 {"ports", std::move(ports)}});
  const std::string temporary = path + ".new";
  {
    const os::Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd) return fail(os::system_error(errno, "create", temporary));
    if (Result<> written = os::write_fd(fd.get(), temporary, json::write(value) + "\n"); !written)
      return written;
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    return fail(os::system_error(errno, "rename", temporary));
  return {};
}

Result<EngineFile> read_engine_file(const std::string& path) {
  const Result<std::string> text = os::read_file(path, kMaxEngineFileBytes);
  if (!text) return fail(text.error());
  const Result<json::Value> value = json::parse(*text);
  if (!value || !value->is_object())
    return fail(Code::kInvalidArgument, "{} is not what an engine writes; remove it", path);
  EngineFile file{.pid = static_cast<int>(value->int_or("pid", 0)),
                  .version = value->string_or("version"),
                  .socket = value->string_or("socket")};
  if (const Result<UnixMs> time = parse_rfc3339(value->string_or("started_at")); time)
    file.started_at = *time;
  if (const json::Value* ports = value->find("ports"); ports && ports->is_object()) {
    for (const json::Member& each : *ports->as_object())
      file.ports[each.key] = static_cast<int>(each.value.as_int().value_or(0));
  }
  return file;
}

}  // namespace chela::app
