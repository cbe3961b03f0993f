// Fan-in: reductions of two, four or eight operands in one pass, where folding by pairs would write
// and read every partial result again.
//
//   sources  0 1 2 3 4 5 6 7      out[i] = ((0 1)(2 3))((4 5)(6 7)), the tree of fold.h: the same
//             \ \ \| |/ / /       bits as by pairs
//               one pass
//
// Fan-in wins where vectors come from memory: 1.13 accesses an operand instead of 2 to 3. Kernels
// exist for the basic arithmetic types of 4 and 8 bytes with MPI_SUM, MPI_PROD, MPI_MIN and
// MPI_MAX, in the widest registers of the processor.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "base/registers.h"
#include "datatype/datatype.h"

namespace fgmpi::coll {

/// Sets out[i] to the fold of sources[k][i] for `count` elements; a source's elements begin
/// `offset` bytes behind its address. Any alignment is allowed. `out` may be one of the (offset)
/// sources, else it must not overlap them.
using FanInKernel = void (*)(const char* const* sources, size_t offset, char* out, int64_t count);

struct FanIn {
  FanInKernel two, four, eight;
};

/// The kernels of an operation on a type, or nullptr when there are none. REQUIRES: the processor
/// has these registers.
const FanIn* fan_in(MPI_Op op, const datatype::Type& type,
                    Registers registers = widest_registers());

}  // namespace fgmpi::coll
