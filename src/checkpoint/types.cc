// Datatypes in terms of how they were made: MPI tells it (MPI_Type_get_contents), and this makes
// equal ones.
#include "checkpoint/describe.h"
#include "checkpoint/wrappers.h"
#include "fgmpi_standard.h"

namespace fgmpi::checkpoint {
namespace {

using Node = TypeDescription::Node;

/// Types of which MPI has one for each parameter, and which are not freed.
bool is_parameterized(int combiner) {
  return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_VALUE_INDEX;
}

int combiner_of(MPI_Datatype type, MPI_Count* integers, MPI_Count* addresses, MPI_Count* counts,
                MPI_Count* types) {
  int combiner = MPI_COMBINER_NAMED;
  g_next.MPI_Type_get_envelope_c(type, integers, addresses, counts, types, &combiner);
  return combiner;
}

Node describe(MPI_Datatype type) {
  Node node;
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  node.combiner = combiner_of(type, &integers, &addresses, &counts, &types);
  if (node.combiner == MPI_COMBINER_NAMED) {
    node.predefined = type;
    return node;
  }
  node.integers.resize(static_cast<size_t>(integers));
  node.addresses.resize(static_cast<size_t>(addresses));
  node.counts.resize(static_cast<size_t>(counts));
  std::vector<MPI_Datatype> parts(static_cast<size_t>(types));
  g_next.MPI_Type_get_contents_c(type, integers, addresses, counts, types, node.integers.data(),
                                 node.addresses.data(), node.counts.data(), parts.data());
  for (MPI_Datatype part : parts) {
    node.parts.push_back(describe(part));
    const int combiner = node.parts.back().combiner;
    if (combiner != MPI_COMBINER_NAMED && !is_parameterized(combiner)) g_next.MPI_Type_free(&part);
  }
  return node;
}

/// Is the type nested more than `most` times?
bool is_deeper(MPI_Datatype type, int most) {
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  const int combiner = combiner_of(type, &integers, &addresses, &counts, &types);
  if (combiner == MPI_COMBINER_NAMED || is_parameterized(combiner)) return false;
  if (most == 0) return true;
  std::vector<int> i(static_cast<size_t>(integers));
  std::vector<MPI_Aint> a(static_cast<size_t>(addresses));
  std::vector<MPI_Count> c(static_cast<size_t>(counts));
  std::vector<MPI_Datatype> parts(static_cast<size_t>(types));
  g_next.MPI_Type_get_contents_c(type, integers, addresses, counts, types, i.data(), a.data(),
                                 c.data(), parts.data());
  bool deeper = false;
  for (MPI_Datatype part : parts) {
    deeper = deeper || is_deeper(part, most - 1);
    give_back_type(&part);
  }
  return deeper;
}

MPI_Datatype make(const Node& node);

/// Types of the parts, which are freed with it where they were made for it.
class TypeParts {
 public:
  explicit TypeParts(const Node& node) : node_(node) {
    for (const Node& part : node.parts) types_.push_back(make(part));
  }
  ~TypeParts() {
    for (size_t i = 0; i < types_.size(); ++i) {
      const int combiner = node_.parts[i].combiner;
      if (combiner != MPI_COMBINER_NAMED && !is_parameterized(combiner))
        g_next.MPI_Type_free(&types_[i]);
    }
  }
  TypeParts(const TypeParts&) = delete;
  TypeParts& operator=(const TypeParts&) = delete;
  const MPI_Datatype* data() const { return types_.data(); }
  MPI_Datatype first() const { return types_.empty() ? MPI_DATATYPE_NULL : types_[0]; }

 private:
  const Node& node_;
  std::vector<MPI_Datatype> types_;
};

/// The types whose constructors have had arguments of MPI_Count.
MPI_Datatype make_large(const Node& node, const TypeParts& parts) {
  const MPI_Count* const c = node.counts.data();
  const MPI_Datatype old = parts.first();
  const MPI_Count n = node.counts.empty() ? 0 : c[0];
  MPI_Datatype made = MPI_DATATYPE_NULL;
  switch (node.combiner) {
    case MPI_COMBINER_CONTIGUOUS:
      g_next.MPI_Type_contiguous_c(n, old, &made);
      break;
    case MPI_COMBINER_VECTOR:
      g_next.MPI_Type_vector_c(n, c[1], c[2], old, &made);
      break;
    case MPI_COMBINER_HVECTOR:
      g_next.MPI_Type_create_hvector_c(n, c[1], c[2], old, &made);
      break;
    case MPI_COMBINER_INDEXED:
      g_next.MPI_Type_indexed_c(n, c + 1, c + 1 + n, old, &made);
      break;
    case MPI_COMBINER_HINDEXED:
      g_next.MPI_Type_create_hindexed_c(n, c + 1, c + 1 + n, old, &made);
      break;
    case MPI_COMBINER_INDEXED_BLOCK:
      g_next.MPI_Type_create_indexed_block_c(n, c[1], c + 2, old, &made);
      break;
    case MPI_COMBINER_HINDEXED_BLOCK:
      g_next.MPI_Type_create_hindexed_block_c(n, c[1], c + 2, old, &made);
      break;
    case MPI_COMBINER_STRUCT:
      g_next.MPI_Type_create_struct_c(n, c + 1, c + 1 + n, parts.data(), &made);
      break;
    case MPI_COMBINER_RESIZED:
      g_next.MPI_Type_create_resized_c(old, c[0], c[1], &made);
      break;
    case MPI_COMBINER_SUBARRAY: {
      const int* const i = node.integers.data();
      g_next.MPI_Type_create_subarray_c(i[0], c, c + i[0], c + 2 * i[0], i[1], old, &made);
      break;
    }
    case MPI_COMBINER_DARRAY: {
      const int* const i = node.integers.data();
      const int dims = i[2];
      g_next.MPI_Type_create_darray_c(i[0], i[1], dims, c, i + 3, i + 3 + dims, i + 3 + 2 * dims,
                                      i[3 + 3 * dims], old, &made);
      break;
    }
    default:
      break;
  }
  return made;
}

/// Types of Fortran's with a parameter, and those whose constructors name arrays.
MPI_Datatype make_special(const Node& node, const TypeParts& parts) {
  const int* const i = node.integers.data();
  const MPI_Datatype old = parts.first();
  MPI_Datatype made = MPI_DATATYPE_NULL;
  switch (node.combiner) {
    case MPI_COMBINER_F90_REAL:
      g_next.MPI_Type_create_f90_real(i[0], i[1], &made);
      break;
    case MPI_COMBINER_F90_COMPLEX:
      g_next.MPI_Type_create_f90_complex(i[0], i[1], &made);
      break;
    case MPI_COMBINER_F90_INTEGER:
      g_next.MPI_Type_create_f90_integer(i[0], &made);
      break;
    case MPI_COMBINER_VALUE_INDEX:
      g_next.MPI_Type_get_value_index(parts.data()[0], parts.data()[1], &made);
      break;
    case MPI_COMBINER_SUBARRAY:
      g_next.MPI_Type_create_subarray(i[0], i + 1, i + 1 + i[0], i + 1 + 2 * i[0], i[1 + 3 * i[0]],
                                      old, &made);
      break;
    case MPI_COMBINER_DARRAY: {
      const int* const a = i + 3;
      const int dims = i[2];
      g_next.MPI_Type_create_darray(i[0], i[1], dims, a, a + dims, a + 2 * dims, a + 3 * dims,
                                    a[4 * dims], old, &made);
      break;
    }
    default:
      break;
  }
  return made;
}

MPI_Datatype make_small(const Node& node, const TypeParts& parts) {
  const int* const i = node.integers.data();
  const MPI_Aint* const a = node.addresses.data();
  const MPI_Datatype old = parts.first();
  const int n = node.integers.empty() ? 0 : i[0];
  MPI_Datatype made = MPI_DATATYPE_NULL;
  switch (node.combiner) {
    case MPI_COMBINER_DUP:
      g_next.MPI_Type_dup(old, &made);
      return made;
    case MPI_COMBINER_CONTIGUOUS:
      g_next.MPI_Type_contiguous(n, old, &made);
      return made;
    case MPI_COMBINER_VECTOR:
      g_next.MPI_Type_vector(n, i[1], i[2], old, &made);
      return made;
    case MPI_COMBINER_HVECTOR:
      g_next.MPI_Type_create_hvector(n, i[1], a[0], old, &made);
      return made;
    case MPI_COMBINER_INDEXED:
      g_next.MPI_Type_indexed(n, i + 1, i + 1 + n, old, &made);
      return made;
    case MPI_COMBINER_HINDEXED:
      g_next.MPI_Type_create_hindexed(n, i + 1, a, old, &made);
      return made;
    case MPI_COMBINER_INDEXED_BLOCK:
      g_next.MPI_Type_create_indexed_block(n, i[1], i + 2, old, &made);
      return made;
    case MPI_COMBINER_HINDEXED_BLOCK:
      g_next.MPI_Type_create_hindexed_block(n, i[1], a, old, &made);
      return made;
    case MPI_COMBINER_STRUCT:
      g_next.MPI_Type_create_struct(n, i + 1, a, parts.data(), &made);
      return made;
    case MPI_COMBINER_RESIZED:
      g_next.MPI_Type_create_resized(old, a[0], a[1], &made);
      return made;
    default:
      return make_special(node, parts);
  }
}

MPI_Datatype make(const Node& node) {
  if (node.combiner == MPI_COMBINER_NAMED) return node.predefined;
  const TypeParts parts(node);
  return node.counts.empty() ? make_small(node, parts) : make_large(node, parts);
}

}  // namespace

TypeDescription::Node constructor_of(MPI_Datatype real) { return describe(real); }

MPI_Datatype type_of(const TypeDescription::Node& constructor) { return make(constructor); }

void give_back_type(MPI_Datatype* real) {
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  const int combiner = combiner_of(*real, &integers, &addresses, &counts, &types);
  if (combiner != MPI_COMBINER_NAMED && !is_parameterized(combiner)) g_next.MPI_Type_free(real);
}

bool is_too_deep(MPI_Datatype real) {
  constexpr int kMostNested = 100;  // a level takes half a KiB of the rank's stack
  return is_deeper(real, kMostNested);
}

bool is_permanent_type(MPI_Datatype real) {
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  return is_parameterized(combiner_of(real, &integers, &addresses, &counts, &types));
}

void describe_type(LayerRank& rank, VirtualType* type) {
  type->described = std::make_unique<TypeDescription>();
  TypeDescription* d = type->described.get();
  d->root = describe(type->real);
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  g_next.MPI_Type_get_name(type->real, name, &length);
  d->name.assign(name, static_cast<size_t>(length));
  d->attributes = take_attributes(rank, Callbacks::Form::kType, [&](int keyval) {
    g_next.MPI_Type_delete_attr(type->real, keyval);
  });
}

void remake_type(LayerRank& rank, VirtualType* type) {
  const TypeDescription& d = *type->described;
  type->real = make(d.root);
  if (type->committed) g_next.MPI_Type_commit(&type->real);
  if (!d.name.empty() && !type->permanent) g_next.MPI_Type_set_name(type->real, d.name.c_str());
  for (const StoredAttribute& a : d.attributes)
    next_internal().type_set_attr(type->real, real_of(rank, Object::kKeyval, a.keyval), a.value,
                                  a.kind);
  type->described.reset();
}

namespace {

/// MPI_Type_get_contents makes handles of the parts.
int give_parts(int code, MPI_Datatype type, MPI_Datatype parts[]) {
  LayerRank* rank = current_rank();
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  if (code != MPI_SUCCESS || !rank) return code;
  combiner_of(type, &integers, &addresses, &counts, &types);
  for (MPI_Count i = 0; i < types; ++i) {
    parts[i] = add_object(*rank, Object::kDatatype, parts[i]);
    if (VirtualType* part = rank->types.find(parts[i])) part->committed = !part->permanent;
  }
  return code;
}

MPI_Datatype real_type(MPI_Datatype type) {
  LayerRank* rank = current_rank();
  return rank ? real_of(*rank, Object::kDatatype, type) : type;
}

int contents(MPI_Datatype type, int n_integers, int n_addresses, int n_types, int integers[],
             MPI_Aint addresses[], MPI_Datatype parts[]) {
  type = real_type(type);
  const int code = g_next.MPI_Type_get_contents(type, n_integers, n_addresses, n_types, integers,
                                                addresses, parts);
  return give_parts(code, type, parts);
}

int large_contents(MPI_Datatype type, MPI_Count n_integers, MPI_Count n_addresses,
                   MPI_Count n_counts, MPI_Count n_types, int integers[], MPI_Aint addresses[],
                   MPI_Count counts[], MPI_Datatype parts[]) {
  type = real_type(type);
  const int code = g_next.MPI_Type_get_contents_c(type, n_integers, n_addresses, n_counts, n_types,
                                                  integers, addresses, counts, parts);
  return give_parts(code, type, parts);
}

int free_of_program(MPI_Datatype* type) {
  LayerRank* rank = current_rank();
  return rank ? free_type(*rank, type) : g_next.MPI_Type_free(type);
}

}  // namespace
}  // namespace fgmpi::checkpoint

using namespace fgmpi::checkpoint;

FGMPI_BOTH(MPI_Type_get_contents,
           (MPI_Datatype type, int n_integers, int n_addresses, int n_types, int integers[],
            MPI_Aint addresses[], MPI_Datatype parts[]),
           contents(type, n_integers, n_addresses, n_types, integers, addresses, parts))
FGMPI_BOTH(MPI_Type_get_contents_c,
           (MPI_Datatype type, MPI_Count n_integers, MPI_Count n_addresses, MPI_Count n_counts,
            MPI_Count n_types, int integers[], MPI_Aint addresses[], MPI_Count counts[],
            MPI_Datatype parts[]),
           large_contents(type, n_integers, n_addresses, n_counts, n_types, integers, addresses,
                          counts, parts))
FGMPI_BOTH(MPI_Type_free, (MPI_Datatype * type), free_of_program(type))
