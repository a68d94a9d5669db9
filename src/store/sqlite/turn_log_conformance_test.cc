#include "store/turn_log_conformance.h"

#include "store/sqlite/test_stores.h"
#include "store/turn_log_delivery_conformance.h"
#include "store/turn_log_threads_conformance.h"

namespace chela::store {

INSTANTIATE_TEST_SUITE_P(SqliteFile, TurnLogConformance, ::testing::Values(&sqlite::stores_in_file));
INSTANTIATE_TEST_SUITE_P(SqliteMemory, TurnLogConformance, ::testing::Values(&sqlite::stores_in_memory));

}  // namespace chela::store
