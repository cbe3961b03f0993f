// The strategies (section 6 of the paper, extended): one pass of statistics, an estimate from each
// encoding, a choice. docs/measurements.md has a table of what is chosen when, and why.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "groupmap/codec.h"

namespace fgmpi::groupmap {

#define FGMPI_ENCODING(id, name) extern const EncodingInfo encoding_##name;
#include "groupmap/encodings.def"
#undef FGMPI_ENCODING

namespace {

const EncodingInfo* const kInfos[] = {
#define FGMPI_ENCODING(id, name) &encoding_##name,
#include "groupmap/encodings.def"
#undef FGMPI_ENCODING
};

/// Under hybrid, a select may take at most this many times the array's.
constexpr double kHybridSlowdown = 3;
/// Under space, encodings whose estimates are within this factor of the least are built and
/// compared.
constexpr double kSpaceSlack = 1.25;

struct EncodingCandidate {
  const EncodingInfo* info;
  Cost cost;
};

std::vector<EncodingCandidate> candidates(const Stats& stats) {
  std::vector<EncodingCandidate> all;
  for (const EncodingInfo* info : kInfos)
    if (std::optional<Cost> cost = info->estimate(stats)) all.push_back({info, *cost});
  return all;
}

template <class Key>
const EncodingCandidate& least(const std::vector<EncodingCandidate>& all, Key key) {
  return *std::min_element(all.begin(), all.end(),
                           [&](const EncodingCandidate& a, const EncodingCandidate& b) {
                             return key(a.cost) < key(b.cost);
                           });
}

/// The smallest of the candidates that are fast enough.
const EncodingCandidate& hybrid_choice(const std::vector<EncodingCandidate>& all,
                                       const Stats& stats) {
  double allowed = kHybridSlowdown * encoding_info(Encoding::array)->estimate(stats)->select_ns;
  return least(all,
               [&](const Cost& cost) { return cost.select_ns <= allowed ? cost.bytes : HUGE_VAL; });
}

/// The group that is to be stored, as ranks, or only as the pieces in the statistics. The pieces
/// are expanded when an encoding first needs the ranks.
class Input {
 public:
  Input(std::span<const int32_t> ranks, const Stats& stats) : stats(stats), ranks_(ranks) {}

  MapRef build(const EncodingInfo* info, std::string* why = nullptr) {
    if (!(info->from_pieces && stats.pieces_complete)) expand();
    const GroupMap* map = info->build(ranks_, stats, why);
    return map ? MapRef(map) : MapRef();
  }
  bool complete(const MapRef& map) const { return map.size() == stats.size; }

  const Stats& stats;

 private:
  void expand() {
    if (!ranks_.empty()) return;
    expanded_ = groupmap::expand(stats.pieces, stats.size);
    ranks_ = expanded_;
  }

  std::span<const int32_t> ranks_;
  std::vector<int32_t> expanded_;
};

/// Builds all candidates that may be the smallest and returns the smallest of them.
MapRef smallest(std::vector<EncodingCandidate> all, Input& input) {
  std::stable_sort(all.begin(), all.end(),
                   [](const EncodingCandidate& a, const EncodingCandidate& b) {
                     return a.cost.bytes < b.cost.bytes;
                   });
  MapRef best;
  for (const EncodingCandidate& candidate : all) {
    bool have = input.complete(best);
    if (have && candidate.cost.bytes > kSpaceSlack * static_cast<double>(best.bytes())) break;
    MapRef map = input.build(candidate.info);
    if (input.complete(map) && (!have || map.bytes() < best.bytes())) best = std::move(map);
  }
  return best;
}

MapRef choose(Input& input, Strategy::Goal goal) {
  if (input.stats.regular) return MapRef(input.stats.shape);
  std::vector<EncodingCandidate> all = candidates(input.stats);
  if (goal == Strategy::Goal::kSpace) return smallest(std::move(all), input);
  const EncodingCandidate& choice =
      goal == Strategy::Goal::kTime ? least(all, [](const Cost& cost) { return cost.select_ns; })
                                    : hybrid_choice(all, input.stats);
  MapRef map = input.build(choice.info);
  // An encoding may find only while building that a group exceeds its limits; the array has none.
  return input.complete(map) ? map : input.build(encoding_info(Encoding::array));
}

Status build(Input input, const Strategy& strategy, MapRef* out) {
  const Stats& stats = input.stats;
  if (stats.negative)
    return error(kErrRank, "group has world rank %d; allowed is 0 to 2^31-1", stats.min);
  if (strategy.goal != Strategy::Goal::kNamed) {
    *out = choose(input, strategy.goal);
    return Status();
  }
  std::string why;
  const EncodingInfo* info = encoding_info(strategy.encoding);
  MapRef map = input.build(info, &why);
  if (!input.complete(map))
    return error(kErrArg, "group of %d members cannot be stored as %s: %s", stats.size, info->name,
                 why.c_str());
  *out = std::move(map);
  return Status();
}

}  // namespace

const EncodingInfo* encoding_info(Encoding encoding) {
  for (const EncodingInfo* info : kInfos)
    if (info->encoding == encoding) return info;
  return nullptr;
}

const char* encoding_name(Encoding encoding) {
  const EncodingInfo* info = encoding_info(encoding);
  return info ? info->name : "?";
}

std::span<const Encoding> all_encodings() {
  static const std::vector<Encoding> all = [] {
    std::vector<Encoding> encodings;
    for (const EncodingInfo* info : kInfos)
      if (!info->lacks) encodings.push_back(info->encoding);
    return encodings;
  }();
  return all;
}

Status parse_strategy(std::string_view text, Strategy* out) {
  for (Strategy fixed : {Strategy::space(), Strategy::time(), Strategy::hybrid()}) {
    if (text != strategy_name(fixed)) continue;
    *out = fixed;
    return Status();
  }
  std::string allowed = "space, time, hybrid", lacks;
  for (const EncodingInfo* info : kInfos) {
    if (text == info->name && info->lacks) {
      lacks = format("this build has no %s; ", info->lacks);
    } else if (text == info->name) {
      *out = Strategy::named(info->encoding);
      return Status();
    }
    if (!info->lacks) allowed += std::string(", ") + info->name;
  }
  return error(kErrArg, "group map strategy \"%.*s\": %sallowed is %s",
               static_cast<int>(text.size()), text.data(), lacks.c_str(), allowed.c_str());
}

std::string strategy_name(const Strategy& strategy) {
  switch (strategy.goal) {
    case Strategy::Goal::kSpace:
      return "space";
    case Strategy::Goal::kTime:
      return "time";
    case Strategy::Goal::kHybrid:
      return "hybrid";
    case Strategy::Goal::kNamed:
      break;
  }
  return encoding_name(strategy.encoding);
}

Status build(std::span<const int32_t> ranks, const Strategy& strategy, MapRef* out) {
  if (ranks.size() > INT32_MAX)
    return error(kErrArg, "group of %zu members: allowed is up to 2^31-1", ranks.size());
  Stats stats = gather(ranks);
  return build(Input(ranks, stats), strategy, out);
}

Status build(std::span<const Piece> pieces, int32_t size, const Strategy& strategy, MapRef* out) {
  Stats stats = gather(pieces, size);
  return build(Input({}, stats), strategy, out);
}

Status build_as(Encoding encoding, std::span<const int32_t> ranks, MapRef* out) {
  return build(ranks, Strategy::named(encoding), out);
}

std::vector<Estimate> estimates(std::span<const int32_t> ranks) {
  std::vector<Estimate> all;
  for (const EncodingCandidate& candidate : candidates(gather(ranks)))
    all.push_back({candidate.info->encoding, candidate.cost});
  return all;
}

double memory_ns(double bytes) {
  // Latency of near, middle and far caches as measured on the reference machine
  // (docs/measurements.md).
  if (bytes <= 40e3) return 1;
  if (bytes <= 900e3) return 3;
  return bytes <= 24e6 ? 8 : 60;
}

}  // namespace fgmpi::groupmap
