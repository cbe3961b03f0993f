// groupmap: stores maps from group rank to world rank, in the smallest or the fastest form.
//
// A group of n members is the map select: 0..n-1 -> world rank, one to one; rank is its inverse.
// The map's form (an encoding: array, runs, Elias-Fano, a set plus a permutation, ...) is chosen
// when the map is built, by a strategy: space, time, hybrid, or one encoding by name. The framework
// is that of sections 5 to 7 of Kamal, Mirtaheri, Wagner, "Scalability of Communicators and Groups
// in MPI", HPDC 2010, with encodings of our own.
//
//   MapRef   a handle, 40 bytes, copied freely. The handle holds maps from direct to stride and
//            evaluates them in line; for an array it holds a pointer to the table, read in line as
//            well. It also holds a blockstride, and points to an md-blockstride: a select in these
//            costs one call. In every other encoding a select costs one call and an indirect one.
//   GroupMap the stored form behind a MapRef: immutable, reference counted, one class an encoding.
//   Reader   one user's cache for a map that is decoded in blocks (BWT); for other maps it calls
//            select.
// Thread rule: one thread. Reference counts are not atomic; nothing here switches proclets.
// Invariants: world ranks are 0 .. 2^31-1 and distinct; a map never changes once built; select of a
// rank outside 0..size-1 is not checked (callers check users' ranks); rank takes any number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/status.h"
#include "groupmap/regular.h"

namespace fgmpi::groupmap {

/// The encoding of a map; the value is its id on the wire.
enum class Encoding : uint8_t {
#define FGMPI_ENCODING(id, name) name = id,
#include "groupmap/encodings.def"
#undef FGMPI_ENCODING
};

/// The name of an encoding as strategies and tables spell it.
const char* encoding_name(Encoding encoding);
/// Every encoding, in the order of preference.
std::span<const Encoding> all_encodings();

/// How a map is stored. docs/measurements.md has the measurements of the costs that the strategies
/// compare.
struct Strategy {
  enum class Goal : uint8_t { kSpace, kTime, kHybrid, kNamed };
  Goal goal = Goal::kHybrid;
  Encoding encoding = Encoding::array;  // for kNamed

  static Strategy space() { return {Goal::kSpace}; }
  static Strategy time() { return {Goal::kTime}; }
  static Strategy hybrid() { return {Goal::kHybrid}; }
  static Strategy named(Encoding encoding) { return {Goal::kNamed, encoding}; }
  bool operator==(const Strategy&) const = default;
};

/// Reads "space", "time", "hybrid" or the name of an encoding. Errors: MPI_ERR_ARG, with the value
/// and what is allowed.
Status parse_strategy(std::string_view text, Strategy* out);
std::string strategy_name(const Strategy& strategy);

/// A difference has the members of the first group that the second lacks.
enum class SetOperation { kUnion, kIntersection, kDifference };

class ByteWriter;  // codec.h
class BlockCache;  // bwt.h
class MapRef;

/// The stored form of a group that is not regular, or of a regular one where speed does not matter.
class GroupMap {
 public:
  GroupMap(const GroupMap&) = delete;
  GroupMap& operator=(const GroupMap&) = delete;
  virtual ~GroupMap() = default;

  int32_t size() const { return size_; }
  Encoding encoding() const { return encoding_; }
  /// True where select rises with the group rank (the paper's "ordered" group).
  bool ordered() const { return ordered_; }

  /// The world rank of group rank i. REQUIRES: 0 <= i < size().
  virtual int32_t select(int32_t i) const = 0;
  /// The group rank of world rank w, or -1 when w is not a member.
  virtual int32_t rank(int32_t w) const = 0;
  /// Sets out[k] = select(first + k) for k < count. REQUIRES: the range is within 0..size().
  virtual void select_range(int32_t first, int32_t count, int32_t* out) const;
  /// Sets out[k] to the (first + k)-th smallest world rank of the group.
  virtual void ordered_range(int32_t first, int32_t count, int32_t* out) const;
  /// Bytes of memory, the object included, and a block for a cache whether there is a cache or not.
  virtual size_t bytes() const = 0;
  /// True where the structure is valid and select and rank agree; otherwise *reason is set. Costs
  /// O(n log n) at most.
  virtual bool validate(std::string* reason) const = 0;
  /// The body of the wire form, without the frame that MapRef::serialize puts around it.
  virtual void write(ByteWriter& out) const = 0;
  /// True where select decodes a block of many ranks, which a cache then saves.
  virtual bool block_wise() const { return false; }
  /// select() through a cache of the caller's; only block-wise encodings differ from select().
  virtual int32_t select_cached(int32_t i, BlockCache& cache) const;
  /// Appends the group, in rank order, as pieces, when the encoding has them without expanding.
  virtual bool pieces(std::vector<Piece>& out) const;
  /// Combines this map with one in the same encoding, without expanding them: sets *out to the
  /// combined set, in ascending order. Returns false where this encoding cannot, or not these two.
  virtual bool combine(const GroupMap& other, SetOperation operation, MapRef* out) const;
  /// The world ranks as a plain table that lives as long as the map, where there is one: handles
  /// then read it without a call.
  virtual const int32_t* table() const { return nullptr; }
  /// The map that this one permutes, where this one consists of a map and a permutation; others may
  /// share that map.
  virtual const MapRef* base() const { return nullptr; }
  /// The map's structure, for users: "composite(set=runs, perm=wavelet)".
  virtual std::string describe() const;

 protected:
  GroupMap(Encoding encoding, int32_t size, bool ordered)
      : size_(size), encoding_(encoding), ordered_(ordered) {}

 private:
  friend class MapRef;
  mutable uint32_t references_ = 0;
  int32_t size_;
  Encoding encoding_;
  bool ordered_;
};

/// A regular map as an object: md-blockstride handles point to one, and code that is not hot may
/// make one of any regular map.
class RegularMap final : public GroupMap {
 public:
  explicit RegularMap(const Regular& shape);
  int32_t select(int32_t i) const override { return eval.select(i); }
  int32_t rank(int32_t w) const override { return eval.rank(w); }
  void select_range(int32_t first, int32_t count, int32_t* out) const override;
  void ordered_range(int32_t first, int32_t count, int32_t* out) const override;
  size_t bytes() const override { return sizeof(*this); }
  bool validate(std::string* reason) const override;
  void write(ByteWriter& out) const override;
  bool pieces(std::vector<Piece>& out) const override;
  std::string describe() const override;

  const RegularEval eval;
};

/// A group: the handle that all users hold. Default: the empty group.
class MapRef {
 public:
  MapRef() = default;
  /// REQUIRES: shape.validate().
  explicit MapRef(const Regular& shape);
  /// Adds a reference to `map`. REQUIRES: map != nullptr.
  explicit MapRef(const GroupMap* map);
  MapRef(const MapRef& other) { copy(other); }
  MapRef(MapRef&& other) noexcept { swap(other); }
  MapRef& operator=(MapRef other) noexcept {
    swap(other);
    return *this;
  }
  ~MapRef() { release(); }
  void swap(MapRef& other) noexcept;

  int32_t size() const { return size_; }
  Shape shape() const { return shape_; }

  /// The world rank of group rank i; no call for direct, offset, stride and arrays. REQUIRES:
  /// 0 <= i < size().
  int32_t select(int32_t i) const {
    FGMPI_ASSERT(i >= 0 && i < size_);
    // One comparison of one byte in memory with 0 decides the two most common cases.
    if (__builtin_expect(way_ < 0, 1)) return offset_ + i;
    if (way_ == kTable) return extra_.table[i];
    if (__builtin_expect(shape_ == Shape::kStride, 1)) return offset_ + i * stride0_;
    return select_far(i);
  }
  /// True where select(i) is select(0) + i, and found as such.
  bool is_offset() const { return way_ < 0; }
  /// The group rank of world rank w, or -1 when it is not a member. Any w.
  int32_t rank(int32_t w) const;
  bool contains(int32_t w) const { return rank(w) >= 0; }

  /// Sets out[k] = select(first + k). REQUIRES: first >= 0, first + count <= size().
  void select_range(int32_t first, int32_t count, int32_t* out) const;
  /// As select_range(), in ascending order of world rank, whatever the group's own order.
  void ordered_range(int32_t first, int32_t count, int32_t* out) const;
  /// Returns the whole group in rank order.
  std::vector<int32_t> expand() const;

  /// True where select rises with the group rank. Groups of no or one member are ordered.
  bool ordered() const;
  Encoding encoding() const;
  /// "direct" .. "md-blockstride", or the encoding's name with its parts.
  std::string describe() const;
  /// The regular form, if the handle holds one. Maps in other encodings are not examined, even if
  /// they happen to be regular.
  bool as_regular(Regular* out) const;
  /// The stored form, nullptr for direct to blockstride. Lives as long as the handle.
  const GroupMap* stored() const { return map_; }

  /// All memory of this map in bytes: the handle and the stored form.
  size_t bytes() const;
  bool validate(std::string* reason) const;
  /// Appends the wire form: framed, checksummed, little-endian. deserialize() accepts exactly one
  /// such form, checks all of it (structure, not only checksum) and refuses anything else with
  /// MPI_ERR_OTHER.
  void serialize(std::vector<uint8_t>& out) const;
  static Status deserialize(std::span<const uint8_t> bytes, MapRef* out);

  /// As GroupMap::pieces(). A regular map gives one piece for each innermost block.
  bool pieces(std::vector<Piece>& out) const;

  /// True where both handles name the same stored object or the same regular map. The test is
  /// cheap, but it may fail for equal groups; compare() in algebra.h compares groups.
  bool same(const MapRef& other) const;

 private:
  friend class Reader;
  /// How select finds its answer. select's comparisons need these values.
  enum Way : int8_t { kAdd = -1, kTable = 0, kOther = 1 };
  union Extra {
    constexpr Extra() : table(nullptr) {}
    FastDivisor divisor;   // blockstride: divides by count0_
    const int32_t* table;  // stored: GroupMap::table()
  };
  int32_t select_far(int32_t i) const;
  void copy(const MapRef& other);
  void release() {
    if (map_ && --map_->references_ == 0) delete map_;
  }
  std::unique_ptr<RegularMap> regular_object() const;

  int32_t size_ = 0;
  int32_t offset_ = 0;
  int32_t stride0_ = 1;  // 1 for blockstride
  int32_t stride1_ = 0;
  uint32_t count0_ = 0;
  Shape shape_ = Shape::kDirect;
  Way way_ = kAdd;
  Extra extra_;
  const GroupMap* map_ = nullptr;
};
static_assert(sizeof(MapRef) <= 40, "a handle is part of every communicator and group");

/// One user's (a proclet's) access to a map. Caches the block that this user decoded last, so that
/// users of a shared map do not evict each other's blocks. REQUIRES: the map outlives the reader.
class Reader {
 public:
  explicit Reader(const MapRef& map);
  ~Reader();
  int32_t select(int32_t i) {
    if (__builtin_expect(cache_ == nullptr, 1)) return map_.select(i);
    return map_.map_->select_cached(i, *cache_);
  }

 private:
  MapRef map_;
  std::unique_ptr<BlockCache> cache_;
};

/// Stores `ranks` (select(i) = ranks[i]) in the form that the strategy picks. Errors: MPI_ERR_RANK
/// for a negative rank, MPI_ERR_ARG when a named encoding cannot hold this group or only beyond its
/// limits. REQUIRES: no rank occurs twice (not checked here; validate() checks it).
Status build(std::span<const int32_t> ranks, const Strategy& strategy, MapRef* out);
/// Stores a group that the caller gives as pieces. The pieces are expanded only if the chosen
/// encoding needs the ranks. REQUIRES: the first index is 0, indices rise, `size` is past the last.
Status build(std::span<const Piece> pieces, int32_t size, const Strategy& strategy, MapRef* out);
Status build_as(Encoding encoding, std::span<const int32_t> ranks, MapRef* out);

/// The cost of an encoding, estimated before building.
struct Cost {
  double bytes;      // expected; exact to within a few percent unless said otherwise in its file
  double select_ns;  // expected ns of a select on a machine of the 2020s, data in its usual cache
};
struct Estimate {
  Encoding encoding;
  Cost cost;
};
/// The estimates of all encodings that can hold `ranks`, from one pass over the ranks.
std::vector<Estimate> estimates(std::span<const int32_t> ranks);

/// Error classes of this module, with MPICH's numbers; the module itself needs no MPI.
inline constexpr int kErrRank = 6, kErrArg = 12, kErrOther = 15;

}  // namespace fgmpi::groupmap
