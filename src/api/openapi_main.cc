#include <cstdio>

#include "api/operations.h"
#include "api/services.h"

// Prints the OpenAPI document of the gateway's operations: what the web page's client is made from at build time. The version is left
// out, so that a release does not look like a change of the interface.
int main() {
  const chela::api::Services services;
  chela::op::Registry registry;
  if (const chela::Result<> added = chela::api::add_operations(registry, services); !added) {
    std::fprintf(stderr, "%s\n", added.error().message.c_str());
    return 1;
  }
  const std::string text =
      chela::json::write_pretty(chela::op::openapi(registry, chela::op::Surface::kGateway, "Chela", ""));
  return std::printf("%s\n", text.c_str()) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
