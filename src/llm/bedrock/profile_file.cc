#include "llm/bedrock/profile_file.h"

#include "base/strings.h"

namespace chela::llm::bedrock {

std::map<std::string, std::string> profile_of(std::string_view text, std::string_view name) {
  constexpr std::string_view kProfile = "profile ";
  std::map<std::string, std::string> out;
  bool inside = false;
  for (const std::string_view raw : strings::split(text, '\n')) {
    const std::string_view line = strings::trim(raw);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line.starts_with('[')) {
      std::string_view section =
          line.substr(1, line.find(']') == std::string_view::npos ? 0 : line.find(']') - 1);
      section = strings::trim(section);
      if (section.starts_with(kProfile)) section = strings::trim(section.substr(kProfile.size()));
      inside = section == name;
      continue;
    }
    const size_t equals = line.find('=');
    const bool nested = raw.starts_with(' ') || raw.starts_with('\t');
    if (!inside || nested || equals == std::string_view::npos) continue;
    out[strings::lower(strings::trim(line.substr(0, equals)))] = strings::trim(line.substr(equals + 1));
  }
  return out;
}

}  // namespace chela::llm::bedrock
