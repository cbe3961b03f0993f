// Random trees of datatypes of all constructors, made by the library and, where a test wants it, by
// the host.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "datatype/constructors.h"
#include "host/host.h"
#include "type_map.h"

namespace fgmpi::datatype::test {

using RecipePtr = std::shared_ptr<TypeRecipe>;
using Numbers = TypeRecipe::Numbers;

/// The arguments of a recipe in the order of MPI_Type_get_contents (MPI-4.0 section 5.1.13).
struct GivenContents {
  Numbers integers, addresses, counts;
};
inline GivenContents given_contents(const TypeRecipe& r) {
  GivenContents g;
  Numbers* numbers = r.large ? &g.counts : &g.integers;    // what is an int in small calls
  Numbers* in_bytes = r.large ? &g.counts : &g.addresses;  // what is an address in these
  auto append = [](Numbers* to, const Numbers& more) {
    to->insert(to->end(), more.begin(), more.end());
  };
  switch (r.combiner) {
    case MPI_COMBINER_CONTIGUOUS:
      append(numbers, {r.count});
      break;
    case MPI_COMBINER_VECTOR:
      append(numbers, {r.count, r.length, r.stride});
      break;
    case MPI_COMBINER_HVECTOR:
      append(numbers, {r.count, r.length});
      append(in_bytes, {r.stride});
      break;
    case MPI_COMBINER_RESIZED:
      append(in_bytes, {r.lb, r.extent});
      break;
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
      append(numbers, {r.count, r.length});
      append(r.combiner == MPI_COMBINER_INDEXED_BLOCK ? numbers : in_bytes, r.displs);
      break;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
      append(numbers, {r.count});
      append(numbers, r.lengths);
      append(r.combiner == MPI_COMBINER_INDEXED ? numbers : in_bytes, r.displs);
      break;
    case MPI_COMBINER_SUBARRAY:
      append(&g.integers, {static_cast<int64_t>(r.sizes.size())});
      for (const Numbers* some : {&r.sizes, &r.subsizes, &r.starts}) append(numbers, *some);
      append(&g.integers, {r.order});
      break;
    case MPI_COMBINER_DARRAY:
      append(&g.integers, {r.group, r.rank, static_cast<int64_t>(r.sizes.size())});
      append(numbers, r.sizes);
      for (const Numbers* some : {&r.distributions, &r.arguments, &r.processes})
        append(&g.integers, *some);
      append(&g.integers, {r.order});
      break;
    default:
      break;
  }
  return g;
}

inline std::vector<int> as_ints(const Numbers& numbers) {
  return std::vector<int>(numbers.begin(), numbers.end());
}

/// Makes the type of a recipe by the library.
inline Status make_ours(TypeRecipe* r) {
  const std::vector<int> lengths = as_ints(r->lengths), displs = as_ints(r->displs),
                         sizes = as_ints(r->sizes), subsizes = as_ints(r->subsizes),
                         starts = as_ints(r->starts), distributions = as_ints(r->distributions),
                         arguments = as_ints(r->arguments), processes = as_ints(r->processes);
  const bool large = r->large;
  auto array = [large](const Numbers& wide, const std::vector<int>& narrow) {
    return large ? NumberArray(wide.data()) : NumberArray(narrow.data());
  };
  std::vector<Type> types;
  for (const RecipePtr& inner : r->inner) types.push_back(inner->made);
  const auto dims = static_cast<int>(r->sizes.size());
  Type* out = &r->made;
  switch (r->combiner) {
    case MPI_COMBINER_DUP:
      return make_duplicate(types[0], out);
    case MPI_COMBINER_RESIZED:
      return make_resized(large, r->lb, r->extent, types[0], out);
    case MPI_COMBINER_CONTIGUOUS:
      return make_contiguous(large, r->count, types[0], out);
    case MPI_COMBINER_VECTOR:
      return make_vector(large, r->count, r->length, r->stride, types[0], out);
    case MPI_COMBINER_HVECTOR:
      return make_hvector(large, r->count, r->length, r->stride, types[0], out);
    case MPI_COMBINER_INDEXED:
      return make_indexed(large, r->count, array(r->lengths, lengths), array(r->displs, displs),
                          types[0], out);
    case MPI_COMBINER_HINDEXED:
      return make_hindexed(large, r->count, array(r->lengths, lengths), r->displs.data(), types[0],
                           out);
    case MPI_COMBINER_INDEXED_BLOCK:
      return make_indexed_block(large, r->count, r->length, array(r->displs, displs), types[0],
                                out);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return make_hindexed_block(large, r->count, r->length, r->displs.data(), types[0], out);
    case MPI_COMBINER_STRUCT:
      return make_struct(large, r->count, array(r->lengths, lengths), r->displs.data(), types, out);
    case MPI_COMBINER_SUBARRAY:
      return make_subarray(large,
                           {dims, array(r->sizes, sizes), array(r->subsizes, subsizes),
                            array(r->starts, starts), static_cast<int>(r->order)},
                           types[0], out);
    default:
      return make_darray(
          large,
          {static_cast<int>(r->group), static_cast<int>(r->rank), dims, array(r->sizes, sizes),
           distributions.data(), arguments.data(), processes.data(), static_cast<int>(r->order)},
          types[0], out);
  }
}

/// The arguments of a recipe as the host's functions take them.
struct HostArguments {
  std::vector<MPI_Datatype> types;
  std::vector<int> lengths, displs, sizes, subsizes, starts, distributions, arguments, processes;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> wide_lengths, wide_displs, wide_sizes, wide_subsizes, wide_starts;
  int dims, order, group, rank;

  explicit HostArguments(const TypeRecipe& r)
      : lengths(as_ints(r.lengths)),
        displs(as_ints(r.displs)),
        sizes(as_ints(r.sizes)),
        subsizes(as_ints(r.subsizes)),
        starts(as_ints(r.starts)),
        distributions(as_ints(r.distributions)),
        arguments(as_ints(r.arguments)),
        processes(as_ints(r.processes)),
        addresses(r.displs.begin(), r.displs.end()),
        wide_lengths(r.lengths.begin(), r.lengths.end()),
        wide_displs(r.displs.begin(), r.displs.end()),
        wide_sizes(r.sizes.begin(), r.sizes.end()),
        wide_subsizes(r.subsizes.begin(), r.subsizes.end()),
        wide_starts(r.starts.begin(), r.starts.end()),
        dims(static_cast<int>(r.sizes.size())),
        order(static_cast<int>(r.order)),
        group(static_cast<int>(r.group)),
        rank(static_cast<int>(r.rank)) {
    for (const RecipePtr& inner : r.inner) types.push_back(inner->host);
  }
};

inline int make_small_by_host(const host::Api& h, TypeRecipe* r) {
  const HostArguments a(*r);
  const MPI_Datatype old = a.types.empty() ? MPI_DATATYPE_NULL : a.types[0];
  const int count = static_cast<int>(r->count), length = static_cast<int>(r->length);
  MPI_Datatype* out = &r->host;
  switch (r->combiner) {
    case MPI_COMBINER_DUP:
      return h.Type_dup(old, out);
    case MPI_COMBINER_RESIZED:
      return h.Type_create_resized(old, r->lb, r->extent, out);
    case MPI_COMBINER_CONTIGUOUS:
      return h.Type_contiguous(count, old, out);
    case MPI_COMBINER_VECTOR:
      return h.Type_vector(count, length, static_cast<int>(r->stride), old, out);
    case MPI_COMBINER_HVECTOR:
      return h.Type_create_hvector(count, length, r->stride, old, out);
    case MPI_COMBINER_INDEXED:
      return h.Type_indexed(count, a.lengths.data(), a.displs.data(), old, out);
    case MPI_COMBINER_HINDEXED:
      return h.Type_create_hindexed(count, a.lengths.data(), a.addresses.data(), old, out);
    case MPI_COMBINER_INDEXED_BLOCK:
      return h.Type_create_indexed_block(count, length, a.displs.data(), old, out);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return h.Type_create_hindexed_block(count, length, a.addresses.data(), old, out);
    case MPI_COMBINER_STRUCT:
      return h.Type_create_struct(count, a.lengths.data(), a.addresses.data(), a.types.data(), out);
    case MPI_COMBINER_SUBARRAY:
      return h.Type_create_subarray(a.dims, a.sizes.data(), a.subsizes.data(), a.starts.data(),
                                    a.order, old, out);
    default:
      return h.Type_create_darray(a.group, a.rank, a.dims, a.sizes.data(), a.distributions.data(),
                                  a.arguments.data(), a.processes.data(), a.order, old, out);
  }
}

inline int make_large_by_host(const host::Api& h, TypeRecipe* r) {
  const HostArguments a(*r);
  const MPI_Datatype old = a.types.empty() ? MPI_DATATYPE_NULL : a.types[0];
  const MPI_Count *lengths = a.wide_lengths.data(), *displs = a.wide_displs.data();
  MPI_Datatype* out = &r->host;
  switch (r->combiner) {
    case MPI_COMBINER_RESIZED:
      return h.Type_create_resized_c(old, r->lb, r->extent, out);
    case MPI_COMBINER_CONTIGUOUS:
      return h.Type_contiguous_c(r->count, old, out);
    case MPI_COMBINER_VECTOR:
      return h.Type_vector_c(r->count, r->length, r->stride, old, out);
    case MPI_COMBINER_HVECTOR:
      return h.Type_create_hvector_c(r->count, r->length, r->stride, old, out);
    case MPI_COMBINER_INDEXED:
      return h.Type_indexed_c(r->count, lengths, displs, old, out);
    case MPI_COMBINER_HINDEXED:
      return h.Type_create_hindexed_c(r->count, lengths, displs, old, out);
    case MPI_COMBINER_INDEXED_BLOCK:
      return h.Type_create_indexed_block_c(r->count, r->length, displs, old, out);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return h.Type_create_hindexed_block_c(r->count, r->length, displs, old, out);
    case MPI_COMBINER_STRUCT:
      return h.Type_create_struct_c(r->count, lengths, displs, a.types.data(), out);
    case MPI_COMBINER_SUBARRAY:
      return h.Type_create_subarray_c(a.dims, a.wide_sizes.data(), a.wide_subsizes.data(),
                                      a.wide_starts.data(), a.order, old, out);
    default:
      return h.Type_create_darray_c(a.group, a.rank, a.dims, a.wide_sizes.data(),
                                    a.distributions.data(), a.arguments.data(), a.processes.data(),
                                    a.order, old, out);
  }
}

/// Makes random recipes and their types, which are small enough to be written out byte by byte.
class RandomTypes {
 public:
  explicit RandomTypes(uint64_t seed) : random_(seed) {}
  /// `host`: makes each type as well; its types live as long as this object.
  RandomTypes(uint64_t seed, const host::Api* host) : random_(seed), host_(host) {}
  RandomTypes(const RandomTypes&) = delete;
  RandomTypes& operator=(const RandomTypes&) = delete;
  ~RandomTypes() { free_host_types(); }
  void free_host_types() {
    for (MPI_Datatype& type : host_types_) host_->Type_free(&type);
    host_types_.clear();
  }

  int64_t pick(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_.next() % static_cast<uint64_t>(most - least + 1));
  }
  bool one_in(int64_t n) { return pick(1, n) == 1; }

  /// A type of at most `depth` constructors, one in another. A tidy one has no negative steps, and
  /// mostly no byte twice.
  RecipePtr make(int depth, bool tidy) {
    tidy_ = tidy;
    return make_level(depth);
  }

  static constexpr size_t kMostEntries = 300;

 private:
  RecipePtr make_leaf(bool in_struct) {
    auto r = std::make_shared<TypeRecipe>();
    if (in_struct && !tidy_ && one_in(8)) {
      r->leaf = r->host = one_in(2) ? MPI_LB : MPI_UB;
    } else {
      const auto leaves = static_cast<int64_t>(std::size(kLeaves));
      r->leaf = r->host = kLeaves[pick(0, leaves - 1)].handle;
    }
    EXPECT_TRUE(Type::of(r->leaf, &r->made).ok());
    if (one_in(3)) make_of_precision(r.get());
    return r;
  }
  /// Replaces a leaf by a type of MPI_Type_create_f90_*, where it has the values of one.
  void make_of_precision(TypeRecipe* r) {
    if (r->leaf == MPI_REAL8) {
      r->combiner = MPI_COMBINER_F90_REAL;
      EXPECT_TRUE(make_f90_real(15, 307, &r->made).ok());
      if (host_) host_->Type_create_f90_real(15, 307, &r->host);
    } else if (r->leaf == MPI_COMPLEX16) {
      r->combiner = MPI_COMBINER_F90_COMPLEX;
      EXPECT_TRUE(make_f90_complex(15, 307, &r->made).ok());
      if (host_) host_->Type_create_f90_complex(15, 307, &r->host);
    } else if (r->leaf == MPI_INTEGER4) {
      r->combiner = MPI_COMBINER_F90_INTEGER;
      EXPECT_TRUE(make_f90_integer(9, &r->made).ok());
      if (host_) host_->Type_create_f90_integer(9, &r->host);
    }
  }

  RecipePtr make_level(int depth) {
    if (depth == 0) return make_leaf(false);
    for (int tries = 0; tries < 20; ++tries) {
      auto r = std::make_shared<TypeRecipe>();
      r->large = one_in(3);
      r->inner.push_back(make_level(static_cast<int>(one_in(4) ? pick(0, depth - 1) : depth - 1)));
      const TypeMap one = expand(*r->inner[0]);
      choose(r.get(), one, depth);
      if (!is_small(*r, one)) continue;
      finish(r.get());
      return r;
    }
    return make_leaf(false);
  }
  void finish(TypeRecipe* r) {
    const Status status = make_ours(r);
    EXPECT_TRUE(status.ok()) << status.what();
    if (!host_) return;
    EXPECT_EQ(r->large ? make_large_by_host(*host_, r) : make_small_by_host(*host_, r),
              MPI_SUCCESS);
    host_types_.push_back(r->host);
  }
  /// True where the type map has few entries and not too long a reach.
  bool is_small(const TypeRecipe& r, const TypeMap& one) {
    int64_t blocks =
        r.lengths.empty() ? std::max<int64_t>(r.length, 1) * std::max<int64_t>(r.count, 1) : 0;
    for (int64_t length : r.lengths) blocks += length;
    for (size_t d = 0; d < r.sizes.size(); ++d) blocks *= r.sizes[d];
    size_t entries = std::max<size_t>(one.entries.size(), 1) * static_cast<size_t>(blocks);
    if (entries > kMostEntries) return false;
    const TypeMap map = expand(r);
    const int64_t reach = std::max(std::abs(map.lb()), std::abs(map.ub()));
    const std::vector<int64_t> bytes = map.bytes();
    const int64_t data = bytes.empty()
                             ? 0
                             : std::max(std::abs(*std::min_element(bytes.begin(), bytes.end())),
                                        std::abs(*std::max_element(bytes.begin(), bytes.end())));
    return bytes.size() < 3000 && std::max(reach, data) < 50000;
  }

  void choose(TypeRecipe* r, const TypeMap& one, int depth) {
    static constexpr int kCombiners[] = {MPI_COMBINER_CONTIGUOUS,
                                         MPI_COMBINER_VECTOR,
                                         MPI_COMBINER_HVECTOR,
                                         MPI_COMBINER_INDEXED,
                                         MPI_COMBINER_HINDEXED,
                                         MPI_COMBINER_INDEXED_BLOCK,
                                         MPI_COMBINER_HINDEXED_BLOCK,
                                         MPI_COMBINER_STRUCT,
                                         MPI_COMBINER_STRUCT,
                                         MPI_COMBINER_SUBARRAY,
                                         MPI_COMBINER_DARRAY,
                                         MPI_COMBINER_RESIZED,
                                         MPI_COMBINER_DUP};
    r->combiner = kCombiners[pick(0, std::size(kCombiners) - 1)];
    r->count = one_in(12) ? 0 : pick(1, one_in(6) ? 9 : 4);
    switch (r->combiner) {
      case MPI_COMBINER_DUP:
        r->large = false;
        break;
      case MPI_COMBINER_CONTIGUOUS:
        break;
      case MPI_COMBINER_VECTOR:
      case MPI_COMBINER_HVECTOR:
        choose_vector(r, one);
        break;
      case MPI_COMBINER_RESIZED:
        r->lb = tidy_ ? one.lb() - pick(0, 3) : pick(-40, 40);
        r->extent = tidy_ ? std::abs(one.extent()) + pick(0, 20) : pick(-60, 60);
        break;
      case MPI_COMBINER_SUBARRAY:
      case MPI_COMBINER_DARRAY:
        choose_array(r);
        break;
      default:
        choose_blocks(r, one, depth);
    }
  }
  void choose_vector(TypeRecipe* r, const TypeMap& one) {
    const bool in_bytes = r->combiner == MPI_COMBINER_HVECTOR;
    r->length = one_in(12) ? 0 : pick(1, 3);
    const int64_t unit = in_bytes ? std::abs(one.extent()) : 1;
    if (tidy_)
      r->stride = r->length * unit + (one_in(3) ? 0 : pick(0, in_bytes ? 20 : 3));
    else
      r->stride = pick(-4 * unit, 4 * unit);
  }
  /// Indexed types and structs.
  void choose_blocks(TypeRecipe* r, const TypeMap& one, int depth) {
    const bool of_struct = r->combiner == MPI_COMBINER_STRUCT;
    const bool equal =
        r->combiner == MPI_COMBINER_INDEXED_BLOCK || r->combiner == MPI_COMBINER_HINDEXED_BLOCK;
    const bool in_elements =
        r->combiner == MPI_COMBINER_INDEXED || r->combiner == MPI_COMBINER_INDEXED_BLOCK;
    r->length = equal && !one_in(12) ? pick(1, 3) : 0;
    const bool regular = one_in(3);
    int64_t at = pick(0, 3), step = std::max<int64_t>(one.extent(), 1);
    if (of_struct) r->inner.resize(static_cast<size_t>(r->count));
    for (int64_t i = 0; i < r->count; ++i) {
      if (of_struct && !(i == 0 && r->inner[0])) {
        auto& inner = r->inner[static_cast<size_t>(i)];
        inner = one_in(4) && i > 0 ? r->inner[0]
                : one_in(2)        ? make_leaf(true)
                                   : make_level(static_cast<int>(pick(0, depth - 1)));
        step = std::max<int64_t>(expand(*inner).extent(), 1);
      }
      int64_t length = r->length;
      if (!equal) r->lengths.push_back(length = one_in(6) ? 0 : regular ? 2 : pick(1, 3));
      if (tidy_) {
        r->displs.push_back(at);
        at += length * (in_elements ? 1 : step) + (regular ? 8 : pick(0, in_elements ? 2 : 17));
      } else {
        r->displs.push_back(in_elements ? pick(-5, 7) : pick(-80, 100));
      }
    }
  }
  void choose_array(TypeRecipe* r) {
    const bool sub = r->combiner == MPI_COMBINER_SUBARRAY;
    r->order = one_in(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    r->group = 1;
    for (int64_t d = 0, dims = pick(1, 3); d < dims; ++d) {
      const int64_t size = pick(1, dims == 1 ? 12 : 5);
      r->sizes.push_back(size);
      if (sub) {
        r->subsizes.push_back(pick(1, size));
        r->starts.push_back(pick(0, size - r->subsizes.back()));
        continue;
      }
      const int64_t kind = pick(0, 2);
      const int64_t processes = kind == 0 ? 1 : pick(1, 3),
                    least = (size + processes - 1) / processes;
      const bool given = one_in(2);
      r->distributions.push_back(kind == 0   ? MPI_DISTRIBUTE_NONE
                                 : kind == 1 ? MPI_DISTRIBUTE_BLOCK
                                             : MPI_DISTRIBUTE_CYCLIC);
      r->arguments.push_back(!given || kind == 0 ? MPI_DISTRIBUTE_DFLT_DARG
                             : kind == 1         ? pick(least, size + 1)
                                                 : pick(1, size));
      r->processes.push_back(processes);
      r->group *= processes;
    }
    r->rank = pick(0, r->group - 1);
  }

  RandomSequence random_;
  const host::Api* host_ = nullptr;
  std::vector<MPI_Datatype> host_types_;
  bool tidy_ = true;
};

/// What a failure prints: the recipe as a tree.
inline std::string describe(const TypeRecipe& r) {
  std::string text = "(" + std::to_string(r.combiner);
  if (r.inner.empty()) {
    char leaf[32];
    std::snprintf(leaf, sizeof leaf, " leaf 0x%x", static_cast<unsigned>(r.leaf));
    text += leaf;
  }
  if (r.large) text += " large";
  auto list = [&](const char* name, const Numbers& numbers) {
    if (numbers.empty()) return;
    text += std::string(" ") + name;
    for (int64_t n : numbers) text += " " + std::to_string(n);
    text += ";";
  };
  list("count, length, stride", {r.count, r.length, r.stride});
  if (r.combiner == MPI_COMBINER_RESIZED) list("bounds", {r.lb, r.extent});
  list("lengths", r.lengths);
  list("displs", r.displs);
  list("sizes", r.sizes);
  list("subsizes", r.subsizes);
  list("starts", r.starts);
  list("distributions", r.distributions);
  list("arguments", r.arguments);
  list("processes", r.processes);
  if (!r.sizes.empty()) list("rank, order", {r.rank, r.order});
  for (const RecipePtr& inner : r.inner) text += "\n  " + describe(*inner);
  return text + ")";
}

}  // namespace fgmpi::datatype::test
