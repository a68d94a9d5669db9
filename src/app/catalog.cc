#include "app/catalog.h"

#include "app/paths.h"
#include "os/file.h"

namespace chela::app {
namespace {

constexpr size_t kMaxCatalogBytes = 4 * 1024 * 1024;

}  // namespace

Result<llm::Catalog> read_catalog(const std::string& share) {
  const Result<std::string> text = os::read_file(share + "/models/catalog.json", kMaxCatalogBytes);
  if (!text) return fail(text.error());
  return llm::Catalog::parse(*text);
}

Result<llm::Catalog> find_catalog(const std::map<std::string, std::string>& environment) {
  const Result<std::string> share = share_folder(environment);
  if (!share) return fail(share.error());
  return read_catalog(*share);
}

}  // namespace chela::app
