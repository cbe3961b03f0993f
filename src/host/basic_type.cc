#include "host/basic_type.h"

#include <array>

namespace fgmpi::host {
namespace {

/// Basic types, indexed by the low byte of their handle, which is different for each.
constexpr std::array<BasicType, 256> table() {
  std::array<BasicType, 256> types{};
#define FGMPI_BASIC_TYPE(name, kind, ctype) types[name & 0xff] = {#name, name, Kind::kind};
#include "host/basic_types.def"
#undef FGMPI_BASIC_TYPE
  types[MPI_LB & 0xff] = {"MPI_LB", MPI_LB, Kind::kOpaque};
  types[MPI_UB & 0xff] = {"MPI_UB", MPI_UB, Kind::kOpaque};
  return types;
}
constexpr auto kTypes = table();

#define FGMPI_BASIC_TYPE(name, kind, ctype)                                                  \
  static_assert((name & 0xff000000u) == 0x4c000000u && kTypes[name & 0xff].handle == name && \
                    ((name >> 8) & 0xff) == sizeof(ctype),                                   \
                #name);
#include "host/basic_types.def"
#undef FGMPI_BASIC_TYPE

constexpr BasicType kPairs[kPairTypes] = {
    {"MPI_FLOAT_INT", MPI_FLOAT_INT, Kind::kPair},
    {"MPI_DOUBLE_INT", MPI_DOUBLE_INT, Kind::kPair},
    {"MPI_LONG_INT", MPI_LONG_INT, Kind::kPair},
    {"MPI_SHORT_INT", MPI_SHORT_INT, Kind::kPair},
    {"MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT, Kind::kPair}};
static_assert(MPI_LONG_DOUBLE_INT - MPI_FLOAT_INT == kPairTypes - 1);

}  // namespace

const BasicType* basic_type(MPI_Datatype handle) {
  const BasicType& type = kTypes[handle & 0xff];
  if (type.handle == handle && type.name) return &type;
  return pair_index(handle) < kPairTypes ? &kPairs[pair_index(handle)] : nullptr;
}

}  // namespace fgmpi::host
