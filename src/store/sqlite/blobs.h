#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "store/blob_store.h"
#include "store/sqlite/readers.h"
#include "store/sqlite/writer.h"

namespace chela::store::sqlite {

class Blobs final : public BlobStore {
 public:
  Blobs(Writer& writer, Readers& readers)
      : writer_(writer), readers_(readers), unsaved_(std::make_shared<Unsaved>()) {}

  Task<Result<>> put(Scope scope, std::string hash, std::string content) override;
  Task<Result<std::string>> get(Scope scope, std::string hash) override;

 private:
  // Contents by (realm, user, hash) that are not committed yet: put() has answered, so get() must find them. Loop thread.
  using Unsaved =
      std::map<std::tuple<std::string, std::string, std::string>, std::shared_ptr<const std::string>>;
  class Save;

  Result<> queue(const Scope& scope, std::string hash, std::string content);

  Writer& writer_;
  Readers& readers_;
  std::shared_ptr<Unsaved> unsaved_;
};

}  // namespace chela::store::sqlite
