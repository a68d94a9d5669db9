# Third-party libraries, one target each; docs/dependencies.md says which folder may use which. Debian packages are found
# where the package put them; libSQL and llama.cpp are built by `./dev setup` into ${CHELA_CACHE} and imported here.
# Nothing is downloaded at configure time.

find_package(fmt REQUIRED)              # fmt::fmt
find_package(spdlog REQUIRED)           # spdlog::spdlog
find_package(OpenSSL REQUIRED)          # OpenSSL::SSL, OpenSSL::Crypto
find_package(CURL REQUIRED)             # CURL::libcurl
find_package(CLI11 REQUIRED)            # CLI11::CLI11
find_package(tomlplusplus REQUIRED)     # tomlplusplus::tomlplusplus
# Where Debian has an archive it is taken: a shared library costs each start a tenth of a millisecond and 0.3 MB of memory.
find_library(SODIUM_STATIC libsodium.a REQUIRED)
find_library(RE2_STATIC libre2.a REQUIRED)
find_library(BOOST_JSON_STATIC libboost_json.a REQUIRED)         # Boost.Asio and Beast are headers only
find_library(DATE_TZ date-tz REQUIRED)                           # Hinnant date

# chela_built(<name> <script>): sets <name> to the folder that scripts/<script> filled for these very versions, flags and compiler.
function(chela_built name script)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env CHELA_CACHE=${CHELA_CACHE} bash ${CMAKE_SOURCE_DIR}/scripts/${script} prefix
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT EXISTS ${folder}/lib)
    message(FATAL_ERROR "${folder} does not exist. Next step: run ./dev setup")
  endif()
  # A new version or flag in the script is a new folder: configure again then.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/scripts/${script} ${folder})
  set(${name} ${folder} PARENT_SCOPE)
endfunction()

chela_built(libsql_dir libsql.sh)
add_library(chela_libsql STATIC IMPORTED GLOBAL)
set_target_properties(chela_libsql PROPERTIES IMPORTED_LOCATION ${libsql_dir}/lib/libsql.a
  INTERFACE_INCLUDE_DIRECTORIES ${libsql_dir}/include INTERFACE_LINK_LIBRARIES m)

# ggml's libraries refer to each other: a group spares their order. As system headers they raise no warnings of ours.
chela_built(llama_dir llama.sh)
add_library(chela_llama INTERFACE)
target_include_directories(chela_llama SYSTEM INTERFACE ${llama_dir}/include)
target_link_libraries(chela_llama INTERFACE
  -Wl,--start-group ${llama_dir}/lib/libllama.a ${llama_dir}/lib/libggml.a ${llama_dir}/lib/libggml-cpu.a
  ${llama_dir}/lib/libggml-base.a -Wl,--end-group ${CMAKE_DL_LIBS} m)
