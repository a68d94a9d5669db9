#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bus/exec/watch.h"
#include "bus/module.h"
#include "os/child_process.h"
#include "os/poller.h"
#include "runtime/pool.h"
#include "runtime/task_group.h"

namespace chela::bus::exec {

// Runs commands of a shell beside the engine, once its port is open: each when the one before has succeeded, the last one supervised, so
// that it is started again when it fails, after a pause that grows. When a watched file changes all of it begins anew. Every command is a
// process group of its own that ends with the engine. Loop thread only.
class Exec final : public Module {
 public:
  struct Options {
    std::filesystem::path directory;  // where commands run and patterns start
    std::vector<std::string> commands;
    std::vector<std::string> watch;
  };
  Exec(ModuleParts& parts, Options options);

  Task<Result<>> start() override;
  void opened() override;
  Task<> stop() override;
  json::Value status() const override;

 private:
  Task<> supervise();
  Task<Result<os::ExitStatus>> run(std::string command, std::stop_token stop);
  Task<> watch();

  runtime::EventLoop& loop_;
  os::Poller& poller_;
  runtime::Pool& pool_;
  const Options options_;
  runtime::TaskGroup tasks_;
  std::stop_source round_;  // ends what runs, for a new beginning
  int starts_ = 0;
  std::string running_;
};

// "modules::shell::ExecModule", "iii-exec": {exec: [command], watch?: [pattern]}
ModuleKind kind();

}  // namespace chela::bus::exec
