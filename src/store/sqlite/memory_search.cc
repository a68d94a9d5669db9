#include "store/sqlite/memory_search.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/limits.h"
#include "base/strings.h"

namespace chela::store::sqlite {
namespace {

constexpr double kSaturation = 1.2;     // BM25's k1: how soon more of the same word stops to count
constexpr double kLengthWeight = 0.75;  // BM25's b: how much a long chunk must say more

struct Owners {
  std::vector<std::int64_t> numbers;
  double chunks = 0;
};

// A chunk that has at least one of the terms: its words, then how often it has each term.
struct Match {
  std::int64_t chunk;
  std::vector<std::uint32_t> counts;
  double rank = 0;
};

// Any text as one string of the query language. A NUL would end the query.
std::string quoted(std::string term) {
  std::ranges::replace(term, '\0', ' ');
  return "\"" + strings::replace_all(std::move(term), "\"", "\"\"") + "\"";
}

Result<Owners> owners_of(Connection& db, const Scope& scope) {
  Owners owners;
  Result<> read =
      db.each("SELECT id, chunks FROM memory_owners WHERE realm = ? AND user_id = ? AND agent IN ('', ?)",
              {scope.realm, scope.user, scope.agent}, [&](const Row& row) {
                owners.numbers.push_back(row.integer(0));
                owners.chunks += static_cast<double>(row.integer(1));
              });
  if (!read) return fail(std::move(read.error()));
  return owners;
}

// owner : ("3" OR "8") AND content : ("first" OR "second")
std::string query_text(const Owners& owners, const std::vector<std::string>& terms) {
  std::vector<std::string> who;
  for (const std::int64_t number : owners.numbers) who.push_back(fmt::format("\"{}\"", number));
  std::vector<std::string> what;
  for (const std::string& term : terms) what.push_back(quoted(term));
  return fmt::format("owner : ({}) AND content : ({})", strings::join(who, " OR "),
                     strings::join(what, " OR "));
}

Result<std::vector<Match>> find_matches(Connection& db, const Owners& owners,
                                        const std::vector<std::string>& terms) {
  const size_t owner_phrases = owners.numbers.size();
  return db.all("SELECT rowid, chela_hits(chunks_text) FROM chunks_text WHERE chunks_text MATCH ?",
                {query_text(owners, terms)}, [&](const Row& row) {
                  const std::string_view blob = row.view(1);
                  std::vector<std::uint32_t> counts(blob.size() / sizeof(std::uint32_t));
                  std::memcpy(counts.data(), blob.data(), counts.size() * sizeof(std::uint32_t));
                  counts.erase(counts.begin() + 1,
                               counts.begin() + 1 + static_cast<std::ptrdiff_t>(owner_phrases));
                  return Match{.chunk = row.integer(0), .counts = std::move(counts)};
                });
}

void rank(std::vector<Match>& matches, double chunks) {
  const size_t terms = matches.front().counts.size() - 1;
  double words = 0;
  std::vector<double> matching(terms, 0);  // chunks that have the term
  for (const Match& match : matches) {
    words += match.counts[0];
    for (size_t t = 0; t < terms; ++t) matching[t] += match.counts[1 + t] > 0 ? 1 : 0;
  }
  const double usual = std::max(1.0, words / static_cast<double>(matches.size()));
  for (Match& match : matches) {
    const double length = 1 - kLengthWeight + kLengthWeight * match.counts[0] / usual;
    for (size_t t = 0; t < terms; ++t) {
      const double count = match.counts[1 + t];
      const double rarity = std::log(1 + (chunks - matching[t] + 0.5) / (matching[t] + 0.5));
      match.rank += rarity * count * (kSaturation + 1) / (count + kSaturation * length);
    }
  }
}

// Chunks that went away since cannot be: the caller reads one snapshot.
Result<std::optional<ChunkHit>> load(Connection& db, const Scope& scope, const Match& match) {
  return db.one(
      "SELECT d.id, d.path, c.content, c.chunk_index FROM chunks c JOIN documents d ON d.number = c.document"
      " WHERE c.number = ? AND d.realm = ? AND d.user_id = ? AND d.agent IN ('', ?)",
      {match.chunk, scope.realm, scope.user, scope.agent}, [&](const Row& row) {
        return ChunkHit{.document_id = row.text(0),
                        .path = row.text(1),
                        .content = row.text(2),
                        .chunk_index = row.integer(3),
                        .rank = match.rank};
      });
}

}  // namespace

Result<std::vector<ChunkHit>> search_chunks(Connection& db, const Scope& scope,
                                            std::vector<std::string> terms, std::size_t limit) {
  std::vector<ChunkHit> hits;
  if (terms.empty() || limit == 0) return hits;
  if (terms.size() > kMaxSearchTerms) terms.resize(kMaxSearchTerms);
  const Result<Snapshot> snapshot = Snapshot::begin(db);
  if (!snapshot) return fail(snapshot.error());
  const Result<Owners> owners = owners_of(db, scope);
  if (!owners) return fail(owners.error());
  if (owners->numbers.empty()) return hits;
  Result<std::vector<Match>> matches = find_matches(db, *owners, terms);
  if (!matches) return fail(std::move(matches.error()));
  if (matches->empty()) return hits;
  rank(*matches, owners->chunks);
  const auto kept = static_cast<std::ptrdiff_t>(std::min(limit, matches->size()));
  // Equal ranks: what was written first. Answers must not change from call to call.
  std::ranges::partial_sort(*matches, matches->begin() + kept, [](const Match& a, const Match& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.chunk < b.chunk;
  });
  for (auto match = matches->begin(); match != matches->begin() + kept; ++match) {
    Result<std::optional<ChunkHit>> hit = load(db, scope, *match);
    if (!hit) return fail(std::move(hit.error()));
    if (*hit) hits.push_back(std::move(**hit));
  }
  return hits;
}

}  // namespace chela::store::sqlite
