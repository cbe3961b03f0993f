// Checks of the arguments of sends and receives, off the fast path.

#include "mpi/pt2pt/pt2pt_args.h"

#include "coll/short.h"
#include "pt2pt/lost.h"
#include "survivors/survivors.h"

namespace fgmpi::mpi {

namespace {
constexpr MPI_Datatype kBasic[] = {MPI_CHAR,
                                   MPI_SIGNED_CHAR,
                                   MPI_UNSIGNED_CHAR,
                                   MPI_BYTE,
                                   MPI_WCHAR,
                                   MPI_SHORT,
                                   MPI_UNSIGNED_SHORT,
                                   MPI_INT,
                                   MPI_UNSIGNED,
                                   MPI_LONG,
                                   MPI_UNSIGNED_LONG,
                                   MPI_FLOAT,
                                   MPI_DOUBLE,
                                   MPI_LONG_DOUBLE,
                                   MPI_LONG_LONG_INT,
                                   MPI_UNSIGNED_LONG_LONG,
                                   MPI_PACKED,
                                   MPI_2INT,
                                   MPI_INT8_T,
                                   MPI_INT16_T,
                                   MPI_INT32_T,
                                   MPI_INT64_T,
                                   MPI_UINT8_T,
                                   MPI_UINT16_T,
                                   MPI_UINT32_T,
                                   MPI_UINT64_T,
                                   MPI_C_BOOL,
                                   MPI_C_FLOAT_COMPLEX,
                                   MPI_C_DOUBLE_COMPLEX,
                                   MPI_C_LONG_DOUBLE_COMPLEX,
                                   MPI_AINT,
                                   MPI_OFFSET,
                                   MPI_COUNT,
                                   MPI_CXX_BOOL,
                                   MPI_CXX_FLOAT_COMPLEX,
                                   MPI_CXX_DOUBLE_COMPLEX,
                                   MPI_CXX_LONG_DOUBLE_COMPLEX,
                                   MPI_COMPLEX,
                                   MPI_DOUBLE_COMPLEX,
                                   MPI_LOGICAL,
                                   MPI_REAL,
                                   MPI_DOUBLE_PRECISION,
                                   MPI_INTEGER,
                                   MPI_CHARACTER};

constexpr BasicTypes table() {
  BasicTypes t{};
  // MPI_Datatype 0 is no datatype.
  for (uint32_t i = 0; i < t.size(); ++i) t[i] = static_cast<MPI_Datatype>(~i);
  for (MPI_Datatype type : kBasic) t[static_cast<uint32_t>(type) & 0xff] = type;
  return t;
}
}  // namespace

constinit BasicTypes g_basic_types = table(), g_received_types = table();

void examine_posted() {
  if (__builtin_expect(survivors::troubled(), 0))
    pt2pt::examine_receives(comm::rank_state()->local);
}

namespace {
void empty(BasicTypes* types) {
  for (uint32_t i = 0; i < types->size(); ++i) (*types)[i] = static_cast<MPI_Datatype>(~i);
}
}  // namespace

void close_shortest_ways_but_receives() {
  empty(&g_basic_types);
  coll::g_short_reduce_bytes = -1;
}
void close_shortest_ways() {
  close_shortest_ways_but_receives();
  empty(&g_received_types);
}

}  // namespace fgmpi::mpi
