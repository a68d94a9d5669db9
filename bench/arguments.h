#pragma once

#include <cstdlib>
#include <map>
#include <string>

namespace chela::bench {

// --seconds N, --turns N, --dir FOLDER; others are passed over. Without a folder one is made where the program was started: not below /tmp,
// which may be memory, and the point is the disk. It goes with this object.
class Arguments {
 public:
  Arguments(int argc, char** argv);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  double seconds = 3;
  long turns = 10'000;
  std::string folder;

 private:
  std::string made_;
};

// --name value pairs, for programs that take only those.
class Options {
 public:
  Options(int argc, char** argv) {
    for (int i = 1; i + 1 < argc; i += 2) all_[argv[i]] = argv[i + 1];
  }
  bool has(const std::string& name) const { return all_.contains(name); }
  std::string text(const std::string& name) const { return has(name) ? all_.at(name) : std::string(); }
  size_t number(const std::string& name) const { return std::strtoul(text(name).c_str(), nullptr, 10); }
  double seconds() const { return std::atof(text("--seconds").c_str()); }

 private:
  std::map<std::string, std::string> all_;
};

// A connection to 127.0.0.1 that waits for no more bytes before it sends; -1 when there is none.
int connect_to(int port);

}  // namespace chela::bench
