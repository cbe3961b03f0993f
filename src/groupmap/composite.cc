// wavelet, permuted: an unordered group as its set, in any encoding of ordered groups, and the
// permutation from group rank to position in the set. A group that re-ranks another
// (share_permuted) has for its set the other's stored form as it is, ordered or not.
//
//   select(i) = set.select(pi(i))         rank(w) = pi^-1(set.rank(w))
//
//   wavelet   pi as a wavelet tree on runs (wavelet.h): n*H bits; pays when the runs are few
//   permuted  pi packed, with back pointers (permutation.h): 1.18 log2(n!) bits; pays on groups
//             without any structure, when rank() must not be a scan
//
// When they win over `packed`: wavelet in space, on groups of less than some hundred runs; permuted
// on sparse sets and where rank() is used. Costs: those of set and permutation, and one indirect
// call more.
#include "groupmap/composite.h"

#include <algorithm>
#include <numeric>

#include "groupmap/codec.h"
#include "groupmap/permutation.h"
#include "groupmap/wavelet.h"

namespace fgmpi::groupmap {
namespace {

/// The strategies do not use a wavelet tree with more runs than this, or than size/8 (the paper's
/// preset limit against an explosion of the working memory); by name it may be built up to 2^20.
constexpr int32_t kMaxRuns = 65536;

template <class Permutation>
class CompositeMap final : public GroupMap {
 public:
  CompositeMap(Encoding encoding, MapRef set, Permutation permutation, bool ordered)
      : GroupMap(encoding, set.size(), ordered),
        set_(std::move(set)),
        permutation_(std::move(permutation)) {}

  int32_t select(int32_t i) const override {
    return set_.select(static_cast<int32_t>(permutation_.forward(static_cast<uint32_t>(i))));
  }
  int32_t rank(int32_t w) const override {
    int32_t place = set_.rank(w);
    return place < 0 ? -1
                     : static_cast<int32_t>(permutation_.inverse(static_cast<uint32_t>(place)));
  }
  void ordered_range(int32_t first, int32_t count, int32_t* out) const override {
    set_.ordered_range(first, count, out);
  }
  size_t bytes() const override {
    return sizeof(*this) - sizeof(set_) + set_.bytes() + permutation_.heap_bytes();
  }
  bool validate(std::string* reason) const override {
    // split() has checked the permutation of a map that was built, and read() one that was read.
    if (permutation_.size() != static_cast<uint32_t>(size()))
      return invalid(reason, "set and permutation differ in size");
    return set_.validate(reason);
  }
  void write(ByteWriter& out) const override {
    write_map(set_, out);
    permutation_.write(out);
  }
  const MapRef* base() const override { return &set_; }
  std::string describe() const override {
    return std::string(encoding_name(encoding())) + "(set=" + set_.describe() + ")";
  }

 private:
  MapRef set_;
  Permutation permutation_;
};

/// Sets *set to the ranks in ascending order, and *place to each member's position in it. Returns
/// false when a rank occurs twice.
bool split(std::span<const int32_t> ranks, std::vector<int32_t>* set,
           std::vector<uint32_t>* place) {
  size_t n = ranks.size();
  set->assign(ranks.begin(), ranks.end());
  place->resize(n);
  if (n == 0) return true;
  auto [least, most] = std::minmax_element(ranks.begin(), ranks.end());
  uint64_t span = static_cast<uint64_t>(int64_t{*most} - *least) + 1;
  if (span / 64 <= n) {
    std::vector<uint64_t> words(words_for(span));
    for (int32_t rank : ranks) set_bit(words.data(), static_cast<uint64_t>(rank - *least));
    RankBits bits(std::move(words), span, false);
    if (bits.ones() != n) return false;
    for (size_t i = 0; i < n; ++i) {
      (*place)[i] = bits.rank1(static_cast<uint64_t>(ranks[i] - *least));
      (*set)[(*place)[i]] = ranks[i];
    }
    return true;
  }
  std::sort(set->begin(), set->end());
  if (std::adjacent_find(set->begin(), set->end()) != set->end()) return false;
  for (size_t i = 0; i < n; ++i)
    (*place)[i] =
        static_cast<uint32_t>(std::lower_bound(set->begin(), set->end(), ranks[i]) - set->begin());
  return true;
}

/// An upper bound for the set's bytes, which needs no sorted ranks.
Cost set_cost(const Stats& stats) {
  if (stats.span() == stats.size) return {0, 1};
  double sparse = EliasFano::expected_bytes(stats.size, static_cast<double>(stats.span()));
  double missing =
      EliasFano::expected_bytes(static_cast<double>(stats.span() - stats.size), stats.size);
  return {300 + std::min(sparse, missing), 12};
}

std::optional<Cost> estimate_wavelet(const Stats& stats) {
  int32_t limit = std::min(kMaxRuns, std::max(16, stats.size / 8));
  if (stats.ordered || stats.ascending_runs > limit) return std::nullopt;
  Cost set = set_cost(stats);
  double bytes = sizeof(MapRef) + sizeof(CompositeMap<WaveletTree>) + set.bytes +
                 WaveletTree::expected_bytes(stats.size, stats.run_entropy, stats.ascending_runs);
  return Cost{bytes, 10 + set.select_ns + stats.run_entropy * (24 + memory_ns(bytes))};
}

std::optional<Cost> estimate_permuted(const Stats& stats) {
  if (stats.ordered) return std::nullopt;
  Cost set = set_cost(stats);
  double bytes = sizeof(MapRef) + sizeof(CompositeMap<PackedPermutation>) + set.bytes +
                 PackedPermutation::expected_bytes(stats.size);
  return Cost{bytes, 4 + set.select_ns + memory_ns(bytes)};
}

template <class Permutation>
const GroupMap* make(Encoding encoding, std::span<const int32_t> ranks,
                     const Strategy& set_strategy, std::string* why) {
  std::vector<int32_t> set;
  std::vector<uint32_t> place;
  if (!split(ranks, &set, &place)) {
    invalid(why, "a rank occurs twice");
    return nullptr;
  }
  MapRef set_map;
  Status status = build(set, set_strategy, &set_map);
  if (!status.ok()) {
    invalid(why, "%s", status.what().c_str());
    return nullptr;
  }
  bool ordered = std::is_sorted(place.begin(), place.end());
  return new CompositeMap<Permutation>(encoding, std::move(set_map), Permutation(place), ordered);
}

const GroupMap* build_wavelet(std::span<const int32_t> ranks, const Stats& stats,
                              std::string* why) {
  if (stats.ascending_runs > 1 << 20) {
    invalid(why, "it has %d ascending runs", stats.ascending_runs);
    return nullptr;
  }
  return make<WaveletTree>(Encoding::wavelet, ranks, Strategy::space(), why);
}

const GroupMap* build_permuted(std::span<const int32_t> ranks, const Stats&, std::string* why) {
  return make<PackedPermutation>(Encoding::permuted, ranks, Strategy::space(), why);
}

template <class Permutation, Encoding encoding>
const GroupMap* read_composite(ByteReader& in, int32_t size, int depth) {
  std::optional<MapRef> set = read_map(in, nullptr, depth + 1);
  if (!set || set->size() != size) return nullptr;
  Permutation permutation = Permutation::read(in, static_cast<uint32_t>(size));
  if (in.failed()) return nullptr;
  bool ordered = true;
  int32_t before = -1;
  for (uint32_t i = 0; i < permutation.size() && ordered; ++i) {
    int32_t next = set->select(static_cast<int32_t>(permutation.forward(i)));
    ordered = next > before;
    before = next;
  }
  return new CompositeMap<Permutation>(encoding, std::move(*set), std::move(permutation), ordered);
}

}  // namespace

Status build_composite(Encoding permutation, std::span<const int32_t> ranks,
                       const Strategy& set_strategy, MapRef* out) {
  std::string why;
  const GroupMap* map = permutation == Encoding::wavelet
                            ? make<WaveletTree>(permutation, ranks, set_strategy, &why)
                            : make<PackedPermutation>(permutation, ranks, set_strategy, &why);
  if (!map) return error(kErrArg, "%s", why.c_str());
  *out = MapRef(map);
  return Status();
}

Status share_permuted(const MapRef& parent, std::span<const int32_t> ranks, MapRef* out) {
  FGMPI_CHECK(parent.shape() == Shape::kStored);
  const MapRef* base = parent.stored()->base();
  MapRef set = base ? *base : parent;
  std::vector<int32_t> members, theirs;
  std::vector<uint32_t> place, base_place;
  if (!split(ranks, &members, &place)) return error(kErrArg, "a rank occurs twice");
  if (!split(set.expand(), &theirs, &base_place) || members != theirs)
    return error(kErrArg, "%zu ranks are not the %d members of the group that they permute",
                 ranks.size(), set.size());
  // Converts positions in ascending order to positions in the set's own order.
  std::vector<uint32_t> at(place.size());
  for (size_t i = 0; i < at.size(); ++i) at[base_place[i]] = static_cast<uint32_t>(i);
  for (uint32_t& p : place) p = at[p];
  bool ordered = std::is_sorted(ranks.begin(), ranks.end());
  *out = MapRef(new CompositeMap<PackedPermutation>(Encoding::permuted, std::move(set),
                                                    PackedPermutation(place), ordered));
  return Status();
}

extern const EncodingInfo encoding_wavelet = {
    Encoding::wavelet, "wavelet",
    estimate_wavelet,  false,
    build_wavelet,     read_composite<WaveletTree, Encoding::wavelet>};
extern const EncodingInfo encoding_permuted = {
    Encoding::permuted, "permuted",
    estimate_permuted,  false,
    build_permuted,     read_composite<PackedPermutation, Encoding::permuted>};

}  // namespace fgmpi::groupmap
