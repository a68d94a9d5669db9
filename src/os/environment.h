#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace chela::os {

// A copy of this process' variables.
std::map<std::string, std::string> environment();

// Overwrites the values of these variables in this process' memory and removes them: afterwards neither getenv nor
// /proc/<pid>/environ shows them. At start, while there is one thread; read what you need first.
void scrub_environment(const std::vector<std::string>& names);

// What every child may know: PATH, HOME, USER, LANG, LC_ALL, TZ, TERM, TMPDIR, as far as they are set here. Never a secret.
std::vector<std::pair<std::string, std::string>> base_environment();

}  // namespace chela::os
