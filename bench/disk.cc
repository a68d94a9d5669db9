#include "bench/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "bench/statistics.h"

namespace chela::bench {

json::Value measure_fdatasync(const std::string& folder, int rounds) {
  const std::string path = folder + "/fdatasync-probe";
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return json::Value();
  const std::array<char, 4096> page{};
  std::vector<double> samples;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (::write(fd, page.data(), page.size()) < 0 || ::fdatasync(fd) != 0) break;
    samples.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  ::close(fd);
  ::unlink(path.c_str());
  return summary(std::move(samples));
}

}  // namespace chela::bench
