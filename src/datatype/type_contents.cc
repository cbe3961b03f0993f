// Type trees from the envelope and the contents of a datatype, which the hosted MPI returns.

#include <algorithm>
#include <cstddef>

#include "datatype/basic_type.h"
#include "datatype/type_tree.h"
#include "host/host.h"

namespace fgmpi::datatype {
namespace {

bool is_predefined(MPI_Datatype type) { return is_basic(type) || pair_index(type) < kPairTypes; }

template <class V>
TypePart pair_of() {
  using Pair = PairOf<V, int>;
  return make_list(
      {make_run(0, sizeof(V)), make_run(static_cast<int64_t>(offsetof(Pair, index)), sizeof(int))});
}

/// The result of MPI_Type_get_contents for a datatype. Counts are in `counts` where a large-count
/// call made the datatype, else in `integers`; displacements likewise.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Datatype> types;
  bool large() const { return !counts.empty(); }

  int read(const host::Api& h, MPI_Datatype type) {
    MPI_Count n_integers, n_addresses, n_counts, n_types;
    int code =
        h.Type_get_envelope_c(type, &n_integers, &n_addresses, &n_counts, &n_types, &combiner);
    if (code != MPI_SUCCESS || combiner == MPI_COMBINER_NAMED) return code;
    integers.resize(n_integers);
    addresses.resize(n_addresses);
    counts.resize(n_counts);
    types.resize(n_types);
    return h.Type_get_contents_c(type, n_integers, n_addresses, n_counts, n_types, integers.data(),
                                 addresses.data(), counts.data(), types.data());
  }
  /// Count number i, in the order of the constructor's arguments.
  int64_t count(size_t i) const { return large() ? counts[i] : int64_t{integers[i]}; }
  /// Displacement number i in bytes. The large-count constructors have displacements among their
  /// counts, behind `before` others.
  int64_t address(size_t i, size_t before) const {
    return large() ? counts[before + i] : addresses[i];
  }
};

bool is_made_by_f90(int combiner) {
  return combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX;
}

/// Frees types that Contents::read() has returned.
void release_all(const host::Api& h, std::vector<MPI_Datatype>* types) {
  for (MPI_Datatype& type : *types) {
    if (is_predefined(type)) continue;
    MPI_Count a, b, c, d;
    int combiner;
    if (h.Type_get_envelope_c(type, &a, &b, &c, &d, &combiner) == MPI_SUCCESS &&
        combiner != MPI_COMBINER_NAMED && !is_made_by_f90(combiner))
      h.Type_free(&type);
  }
}

/// Lower and upper bound of an element (MPI-4.0 section 5.1).
struct Bounds {
  int64_t low = 0, high = 0;
};

class Flattener {
 public:
  Flattener(const host::Api* h, const PlacedSizes* sizes) : h_(h), sizes_(sizes) {}

  MPI_Datatype element = MPI_DATATYPE_NULL;  ///< the first predefined type that occurs
  bool several = false;                      ///< other predefined types occur, too

  /// Makes the tree of one element at offset 0. Returns the host's code.
  int make(MPI_Datatype type, TypePart* out) {
    if (is_predefined(type)) {
      *out = predefined(type);
      return MPI_SUCCESS;
    }
    Contents c;
    if (int code = c.read(*h_, type); code != MPI_SUCCESS) return code;
    if (c.combiner == MPI_COMBINER_NAMED || is_made_by_f90(c.combiner))
      return make_of_precision(type, c.combiner, out);
    const int code = make_constructed(c, out);
    release_all(*h_, &c.types);
    return code;
  }
  /// The distance from one element to the next.
  int64_t extent(MPI_Datatype type) {
    if (sizes_) {
      const Bounds b = placed_bounds(type);
      return b.high - b.low;
    }
    if (is_basic(type)) return basic_size(type);
    MPI_Count lb, extent;
    h_->Type_get_extent_x(type, &lb, &extent);
    return extent;
  }

 private:
  void made_of(MPI_Datatype type) {
    if (element == MPI_DATATYPE_NULL) element = type;
    several |= element != type;
  }
  TypePart predefined(MPI_Datatype type) {
    if (is_basic(type) && basic_size(type) == 0) return {};  // a marker of a bound
    made_of(type);
    if (sizes_) return make_run(0, sizes_->at(type));
    switch (pair_index(type)) {
      case 0:
        return pair_of<float>();
      case 1:
        return pair_of<double>();
      case 2:
        return pair_of<long>();
      case 3:
        return pair_of<short>();
      case 4:
        return pair_of<long double>();
      default:
        return make_run(0, basic_size(type));
    }
  }
  /// Makes the tree of a type of MPI_Type_create_f90_integer or a similar call, which consists of
  /// the predefined type of its size. Its own handle is different in each process.
  int make_of_precision(MPI_Datatype type, int combiner, TypePart* out) {
    MPI_Count size;
    int code = h_->Type_size_x(type, &size);
    if (code != MPI_SUCCESS) return code;
    const MPI_Datatype sized = type_of_precision(combiner, size);
    made_of(sized == MPI_DATATYPE_NULL ? type : sized);
    *out = make_run(0, size);
    return MPI_SUCCESS;
  }
  int make_struct(const Contents& c, TypePart* out) {
    const int64_t n = c.count(0);
    std::vector<TypePart> parts;
    for (int64_t i = 0; i < n; ++i) {
      if (c.count(1 + i) == 0) continue;
      TypePart one;
      if (int code = make(c.types[i], &one); code != MPI_SUCCESS) return code;
      parts.push_back(
          moved(make_loop(one, c.count(1 + i), extent(c.types[i])), c.address(i, 1 + n)));
    }
    *out = make_list(parts);
    return MPI_SUCCESS;
  }
  /// The bounds of an element where predefined types have the sizes of `sizes_`.
  Bounds placed_bounds(MPI_Datatype type) {
    Contents c;
    if (is_predefined(type)) {
      auto found = sizes_->find(type);
      return {0, found == sizes_->end() ? 0 : found->second};
    }
    if (c.read(*h_, type) != MPI_SUCCESS) return {};
    if (c.combiner == MPI_COMBINER_NAMED || is_made_by_f90(c.combiner)) {
      MPI_Count size = 0;
      h_->Type_size_x(type, &size);
      return {0, size};
    }
    const Bounds bounds = c.combiner == MPI_COMBINER_RESIZED
                              ? Bounds{c.address(0, 0), c.address(0, 0) + c.address(1, 0)}
                              : bounds_of(c);
    release_all(*h_, &c.types);
    return bounds;
  }
  Bounds bounds_of(const Contents& c) {
    Bounds all;
    bool first = true;
    if (c.types.empty()) return all;
    Bounds one = placed_bounds(c.types[0]);
    auto add = [&](int64_t length, int64_t at) {
      if (length == 0) return;
      const int64_t last = (length - 1) * (one.high - one.low);
      const Bounds block{at + one.low + std::min<int64_t>(last, 0),
                         at + one.high + std::max<int64_t>(last, 0)};
      all = first ? block : Bounds{std::min(all.low, block.low), std::max(all.high, block.high)};
      first = false;
    };
    const int64_t step = one.high - one.low;
    if (c.combiner == MPI_COMBINER_SUBARRAY || c.combiner == MPI_COMBINER_DARRAY) {
      add(array_elements(c), 0);
      return all;
    }
    const bool dup = c.combiner == MPI_COMBINER_DUP;
    const int64_t n = dup ? 1 : c.count(0);
    if (dup || c.combiner == MPI_COMBINER_CONTIGUOUS) add(n, 0);
    for (int64_t i = 0; i < n; ++i) {
      switch (c.combiner) {
        case MPI_COMBINER_VECTOR:
          if (i == 0 || i == n - 1) add(c.count(1), i * c.count(2) * step);
          break;
        case MPI_COMBINER_HVECTOR:
          if (i == 0 || i == n - 1) add(c.count(1), i * c.address(0, 2));
          break;
        case MPI_COMBINER_INDEXED:
          add(c.count(1 + i), c.count(1 + n + i) * step);
          break;
        case MPI_COMBINER_HINDEXED:
          add(c.count(1 + i), c.address(i, 1 + n));
          break;
        case MPI_COMBINER_INDEXED_BLOCK:
          add(c.count(1), c.count(2 + i) * step);
          break;
        case MPI_COMBINER_HINDEXED_BLOCK:
          add(c.count(1), c.address(i, 2));
          break;
        case MPI_COMBINER_STRUCT:
          one = placed_bounds(c.types[i]);
          add(c.count(1 + i), c.address(i, 1 + n));
          break;
        default:
          return all;
      }
    }
    return all;
  }
  /// The number of elements of the whole array that contains a subarray or a distributed array.
  static int64_t array_elements(const Contents& c) {
    int64_t all = 1;
    const bool sub = c.combiner == MPI_COMBINER_SUBARRAY;
    const auto dims = static_cast<size_t>(c.integers[sub ? 0 : 2]);
    for (size_t d = 0; d < dims; ++d)
      all *= c.large() ? int64_t{c.counts[d]} : int64_t{c.integers[(sub ? 1 : 3) + d]};
    return all;
  }
  static TypePart moved(TypePart part, int64_t by) {
    part.offset += by;
    return part;
  }
  int make_constructed(const Contents& c, TypePart* out) {
    if (c.types.empty()) return MPI_SUCCESS;  // a structure of nothing
    if (c.combiner == MPI_COMBINER_STRUCT) return make_struct(c, out);
    TypePart one;
    if (int code = make(c.types[0], &one); code != MPI_SUCCESS) return code;
    const int64_t step = extent(c.types[0]);
    auto blocks = [&](int64_t count, auto&& length, auto&& offset) {
      std::vector<TypePart> parts;
      for (int64_t i = 0; i < count; ++i)
        parts.push_back(moved(make_loop(one, length(i), step), offset(i)));
      *out = make_list(parts);
    };
    const int64_t n = c.combiner == MPI_COMBINER_DUP || c.combiner == MPI_COMBINER_RESIZED ||
                              c.combiner == MPI_COMBINER_DARRAY
                          ? 0
                          : c.count(0);
    switch (c.combiner) {
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED:
        *out = one;
        return MPI_SUCCESS;
      case MPI_COMBINER_CONTIGUOUS:
        *out = make_loop(one, n, step);
        return MPI_SUCCESS;
      case MPI_COMBINER_VECTOR:
        *out = make_loop(make_loop(one, c.count(1), step), n, c.count(2) * step);
        return MPI_SUCCESS;
      case MPI_COMBINER_HVECTOR:
        *out = make_loop(make_loop(one, c.count(1), step), n, c.address(0, 2));
        return MPI_SUCCESS;
      case MPI_COMBINER_INDEXED:
        blocks(
            n, [&](int64_t i) { return c.count(1 + i); },
            [&](int64_t i) { return c.count(1 + n + i) * step; });
        return MPI_SUCCESS;
      case MPI_COMBINER_HINDEXED:
        blocks(
            n, [&](int64_t i) { return c.count(1 + i); },
            [&](int64_t i) { return c.address(i, 1 + n); });
        return MPI_SUCCESS;
      case MPI_COMBINER_INDEXED_BLOCK:
        blocks(
            n, [&](int64_t) { return c.count(1); },
            [&](int64_t i) { return c.count(2 + i) * step; });
        return MPI_SUCCESS;
      case MPI_COMBINER_HINDEXED_BLOCK:
        blocks(
            n, [&](int64_t) { return c.count(1); }, [&](int64_t i) { return c.address(i, 2); });
        return MPI_SUCCESS;
      case MPI_COMBINER_SUBARRAY:
        *out = subarray(c, one, step);
        return MPI_SUCCESS;
      case MPI_COMBINER_DARRAY:
        *out = darray(c, one, step);
        return MPI_SUCCESS;
      default:
        return MPI_ERR_TYPE;
    }
  }
  /// The elements of an array whose index in each dimension is in one of the runs of that
  /// dimension. The first dimension varies slowest (in C's order).
  static TypePart grid(TypePart one, int order, std::vector<int64_t> sizes,
                       std::vector<std::vector<TypeRun>> kept, int64_t step) {
    if (order == MPI_ORDER_FORTRAN) {
      std::reverse(sizes.begin(), sizes.end());
      std::reverse(kept.begin(), kept.end());
    }
    for (size_t d = sizes.size(); d-- > 0; step *= sizes[d]) {
      std::vector<TypePart> parts;
      for (const TypeRun& run : kept[d])
        parts.push_back(moved(make_loop(one, run.bytes, step), run.offset * step));
      one = evenly(parts) ? make_loop(parts[0], static_cast<int64_t>(parts.size()),
                                      parts[1].offset - parts[0].offset)
                          : make_list(parts);
    }
    return one;
  }
  /// True for equal blocks at equal distances: a cyclic distribution whose last block is whole.
  static bool evenly(const std::vector<TypePart>& parts) {
    if (parts.size() < 2 || !parts[0].node) return false;
    const int64_t stride = parts[1].offset - parts[0].offset;
    for (size_t i = 1; i < parts.size(); ++i)
      if (!parts[i].node || parts[i].node->size != parts[0].node->size ||
          parts[i].offset - parts[i - 1].offset != stride)
        return false;
    return true;
  }
  static TypePart subarray(const Contents& c, const TypePart& one, int64_t step) {
    const auto dims = static_cast<size_t>(c.integers[0]);
    // With large counts, `counts` has nothing but sizes, subsizes and starts; else these follow the
    // number of dimensions.
    auto value = [&](size_t i) { return c.large() ? c.counts[i] : int64_t{c.integers[1 + i]}; };
    const int order = c.integers.back();
    std::vector<int64_t> sizes;
    std::vector<std::vector<TypeRun>> kept;
    for (size_t d = 0; d < dims; ++d) {
      sizes.push_back(value(d));
      kept.push_back({{value(2 * dims + d), value(dims + d)}});
    }
    return grid(one, order, std::move(sizes), std::move(kept), step);
  }
  /// The blocks of process `me` of `processes`, where blocks of `block` elements are
  /// distributed cyclically.
  static std::vector<TypeRun> dealt(int64_t size, int64_t block, int64_t processes, int64_t me) {
    std::vector<TypeRun> mine;
    for (int64_t first = me * block; first < size; first += processes * block)
      mine.push_back({first, std::min(block, size - first)});
    return mine;
  }
  static TypePart darray(const Contents& c, const TypePart& one, int64_t step) {
    const int64_t size = c.integers[0];
    int64_t rank = c.integers[1];
    const auto dims = static_cast<size_t>(c.integers[2]);
    // With large counts, the global sizes are among the counts.
    const size_t after = c.large() ? 3 : 3 + dims;
    auto distribution = [&](size_t d) { return c.integers[after + d]; };
    auto argument = [&](size_t d) { return c.integers[after + dims + d]; };
    auto processes = [&](size_t d) { return int64_t{c.integers[after + 2 * dims + d]}; };
    const int order = c.integers.back();
    // The grid of processes is in row-major order, whatever the array's order is (MPI-4.0
    // section 5.1.4).
    std::vector<int64_t> place(dims);
    int64_t below = size;
    for (size_t d = 0; d < dims; ++d) {
      below /= processes(d);
      place[d] = rank / below;
      rank %= below;
    }
    std::vector<int64_t> sizes;
    std::vector<std::vector<TypeRun>> kept;
    for (size_t d = 0; d < dims; ++d) {
      const int64_t n = c.large() ? c.counts[d] : int64_t{c.integers[3 + d]};
      sizes.push_back(n);
      if (distribution(d) == MPI_DISTRIBUTE_NONE) {
        kept.push_back({{0, n}});
        continue;
      }
      const bool given = argument(d) != MPI_DISTRIBUTE_DFLT_DARG;
      int64_t block = given ? argument(d) : 1;
      if (distribution(d) == MPI_DISTRIBUTE_BLOCK && !given)
        block = (n + processes(d) - 1) / processes(d);
      kept.push_back(dealt(n, block, processes(d), place[d]));
    }
    return grid(one, order, std::move(sizes), std::move(kept), step);
  }

  const host::Api* h_;        ///< nullptr for predefined types, which need no host
  const PlacedSizes* sizes_;  ///< nullptr: the sizes in memory
};

int make_signature(const host::Api* h, MPI_Datatype type, Signature* out) {
  out->count = 1;
  if (is_predefined(type)) {
    out->type = type;
    out->count = is_basic(type) && basic_size(type) == 0 ? 0 : 1;
    return MPI_SUCCESS;
  }
  Contents c;
  MPI_Count size = 0, one = 0;
  if (int code = c.read(*h, type); code != MPI_SUCCESS) return code;
  if (int code = h->Type_size_x(type, &size); code != MPI_SUCCESS) return code;
  if (c.combiner == MPI_COMBINER_NAMED || is_made_by_f90(c.combiner)) {
    out->type = type_of_precision(c.combiner, size);
    return out->type == MPI_DATATYPE_NULL ? static_cast<int>(MPI_ERR_TYPE) : MPI_SUCCESS;
  }
  int code = MPI_SUCCESS;
  const bool mixed = c.combiner == MPI_COMBINER_STRUCT;
  for (size_t i = 0; i < c.types.size() && code == MPI_SUCCESS; ++i) {
    Signature inner;
    code = make_signature(h, c.types[i], &inner);
    h->Type_size_x(c.types[i], &one);
    const int64_t times = mixed ? c.count(1 + i) : one > 0 ? size / one : 0;
    if (times == 0 || one == 0) continue;
    if (inner.inner.empty()) {
      inner.count *= times;
      out->inner.push_back(std::move(inner));
    } else {
      out->inner.push_back({MPI_DATATYPE_NULL, times, {std::move(inner)}});
    }
  }
  release_all(*h, &c.types);
  return code;
}

}  // namespace

namespace {

Status unknown(const Type& type) {
  return error(MPI_ERR_TYPE, "the hosted MPI does not say what datatype 0x%08x is made of",
               static_cast<unsigned>(type.handle()));
}

/// Calls use(host's functions) on the host stack where the type needs the host, else use(nullptr).
template <class F>
int with_host(const Type& type, F&& use) {
  if (is_predefined(type.host_handle())) return use(nullptr);
  return host::call([&](const host::Api& h) { return use(&h); });
}

Status flatten(const Type& type, const PlacedSizes* sizes, TypeTree* out) {
  MPI_Datatype element = MPI_DATATYPE_NULL;
  bool several = false;
  out->extent = type.extent();
  const int code = with_host(type, [&](const host::Api* h) {
    Flattener flattener(h, sizes);
    const int made = flattener.make(type.host_handle(), &out->root);
    element = flattener.element;
    several = flattener.several;
    if (sizes) out->extent = flattener.extent(type.host_handle());
    return made;
  });
  if (code != MPI_SUCCESS) return unknown(type);
  out->size = out->root.node ? out->root.node->size : 0;
  out->element = several ? MPI_DATATYPE_NULL : element;
  return {};
}

}  // namespace

Status tree_of(const Type& type, TypeTree* out) { return flatten(type, nullptr, out); }

Status tree_of(const Type& type, const PlacedSizes& sizes, TypeTree* out) {
  return flatten(type, &sizes, out);
}

Status signature_of(const Type& type, Signature* out) {
  *out = {};
  const int code = with_host(
      type, [&](const host::Api* h) { return make_signature(h, type.host_handle(), out); });
  return code == MPI_SUCCESS ? Status() : unknown(type);
}

}  // namespace fgmpi::datatype
