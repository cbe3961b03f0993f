// When a checkpoint is taken, and what is done then: all objects are thrown away and made again in
// the running job (FGMPI_CHECKPOINT=remake), as a restart does.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "checkpoint/rest.h"
#include "checkpoint/wrappers.h"
#include "fgmpi.h"

namespace fgmpi::checkpoint {
namespace {

/// The mode of tests: objects are made anew by MPIX_Checkpoint, and in front of each so many
/// collectives of MPI_COMM_WORLD.
struct TestMode {
  bool on = false, reports = false;
  uint64_t collectives = 0;  ///< 0: never
};
TestMode g_mode;

}  // namespace

Saved rest_once(LayerRank& rank, bool talks) {
  if (!come_to_rest(rank, talks)) {
    stay_in_job(rank);
    ++rank.refused;
    return Saved::kNot;
  }
  const Saved saved = at_rest(rank);
  ++rank.remade;
  return saved;
}

Saved at_rest(LayerRank& rank) {
  rank.quiet = true;
  describe_objects(rank, &rank.predefined);
  g_next.MPI_Barrier(rank.layer);
  discard_objects(rank);
  const Saved saved = has_folder() ? save(rank) : Saved::kTaken;
  if (saved == Saved::kTaken && has_folder() && leaves()) leave_job(rank);
  if (saved == Saved::kNot) stay_in_job(rank);
  if (saved == Saved::kRestarted) begin_again(rank);
  remake_objects(rank, rank.predefined);
  rank.predefined = {};
  rank.quiet = false;
  release_freed_handlers(rank);
  g_next.MPI_Barrier(rank.layer);
  return saved;
}

void read_mode(const char* text) {
  constexpr const char kRemake[] = "remake";
  if (!text || std::strncmp(text, kRemake, sizeof kRemake - 1) != 0) return;
  g_mode.on = true;
  text += sizeof kRemake - 1;
  if (*text == ':') g_mode.collectives = std::strtoull(text + 1, nullptr, 10);
  g_mode.reports = std::strstr(text, ",report");
}

void report_remade(const LayerRank& rank) {
  if (!g_mode.reports || rank.world_rank != 0) return;
  dprintf(STDERR_FILENO,
          "fgmpi-checkpoint: all objects were made anew %llu times; refused %llu times\n",
          static_cast<unsigned long long>(rank.remade),
          static_cast<unsigned long long>(rank.refused));
}

void before_collective(LayerRank& rank, MPI_Comm comm) {
  if (g_mode.collectives == 0 || comm != MPI_COMM_WORLD || !rank.initialised || rank.quiet) return;
  if (++rank.before_remake % g_mode.collectives == 0) rest_once(rank, false);
}

namespace {

int take_checkpoint(MPI_Comm comm, int* flag) {
  LayerRank* rank = current_rank();
  if (!rank || !rank->initialised || comm != MPI_COMM_WORLD || !flag)  // errors are the library's
    return g_extensions.MPIX_Checkpoint(rank ? real_of(*rank, Object::kComm, comm) : comm, flag);
  const Saved saved = g_mode.on || has_folder() ? rest_once(*rank, true) : Saved::kNot;
  *flag = static_cast<int>(saved);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace fgmpi::checkpoint

EXPORT int MPIX_Checkpoint(MPI_Comm comm, int* flag) {
  return fgmpi::checkpoint::take_checkpoint(comm, flag);
}
