#include "store/budget_conformance.h"

#include "store/sqlite/test_stores.h"

namespace chela::store {

INSTANTIATE_TEST_SUITE_P(SqliteFile, BudgetConformance, ::testing::Values(&sqlite::stores_in_file));
INSTANTIATE_TEST_SUITE_P(SqliteMemory, BudgetConformance, ::testing::Values(&sqlite::stores_in_memory));

}  // namespace chela::store
