// Puts a call between the opening and the closing of a group:
//
//   in front of the loop     if (open) open (arguments);
//   on each way out of it    if (close) close (arguments);
//   in place of the call     (movement and MPI_... == PMPI_... ? movement : MPI_...) (arguments)
//
// `open`, `movement` and `close` are variables of the object file that hold the addresses of weak
// symbols: null where the program runs with an MPI library that has no opened groups. The program
// reads them when it runs: at link time the linker may see another library than the one that the
// program runs with. MPI_... differs from PMPI_... where a tool wraps it. Then the program calls
// the tool's function, and the tool's own call of PMPI_... is the movement, since the group is
// open. In Fortran the call stays as it is, and is the movement for the same reason.
#pragma once

#include "invariance.h"

namespace hoist {

/// The decisions about a call. The loops are those of the function.
struct HoistedCall {
  gcall* call;
  MpiCall mpi;
  loop_p loop;      ///< the group is open while this loop runs
  gimple_seq code;  ///< computes `arguments`
  /// The arguments in front of the loop; null or 0 for those without a value there, buffers
  /// included.
  std::vector<tree> arguments;
};

/// True where a group can be closed on all ways out of the loop, and opened on the ways into it.
/// *why: the obstacle.
bool can_enclose(loop_p loop, std::string* why);

void rewrite(HoistedCall* site);

/// Also closes the groups where an exception leaves the function from within a loop and no handler
/// here catches it. REQUIRES: all sites have been rewritten; dominators are no longer computed.
void close_on_exceptions(const std::vector<std::unique_ptr<HoistedCall>>& sites);

}  // namespace hoist
