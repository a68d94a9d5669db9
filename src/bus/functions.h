#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bus/worker.h"
#include "op/operation.h"
#include "runtime/task.h"

namespace chela::bus {

struct LocalFunction;

// What is known of a function. The formats and the metadata are JSON values as they came, or "".
struct FunctionSpec {
  std::string id;
  std::string description;
  std::string request_format;
  std::string response_format;
  std::string metadata;
  std::string own_id = {};  // what its worker calls it, when that is not the id
  // What is called instead of the worker that registers it; null for most.
  std::shared_ptr<const LocalFunction> outside = {};

  size_t bytes() const {
    return own_id.size() + id.size() + description.size() + request_format.size() + response_format.size() +
           metadata.size();
  }
};

// Whether agents are to have the function as a tool: its id begins with kToolPrefix, or its metadata has `tool: true`.
inline constexpr std::string_view kToolPrefix = "tool::";
bool is_tool(const FunctionSpec& spec);

// One call of an in-process function.
struct LocalCall {
  op::CallContext context;
  WorkerPtr caller;  // null when the engine itself calls
  json::Value data;
  std::string traceparent = {};  // W3C, as plain text; "" = none
  std::string baggage = {};
};

// One call of an in-process function that takes and gives JSON as text.
struct TextCall {
  op::CallContext context;
  WorkerPtr caller;       // null when the engine itself calls
  std::string_view data;  // valid JSON, until the function waits for the first time
  std::string traceparent = {};
  std::string baggage = {};
};

// A function of the engine itself. One of the two is set: `handler` is called without serialisation by the engine, with parsed data for
// workers; `text` is for functions that mostly keep or pass on what they get: nothing is built for a worker's call, and its result ("" =
// none) goes out as it is.
enum class Replaceable { kNo, kYes };
struct LocalFunction {
  FunctionSpec spec;
  Replaceable replaceable =
      Replaceable::kNo;  // workers may provide it too; whoever calls it then looks for them
  std::function<Task<Result<json::Value>>(LocalCall)> handler = {};
  std::function<Task<Result<std::string>>(TextCall)> text = {};
};

// What a token must allow, with the id of the function behind it, for its worker to stand in for a function of the engine.
inline constexpr std::string_view kReplacePermission = "bus:replace:";

// Calls it, whichever it is.
Task<Result<json::Value>> run(std::shared_ptr<const LocalFunction> function, LocalCall call);

// Who provides what. Loop thread only.
class Functions {
 public:
  struct Provider {
    WorkerPtr worker;
    FunctionSpec spec;
    bool tool = false;  // as is_tool() says
  };
  struct Entry {
    std::shared_ptr<const LocalFunction> local;  // null when workers provide it
    std::vector<Provider> providers;             // live ones
    size_t turn = 0;                             // where the next search for the least busy begins
  };
  enum class Reach { kNone, kLocal, kWorker, kBusy };
  struct Target {
    Reach reach = Reach::kNone;
    std::shared_ptr<const LocalFunction> local = {};
    WorkerPtr worker = {};
    std::string own_id = {};  // what the worker calls the function, when that is not its id
    bool alone = true;        // nobody else provides it
  };

  // kConflict when the id is taken.
  Result<> add(LocalFunction function);
  // A worker that registers again replaces its own. kConflict for the engine's ids, kTooLarge past a limit of the worker or function.
  Result<> add(const WorkerPtr& worker, FunctionSpec spec);
  // False when the worker does not provide it.
  bool remove(Worker& worker, std::string_view id);

  // One of the least busy live providers of the viewer's own user or an administrator, in turn; kBusy when all are overloaded or stalled.
  Target pick(std::string_view id, const Viewer& viewer);
  // Of those that stand in for a function of the engine: one of the least busy live workers of the viewer's own user or an
  // administrator, in turn. None when `asking` (the id of a worker, "" = none) is one of them: it is given what it stands in for.
  Target pick_replacement(std::string_view id, const Viewer& viewer, std::string_view asking);
  bool replaced(std::string_view id, const Viewer& viewer, std::string_view asking) const;
  // Whether pick() would find a provider, busy or not.
  bool reaches(std::string_view id, const Viewer& viewer) const;

  // The specs that a viewer may see, by id; for a function of several workers the oldest registration speaks.
  struct Row {
    const FunctionSpec* spec;
    const Worker* worker;  // null for the engine's own
  };
  // An operation that is replaced for the viewer has its own spec and the worker that replaces it.
  std::vector<Row> list(const Viewer& viewer) const;
  Row find(std::string_view id, const Viewer& viewer) const;  // spec null when there is none

  // Ids of workers' functions that are tools for somebody, and a number that changes with them and with what is known of them.
  const std::set<std::string, std::less<>>& tools() const { return tools_; }
  std::uint64_t tools_revision() const { return tools_revision_; }
  // The oldest registration that is a tool of a worker which calls of the viewer may go to; spec null when there is none.
  Row find_tool(std::string_view id, const Viewer& viewer) const;
  size_t size() const { return entries_.size(); }

 private:
  Target least_busy(Entry& entry, const Viewer& viewer, std::string_view permission);
  void tools_changed(std::string_view id, const Entry* entry);

  std::map<std::string, Entry, std::less<>> entries_;
  std::set<std::string, std::less<>> tools_;
  std::uint64_t tools_revision_ = 0;
};

}  // namespace chela::bus
