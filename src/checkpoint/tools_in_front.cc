// What a tool in front of the layer needs of a rank that moves. Thread rule: a rank's.
#include "base/checkpoint_link.h"
#include "base/environment.h"
#include "base/moves_link.h"
#include "checkpoint/here.h"
#include "checkpoint/moves.h"
#include "checkpoint/stop.h"
#include "checkpoint/tool_extensions.h"

#pragma weak fgmpi_move_rank

namespace fgmpi::checkpoint {
namespace {

/// The tool's function; code of its library, at the same address in all processes of the host.
void (*g_tool_follows)(uint32_t, uint32_t) = nullptr;

void** word_of_tool() {
  LayerRank* rank = current_rank();
  return rank ? &rank->tool_word : nullptr;
}

/// What the layer allocates is the running rank's (heap/callers.cc). A jump to calloc() would make
/// the tool the caller.
void* memory_for_tool(size_t bytes) { return new char[bytes](); }

int peer_for_tool(MPI_Comm comm, int member, int* way) {
  *way = 0;
  LayerRank* rank = current_rank();
  if (!rank || !MPIX_Tool_peer) return -1;
  return MPIX_Tool_peer(g_real_here(*rank, Object::kComm, comm), member, way);
}

void follow_moves(void (*moved)(uint32_t, uint32_t)) { g_tool_follows = moved; }

constexpr MovesForTools kMovesForTools = {word_of_tool, memory_for_tool, peer_for_tool,
                                          set_handlers_of_tool, follow_moves};

}  // namespace

void tell_tool_of_move(uint32_t from, uint32_t to) {
  if (g_tool_follows) g_tool_follows(from, to);
}

}  // namespace fgmpi::checkpoint

using namespace fgmpi::checkpoint;

// The tool's constructor may ask before the layer's has run.
const MovesForTools* fgmpi_moves_for_tools() {
  return fgmpi::environment::lets_ranks_move() && fgmpi_move_rank ? &kMovesForTools : nullptr;
}
