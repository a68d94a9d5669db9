#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bus/bus.h"
#include "bus/module.h"
#include "runtime/completion.h"
#include "store/records.h"

namespace chela::bus::standing {

// Triggers that outlive the connection which registered them, and the engine: `engine::register_trigger` and
// `engine::unregister_trigger`. They fire in the name of who registered them, as long as the token behind that is good. What is kept is
// opened when the first one is registered. Loop thread only.
class Standing final : public Module {
 public:
  struct Options {
    std::filesystem::path file;
    store::OpenRecords open;
    RestoreRights restore;
  };
  Standing(runtime::EventLoop& loop, Bus& bus, runtime::IdSource& ids, Options options);

  Task<Result<>> start() override;
  Task<> stop() override;
  json::Value status() const override;

 private:
  Task<Result<json::Value>> add(LocalCall call);
  Task<Result<json::Value>> end(LocalCall call);
  Task<Result<>> load();
  Task<Result<>> open();
  Task<Result<>> revive(std::string id, json::Value kept);

  runtime::EventLoop& loop_;
  Bus& bus_;
  runtime::IdSource& ids_;
  const Options options_;
  std::unique_ptr<store::Records> records_;
  bool opening_ = false;
  std::vector<runtime::Completion<bool>> waiting_ = {};  // for it to be open
  size_t count_ = 0;
  bool stopped_ = false;
};

// "engine::triggers": always there; {file_path?}
ModuleKind kind();

}  // namespace chela::bus::standing
