#pragma once

#include "store/response_cache_store.h"
#include "store/sqlite/readers.h"
#include "store/sqlite/writer.h"

namespace chela::store::sqlite {

class ResponseCache final : public ResponseCacheStore {
 public:
  ResponseCache(Writer& writer, Readers& readers) : writer_(writer), readers_(readers) {}

  Task<Result<std::optional<CachedResponse>>> find(Scope scope, std::string key, UnixMs since) override;
  Task<Result<>> touch(Scope scope, std::string key, UnixMs at) override;
  Task<Result<>> put(Scope scope, std::string key, std::string body, UnixMs at, Limits limits) override;

 private:
  Writer& writer_;
  Readers& readers_;
};

}  // namespace chela::store::sqlite
