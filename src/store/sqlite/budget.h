#pragma once

#include "store/budget_store.h"
#include "store/sqlite/readers.h"
#include "store/sqlite/writer.h"

namespace chela::store::sqlite {

class Budget final : public BudgetStore {
 public:
  Budget(Writer& writer, Readers& readers) : writer_(writer), readers_(readers) {}

  Task<Result<bool>> begin() override;
  Task<Result<>> end() override;
  Task<Result<>> reserve(BudgetCall call) override;
  Task<Result<>> settle(BudgetSettlement settlement) override;
  void commit_soon() override { writer_.commit_soon(); }
  Task<Result<std::vector<BudgetCall>>> open_calls() override;
  Task<Result<std::vector<BudgetSum>>> sums(UnixMs from) override;
  Task<Result<std::vector<BudgetSum>>> begun(UnixMs from) override;
  Task<Result<>> forget(UnixMs before) override;
  Task<Result<std::vector<BudgetUsage>>> usage(Scope scope, UnixMs from) override;

 private:
  Writer& writer_;
  Readers& readers_;
};

}  // namespace chela::store::sqlite
