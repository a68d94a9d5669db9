#pragma once

#include "store/sqlite/readers.h"
#include "store/sqlite/writer.h"
#include "store/token_store.h"

namespace chela::store::sqlite {

class Tokens final : public TokenStore {
 public:
  Tokens(Writer& writer, Readers& readers) : writer_(writer), readers_(readers) {}

  Task<Result<>> put(TokenRow row) override;
  Task<Result<std::optional<TokenRow>>> get(std::string id) override;
  Task<Result<std::vector<TokenRow>>> list(Scope scope) override;
  Task<Result<bool>> revoke(Scope scope, std::string id, UnixMs at) override;

 private:
  Writer& writer_;
  Readers& readers_;
};

}  // namespace chela::store::sqlite
