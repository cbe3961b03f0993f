// The table of predefined datatypes, by handle.

#include "datatype/basic_type.h"

#include <array>

#include "host/handle_bits.h"

namespace fgmpi::datatype {
namespace {

/// Basic types, indexed by the low byte of their handle, which is different for each.
constexpr std::array<BasicType, 256> table() {
  std::array<BasicType, 256> types{};
#define FGMPI_BASIC_TYPE(name, kind, ctype) \
  types[host::builtin_number(name)] = {#name, name, BasicKind::kind, alignof(ctype)};
#include "datatype/basic_types.def"
#undef FGMPI_BASIC_TYPE
  types[host::builtin_number(MPI_LB)] = {"MPI_LB", MPI_LB, BasicKind::kOpaque};
  types[host::builtin_number(MPI_UB)] = {"MPI_UB", MPI_UB, BasicKind::kOpaque};
  return types;
}
constexpr auto kTypes = table();

#define FGMPI_BASIC_TYPE(name, kind, ctype)                              \
  static_assert(host::is_builtin(name, host::HandleObject::kDatatype) && \
                    kTypes[host::builtin_number(name)].handle == name && \
                    host::builtin_size(name) == sizeof(ctype),           \
                #name);
#include "datatype/basic_types.def"
#undef FGMPI_BASIC_TYPE

constexpr BasicType kPairs[kPairTypes] = {
    {"MPI_FLOAT_INT", MPI_FLOAT_INT, BasicKind::kPair},
    {"MPI_DOUBLE_INT", MPI_DOUBLE_INT, BasicKind::kPair},
    {"MPI_LONG_INT", MPI_LONG_INT, BasicKind::kPair},
    {"MPI_SHORT_INT", MPI_SHORT_INT, BasicKind::kPair},
    {"MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT, BasicKind::kPair}};
static_assert(MPI_LONG_DOUBLE_INT - MPI_FLOAT_INT == kPairTypes - 1);

}  // namespace

const BasicType* basic_type(MPI_Datatype handle) {
  const BasicType& type = kTypes[host::builtin_number(handle)];
  if (type.handle == handle && type.name) return &type;
  return pair_index(handle) < kPairTypes ? &kPairs[pair_index(handle)] : nullptr;
}

MPI_Datatype type_of_precision(int combiner, int64_t bytes) {
  const MPI_Datatype integers[] = {MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8,
                                   MPI_INTEGER16},
                     reals[] = {MPI_REAL4, MPI_REAL8, MPI_REAL16},
                     complexes[] = {MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32};
  auto of_size = [bytes](const auto& types) {
    for (MPI_Datatype type : types)
      if (static_cast<int64_t>(static_cast<uint32_t>(type) >> 8 & 0xff) == bytes) return type;
    return static_cast<MPI_Datatype>(MPI_DATATYPE_NULL);
  };
  switch (combiner) {
    case MPI_COMBINER_F90_INTEGER:
      return of_size(integers);
    case MPI_COMBINER_F90_REAL:
      return of_size(reals);
    case MPI_COMBINER_F90_COMPLEX:
      return of_size(complexes);
    default:
      return MPI_DATATYPE_NULL;
  }
}

}  // namespace fgmpi::datatype
