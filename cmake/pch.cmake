# The standard headers that nearly every source reads, parsed once. Their precompiled form lies in the cache folder and not in
# the build tree: its path is part of every compile command, so only one that is the same in every clone lets ccache find
# what another clone compiled. The key covers everything that must be equal where it is used.

set(pch_text "")
foreach(header algorithm array atomic chrono coroutine cstdint deque expected functional map memory mutex optional span
               stop_token string string_view thread unordered_map utility variant vector fmt/format.h)
  string(APPEND pch_text "#include <${header}>\n")
endforeach()

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
separate_arguments(pch_flags UNIX_COMMAND "-std=c++23 -DFMT_SHARED ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}")
list(APPEND pch_flags ${chela_code_flags})
# An update of these headers makes a new one, too.
set(pch_stamps "")
foreach(header /usr/include/fmt/core.h /usr/include/x86_64-linux-gnu/c++/12/bits/c++config.h)
  if(EXISTS ${header})
    file(TIMESTAMP ${header} stamp UTC)
    list(APPEND pch_stamps ${stamp})
  endif()
endforeach()
string(SHA256 pch_key "${pch_text}${pch_flags}${pch_stamps}${CMAKE_CXX_COMPILER_VERSION}")
string(SUBSTRING ${pch_key} 0 12 pch_key)
set(pch ${CHELA_CACHE}/pch-${pch_key}/std.h)

if(NOT EXISTS ${pch}.pch)
  # Written under a name of its own and renamed: two configure steps may do this at once.
  string(RANDOM part)
  file(WRITE ${pch} "${pch_text}")
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} ${pch_flags} -Xclang -fno-pch-timestamp -x c++-header ${pch} -o ${pch}.${part}
    COMMAND_ERROR_IS_FATAL ANY)
  file(RENAME ${pch}.${part} ${pch}.pch)
endif()
target_compile_options(chela_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:SHELL:-include-pch ${pch}.pch>)
# Should somebody empty the cache, the next build configures again and so makes it anew.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pch}.pch)
