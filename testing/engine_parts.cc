#include "testing/engine_parts.h"

#include "base/check.h"
#include "runtime/task_group.h"

namespace chela::testing {

EngineParts::EngineParts(runtime::EventLoop& loop, std::unique_ptr<store::sqlite::Database> database,
                         llm::Provider& model)
    : hooks(loop),
      loop_(loop),
      database_(std::move(database)),
      model_(model),
      ids_(loop.clock()),
      runner_(loop, tools, hooks, {.timeout = 60s, .max_result_bytes = 10'000}) {}

EngineParts::~EngineParts() {
  stop();
  runtime::block_on(loop_, runner_.close());
  runtime::block_on(loop_, hooks.close());
}

void EngineParts::start(agent::EngineSettings engine_settings) {
  stop();
  engine_ = agent::make_engine(
      {.loop = loop_,
       .ids = ids_,
       .log = log != nullptr ? *log : database_->turn_log(),
       .blobs = blobs != nullptr ? *blobs : database_->blobs(),
       .settings_store = settings != nullptr ? *settings : database_->settings(),
       .tools = tools,
       .tool_runner = runner_,
       .hooks = hooks,
       .metrics = metrics,
       .knowledge = knowledge,
       .uploads = uploads,
       .vault = vault,
       .choose_model = [this](const agent::AgentSpec& spec) -> Result<agent::ModelChoice> {
         return agent::ModelChoice{&model_,        spec.model.empty() ? "fake" : spec.model,
                                   context_tokens, sees_images,
                                   prompt,         spec.tool_calling.value_or(tool_calling)};
       },
       .agents = agents,
       .settings = engine_settings,
       .version = "1.2.3",
       .on_turn_end = [this](const Scope&, const std::string& thread,
                             const std::string&) { ended.push_back(thread); }});
  const Result<> recovered = runtime::block_on(loop_, engine_->recover());
  CHELA_CHECK(recovered.has_value(), "the open turns of a test are readable");
}

void EngineParts::stop() {
  if (!engine_) return;
  runtime::block_on(loop_, engine_->stop());
  engine_.reset();
}

}  // namespace chela::testing
