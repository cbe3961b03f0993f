// When a checkpoint is taken, and what is done then: all objects are thrown away and made again in
// the running job (FGMPI_CHECKPOINT=remake), as a restart does.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/clock.h"
#include "base/hash.h"
#include "checkpoint/deputy.h"
#include "checkpoint/here.h"
#include "checkpoint/process_thread.h"
#include "checkpoint/rest.h"
#include "checkpoint/rounds.h"
#include "checkpoint/save.h"
#include "checkpoint/stop.h"
#include "checkpoint/wrappers.h"
#include "fgmpi.h"

namespace fgmpi::checkpoint {
namespace {

/// The mode of tests: objects are made anew by MPIX_Checkpoint, and also as the text says.
///   remake:N             in front of each Nth collective of MPI_COMM_WORLD
///   remake:Nms[,SEED]    at random moments, on average each N milliseconds; also us
///   ,report              behind one of these: rank 0 says how often, at the end
///
/// Another one is for jobs that mpiexec -checkpoint has started:
///   leave:Nus            N microseconds after MPI_Init the job is saved, and ends; 0: it does not
///   ,report              behind that: rank 0 says how long the job has run since MPI_Init
///
/// Another mode, or in front of these with a comma:
///   deputy               ranks have deputies (deputy.h)
///   deputy:N             each rank leaves home, or comes home, in front of each Nth collective
///                        of MPI_COMM_WORLD
struct TestMode {
  bool on = false, leaves = false, reports = false;
  bool acts = false;                            ///< in front of some collectives
  uint64_t collectives = 0;                     ///< 0: never
  uint64_t moves = 0;                           ///< collectives between them; 0: never
  uint64_t microseconds = 0, random_state = 1;  ///< 0: never
  int64_t begun = 0;                            ///< ns, when the latest rank has begun
};
TestMode g_mode;

timespec to_pause(uint64_t microseconds) {
  return {static_cast<time_t>(microseconds / 1'000'000),
          static_cast<long>(microseconds % 1'000'000 * 1'000)};
}

/// Asks once that the job is saved and ends.
void* ask_to_leave_once(void*) {
  const timespec pause = to_pause(g_mode.microseconds);
  nanosleep(&pause, nullptr);
  request_to_leave();
  ask_for_stop();
  return nullptr;
}

/// Asks for stops at random moments, as somebody outside of the job would.
void* ask_at_random(void*) {
  for (;;) {
    g_mode.random_state = mix(g_mode.random_state, 1);
    const uint64_t pause = g_mode.random_state % (2 * g_mode.microseconds) + 1;
    const timespec time = to_pause(pause);
    nanosleep(&time, nullptr);
    ask_for_stop();
  }
}

}  // namespace

Saved rest_once(LayerRank& rank, bool talks, bool by_time) {
  if (!come_to_rest(rank, talks, by_time)) {
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
  if (saved == Saved::kRestarted) {
    begin_again(rank);
    restore_files(rank);
  }
  remake_objects(rank, rank.predefined);
  rank.predefined = {};
  rank.begins_again = false;
  rank.quiet = false;
  release_freed_handlers(rank);
  g_next.MPI_Barrier(rank.layer);
  return saved;
}

void read_mode(const char* text) {
  constexpr const char kDeputy[] = "deputy", kRemake[] = "remake", kLeave[] = "leave:";
  if (text && std::strncmp(text, kDeputy, sizeof kDeputy - 1) == 0) {
    use_deputies();
    text += sizeof kDeputy - 1;
    char* end = nullptr;
    if (*text == ':') {
      g_mode.moves = std::strtoull(text + 1, &end, 10);
      g_mode.acts = g_mode.moves != 0;
      text = end;
    }
    if (*text == ',') ++text;
  }
  if (text && std::strncmp(text, kLeave, sizeof kLeave - 1) == 0) {
    g_mode.leaves = true;
    g_mode.reports = std::strstr(text, ",report");
    g_mode.microseconds = std::strtoull(text + sizeof kLeave - 1, nullptr, 10);
    return;
  }
  if (!text || std::strncmp(text, kRemake, sizeof kRemake - 1) != 0) return;
  g_mode.on = true;
  text += sizeof kRemake - 1;
  g_mode.reports = std::strstr(text, ",report");
  if (*text != ':') return;
  char* end = nullptr;
  const uint64_t number = std::strtoull(text + 1, &end, 10);
  const bool milliseconds = std::strncmp(end, "ms", 2) == 0;
  if (!milliseconds && std::strncmp(end, "us", 2) != 0) {
    g_mode.collectives = number;
    g_mode.acts |= number != 0;
    return;
  }
  g_mode.microseconds = number * (milliseconds ? 1000 : 1);
  if (end[2] == ',') g_mode.random_state = std::strtoull(end + 3, nullptr, 10) + 1;
  g_coordinator.set_talks(false);
}

void start_asking(const LayerRank& rank) {
  if (rank.world_rank == 0 && g_mode.microseconds != 0)
    start_process_thread(g_mode.leaves ? ask_to_leave_once : ask_at_random, nullptr);
  g_mode.begun = now_ns();
}

void report_remade(const LayerRank& rank) {
  if (!g_mode.reports || rank.world_rank != 0) return;
  if (g_mode.leaves) {
    dprintf(STDERR_FILENO, "fgmpi-checkpoint: the job has run %lld us\n",
            static_cast<long long>((now_ns() - g_mode.begun) / 1'000));
    return;
  }
  dprintf(STDERR_FILENO,
          "fgmpi-checkpoint: all objects were made anew %llu times; refused %llu times\n",
          static_cast<unsigned long long>(rank.remade),
          static_cast<unsigned long long>(rank.refused + g_coordinator.given_up()));
}

void before_collective(LayerRank& rank, MPI_Comm comm) {
  if (!g_mode.acts || comm != MPI_COMM_WORLD || !rank.initialised || rank.quiet) return;
  // Ranks do so at different collectives. A buffer of a communicator's stays where it was attached.
  if (g_mode.moves != 0 && !rank.comm_buffers &&
      (++rank.before_move + static_cast<uint64_t>(rank.world_rank)) % g_mode.moves == 0) {
    if (rank.has_deputy)
      come_home(rank);
    else
      leave_home(rank);
  }
  if (g_mode.collectives != 0 && ++rank.before_remake % g_mode.collectives == 0)
    rest_once(rank, false, false);
}

namespace {

int take_checkpoint(MPI_Comm comm, int* flag) {
  LayerRank* rank = current_rank();
  if (!rank || !rank->initialised || comm != MPI_COMM_WORLD || !flag)  // errors are the library's
    return g_extensions.MPIX_Checkpoint(rank ? real_of(*rank, Object::kComm, comm) : comm, flag);
  stop_point(*rank, "MPIX_Checkpoint", {NextCollective::Begins::kBlocking, MPI_COMM_WORLD});
  count_collective(*rank, MPI_COMM_WORLD, true);
  const Saved saved = g_mode.on || has_folder() ? rest_once(*rank, true, false) : Saved::kNot;
  *flag = static_cast<int>(saved);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace fgmpi::checkpoint

/// For tests: how often the running rank's objects were made anew.
EXPORT uint64_t fgmpi_times_made_anew() {
  const fgmpi::checkpoint::LayerRank* rank = fgmpi::checkpoint::current_rank();
  return rank ? rank->remade : 0;
}

EXPORT int MPIX_Checkpoint(MPI_Comm comm, int* flag) {
  return fgmpi::checkpoint::take_checkpoint(comm, flag);
}
