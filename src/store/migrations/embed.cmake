# Writes OUT, a C++ source whose function FUNCTION gives the SQL files FILES ("domain/NNNN_name.sqlite.sql", comma-separated, in the order in which they
# are applied) of the folder DIR, each with its SHA-256.
string(REPLACE "," ";" files "${FILES}")
set(entries "")
foreach(file IN LISTS files)
  if(NOT file MATCHES "^([a-z_]+)/([0-9][0-9][0-9][0-9])_([a-z0-9_]+)\\.sqlite\\.sql$")
    message(FATAL_ERROR "${file}: expected domain/NNNN_name.sqlite.sql")
  endif()
  set(domain ${CMAKE_MATCH_1})
  set(digits ${CMAKE_MATCH_2})
  set(name ${CMAKE_MATCH_3})
  math(EXPR number "1${digits} - 10000")
  math(EXPR expected "${last_${domain}} + 1")
  if(NOT number EQUAL expected)
    message(FATAL_ERROR "${file}: expected number ${expected} of ${domain}")
  endif()
  set(last_${domain} ${number})
  file(READ ${DIR}/${file} sql)
  file(SHA256 ${DIR}/${file} hash)
  string(APPEND entries "    {\"${domain}\", ${number}, \"${name}\", \"${hash}\",\n     R\"sql(${sql})sql\"},\n")
endforeach()
file(WRITE ${OUT} "// Made by migrations/embed.cmake.
#include \"store/migrations.h\"

namespace chela::store {
namespace {
constexpr Migration kMigrations[] = {
${entries}};
}  // namespace

std::span<const Migration> ${FUNCTION}() { return kMigrations; }

}  // namespace chela::store
")
