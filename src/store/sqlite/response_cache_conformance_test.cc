#include "store/response_cache_conformance.h"

#include "store/sqlite/test_stores.h"

namespace chela::store {

INSTANTIATE_TEST_SUITE_P(SqliteFile, ResponseCacheConformance, ::testing::Values(&sqlite::stores_in_file));
INSTANTIATE_TEST_SUITE_P(SqliteMemory, ResponseCacheConformance,
                         ::testing::Values(&sqlite::stores_in_memory));

}  // namespace chela::store
