#include "infer/examples.h"

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>

#include "base/strings.h"

namespace chela::infer {
namespace {

constexpr std::array<char, 8> kMagic = {'c', 'h', 'v', 'e', 'c', '0', '0', '1'};

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint64_t key = 0;
  std::uint64_t count = 0;
  std::uint64_t dimensions = 0;
};

// FNV-1a: it tells versions of our own data apart, nothing depends on it being hard to forge.
std::uint64_t content_key(std::string_view identity, const std::vector<std::string>& texts) {
  std::uint64_t hash = 14695981039346656037ULL;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    hash = (hash ^ 0xffU) * 1099511628211ULL;  // no byte of UTF-8: keeps "ab","c" apart from "a","bc"
  };
  add(identity);
  for (const auto& text : texts) add(text);
  return hash;
}

std::optional<std::vector<Embedding>> read_vectors(const std::filesystem::path& file, std::uint64_t key,
                                                   std::size_t count) {
  std::ifstream in(file, std::ios::binary);
  Header header;
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error || header.magic != kMagic || header.key != key || header.count != count ||
      header.dimensions == 0 || header.dimensions > 65536 ||
      size != sizeof header + header.count * header.dimensions * sizeof(float)) {
    return std::nullopt;
  }
  std::vector<Embedding> out(count, Embedding(header.dimensions));
  for (auto& vector : out) {
    if (!in.read(reinterpret_cast<char*>(vector.data()),
                 static_cast<std::streamsize>(vector.size() * sizeof(float))))
      return std::nullopt;
  }
  return out;
}

// Writes beside the target and renames, so that a reader never sees half a file. True when the file is in place.
bool write_vectors(const std::filesystem::path& file, std::uint64_t key,
                   const std::vector<Embedding>& vectors) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  const auto part = file.string() + "." + std::to_string(::getpid());
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  const Header header{.key = key, .count = vectors.size(), .dimensions = vectors.front().size()};
  out.write(reinterpret_cast<const char*>(&header), sizeof header);
  for (const auto& vector : vectors)
    out.write(reinterpret_cast<const char*>(vector.data()),
              static_cast<std::streamsize>(vector.size() * sizeof(float)));
  out.close();
  if (out) {
    std::filesystem::rename(part, file, error);
    if (!error) return true;
  }
  std::filesystem::remove(part, error);
  return false;
}

}  // namespace

float similarity(const Embedding& a, const Embedding& b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Result<std::vector<Example>> parse_examples(std::string_view tsv) {
  std::vector<Example> out;
  std::size_t number = 0;
  for (const auto raw : strings::split(tsv, '\n')) {
    ++number;
    const auto line = strings::trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    const auto tab = line.find('\t');
    if (tab == 0 || tab == std::string_view::npos || tab + 1 == line.size())
      return fail(Code::kInvalidArgument, "examples, line {}: expected label<TAB>phrase", number);
    out.push_back({std::string(line.substr(0, tab)), std::string(line.substr(tab + 1))});
  }
  return out;
}

Result<std::vector<Embedding>> cached_vectors(SentenceEmbedder& embedder,
                                              const std::vector<std::string>& texts,
                                              const std::filesystem::path& cache) {
  if (texts.empty()) return std::vector<Embedding>{};
  const auto key = content_key(embedder.identity(), texts);
  const auto file = cache / fmt::format("examples-{:016x}.vec", key);
  if (auto stored = read_vectors(file, key, texts.size())) return *std::move(stored);
  auto vectors = embedder.embed(texts);
  if (!vectors) return vectors;
  write_vectors(file, key, *vectors);
  return vectors;
}

}  // namespace chela::infer
