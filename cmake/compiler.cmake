# Flags of every target of ours, the linker, the compiler cache and the precompiled standard headers.

find_program(CHELA_CCACHE ccache)
if(CHELA_CCACHE)
  # Precompiled headers are cached too, once ccache is told that their time stamps mean nothing.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${CHELA_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -gline-tables-only")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -gline-tables-only")

add_library(chela_flags INTERFACE)
target_compile_options(chela_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wno-missing-designated-field-initializers -Wno-missing-field-initializers -Werror>
  -ffunction-sections -fdata-sections -fno-plt)
target_link_options(chela_flags INTERFACE -fuse-ld=lld -Wl,--gc-sections -Wl,--as-needed)
target_include_directories(chela_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
target_link_options(chela_flags INTERFACE -pthread -pie)

# What a precompiled header has to share with the sources that use it.
set(chela_code_flags -pthread -fPIE)
if(CHELA_SANITIZE)
  list(APPEND chela_code_flags -fsanitize=${CHELA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  string(REPLACE "fuzzer-no-link," "" link_sanitizers "${CHELA_SANITIZE}")
  target_link_options(chela_flags INTERFACE -fsanitize=${link_sanitizers})
endif()
if(CHELA_CRASH_POINTS)
  target_compile_definitions(chela_flags INTERFACE CHELA_CRASH_POINTS=1)
endif()
target_compile_options(chela_flags INTERFACE ${chela_code_flags})
