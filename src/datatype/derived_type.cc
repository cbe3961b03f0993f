// The table of derived datatypes by content.

#include "datatype/derived_type.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "datatype/basic_type.h"
#include "datatype/datatype.h"
#include "datatype/elements.h"
#include "datatype/value_index.h"

namespace fgmpi::datatype {
namespace {

/// Objects by the hash of their contents.
using TypesByHash = std::unordered_multimap<uint64_t, DerivedType*>;
TypesByHash& types() {
  static auto* table = new TypesByHash;
  return *table;
}

uint64_t mixed(uint64_t hash, uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

template <class V>
DerivedType* make_pair_type(MPI_Datatype handle) {
  using Pair = PairOf<V, int>;
  auto* type = new DerivedType;
  constexpr auto kIndex = static_cast<int64_t>(offsetof(Pair, index));
  type->tree.root = make_runs({{0, sizeof(V)}, {kIndex, sizeof(int)}});
  type->tree.size = sizeof(V) + sizeof(int);
  type->tree.extent = sizeof(Pair);
  type->tree.element = type->values = handle;
  type->bounds = {{0, TypeBound::kData}, {sizeof(Pair), TypeBound::kData}};
  type->alignment = alignof(Pair);
  complete_copies(type);
  type->elements = 2;
  type->references = 1;  // for ever
  return type;
}

bool is_of_precision(int combiner) {
  return combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX;
}

/// Fills what follows from the contents.
Status complete(DerivedType* type) {
  const TypeContents& c = type->contents;
  if (is_of_precision(c.combiner)) {
    // The values are those of a predefined type (basic_type.h).
    const int64_t size = basic_size(type->values);
    type->bounds = {{0, TypeBound::kData}, {size, TypeBound::kData}};
    type->tree = {make_run(0, size), size, size, type->values};
    type->alignment = basic_type(type->values)->alignment;
    type->elements = 1;
    return {};
  }
  FGMPI_TRY(bounds_of(c, &type->bounds));
  type->alignment = alignment_of(c);
  make_tree(c, type->bounds, &type->tree);
  for (size_t i = 0; i < c.types.size(); ++i)
    type->elements += type->times(i) * elements_of(c.types[i]);
  return {};
}

}  // namespace

void complete_copies(DerivedType* type) {
  type->is_small = fits_32_bits(type->tree.size) && fits_32_bits(type->tree.extent) &&
                   fits_32_bits(type->bounds.lb()) && fits_32_bits(type->tree.low()) &&
                   fits_32_bits(type->tree.high());
  type->contiguous = type->tree.contiguous();
  type->begins_at_0 = type->tree.low() == 0;
  type->short_rows = make_short_rows(type->tree);
}

uint64_t TypeContents::hash() const {
  uint64_t hash = mixed(static_cast<uint64_t>(combiner), integers.hash());
  hash = mixed(mixed(hash, addresses.hash()), counts.hash());
  for (const Type& type : types)
    hash = mixed(hash, type.derived() ? reinterpret_cast<uintptr_t>(type.derived())
                                      : static_cast<uint64_t>(type.handle()));
  return hash;
}

// ---- Objects ------------------------------------------------------------------------------------

DerivedType* pair_type(MPI_Datatype handle) {
  static DerivedType* const pairs[kPairTypes] = {
      make_pair_type<float>(MPI_FLOAT_INT), make_pair_type<double>(MPI_DOUBLE_INT),
      make_pair_type<long>(MPI_LONG_INT), make_pair_type<short>(MPI_SHORT_INT),
      make_pair_type<long double>(MPI_LONG_DOUBLE_INT)};
  return pairs[pair_index(handle)];
}

Status find_or_make(TypeContents contents, MPI_Datatype values, Type* out) {
  const uint64_t hash = contents.hash();
  const auto [first, last] = types().equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (!(at->second->contents == contents)) continue;
    *out = Type(MPI_DATATYPE_NULL, at->second);
    return {};
  }
  auto made = std::make_unique<DerivedType>();
  made->contents = std::move(contents);
  made->hash = hash;
  made->values = values;
  FGMPI_TRY(complete(made.get()));
  complete_copies(made.get());
  types().emplace(hash, made.get());
  *out = Type(MPI_DATATYPE_NULL, made.release());
  return {};
}

namespace {

/// Takes a type out of the table.
void forget(DerivedType* type) {
  const auto [first, last] = types().equal_range(type->hash);
  for (auto at = first; at != last; ++at)
    if (at->second == type) {
      types().erase(at);
      return;
    }
}

}  // namespace

void delete_type(DerivedType* type) {
  // The types that a deleted one is made of follow it here: one within another, they could need
  // more stack than a proclet has.
  static std::vector<DerivedType*> unused;
  unused.push_back(type);
  if (unused.size() > 1) return;
  for (size_t i = 0; i < unused.size(); ++i) {
    forget(unused[i]);
    delete unused[i];
  }
  unused.clear();
}

int64_t DerivedType::times(size_t i) const {
  const int64_t one = contents.types[i].size();
  if (one == 0) return 0;
  return contents.combiner == MPI_COMBINER_STRUCT ? contents.count(1 + i) : size() / one;
}

bool DerivedType::is_pair() const {
  return contents.combiner == MPI_COMBINER_NAMED || contents.combiner == kCombinerValueIndex;
}

bool DerivedType::permanent() const { return is_pair() || is_of_precision(contents.combiner); }

size_t DerivedType::memory() const {
  return sizeof *this + tree.memory() - sizeof tree + contents.integers.heap_bytes() +
         contents.addresses.heap_bytes() + contents.counts.heap_bytes() +
         contents.types.capacity() * sizeof(Type) + short_rows.heap_bytes();
}

bool DerivedType::validate(std::string* reason) const {
  auto wrong = [&](const char* what) {
    *reason = format("%s of a type with combiner %d does not follow from its contents", what,
                     contents.combiner);
    return false;
  };
  if (references == 0) return wrong("the number of references");
  if (is_pair()) return true;
  if (hash != contents.hash()) return wrong("the hash");
  TypeBounds expected = bounds;
  if (!is_of_precision(contents.combiner) && !bounds_of(contents, &expected).ok())
    return wrong("the bounds");
  if (expected.lb() != bounds.lb() || expected.extent() != bounds.extent() ||
      tree.extent != bounds.extent())
    return wrong("the bounds");
  if (!tree.validate()) return wrong("the size");
  return true;
}

size_t count_derived_types() { return types().size(); }

size_t derived_type_memory() {
  size_t bytes = 0;
  for (const auto& [hash, type] : types()) bytes += type->memory();
  return bytes;
}

}  // namespace fgmpi::datatype
