#pragma once

#include <chrono>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "app/paths.h"
#include "base/limits.h"
#include "config/settings.h"
#include "llm/backends/backends.h"
#include "net/http_client.h"
#include "os/poller.h"
#include "runtime/asio_loop.h"
#include "runtime/task.h"

// One question to the configured model provider, outside of an engine. No retries: whoever asks wants to know how it is now.
namespace chela::app {

struct ProbeParts {
  runtime::AsioLoop& loop;
  os::Poller& poller;
  net::HttpClient& http;
  const Paths& paths;
  const std::map<std::string, std::string>& environment;
  std::chrono::milliseconds list_wait = kProbeTimeout;
  std::chrono::milliseconds hello_wait = kTestCallTimeout;
};

// Where the provider is, for messages.
std::string provider_address(const config::LlmSettings& llm);

// The models that it offers: needs the way and the key, costs nothing. kTimeout after `list_wait`.
Task<Result<std::vector<std::string>>> list_models(ProbeParts parts, config::Settings settings,
                                                   std::stop_token stop);

// One short answer. kTimeout after `hello_wait`.
Task<Result<std::string>> say_hello(ProbeParts parts, config::Settings settings, std::stop_token stop);

}  // namespace chela::app
