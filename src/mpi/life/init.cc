// MPI_Init and MPI_Finalize of a rank, and the calls that are allowed before and after (MPI-4.0
// section 11.2).

#include <strings.h>

#include <algorithm>
#include <cstdio>

#include "base/environment.h"
#include "base/processors.h"
#include "coll/coll.h"
#include "dynamic/proclets.h"
#include "mpi/binding.h"
#include "mpi/dynamic/dynamic.h"
#include "mpi/life/answering_thread.h"
#include "mpi/life/process.h"
#include "mpi/life/runtime.h"
#include "privatize/privatize.h"
#include "proclet-sched/coroutine/running_state.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::mpi {
namespace {

/// The phase of the rank that the calling thread belongs to; any thread may call this at any time.
uint8_t phase() {
  sched::Proclet* p = sched::rank_of_thread();
  return p ? p->mpi_phase : static_cast<uint8_t>(kBefore);
}

Status check_main_thread() {
  if (on_main_thread()) return {};
  return error(MPI_ERR_OTHER,
               "called by another thread of the rank; allowed is the one that runs main");
}

int init(const char* call, int required, int* provided) {
  FGMPI_TAKE_TURN(call, init(call, required, provided));
  if (privatize::started_through_us()) FGMPI_RETURN_IF(call, nullptr, check_main_thread());
  if (!sched::current()) FGMPI_RETURN_IF(call, nullptr, adopt_program());
  sched::Proclet* p = sched::current();
  if (p->mpi_phase == kInitialised)
    return fail(call, nullptr,
                error(MPI_ERR_OTHER, "called a second time by this rank; allowed is once"));
  if (p->mpi_phase >= kFinalised)
    return fail(call, nullptr,
                error(MPI_ERR_OTHER, "called after MPI_Finalize; allowed is once, before it"));
  if (required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE)
    return fail(
        call, nullptr,
        error(MPI_ERR_ARG, "required is %d; allowed is MPI_THREAD_SINGLE to MPI_THREAD_MULTIPLE",
              required));
  wait_for_siblings(p->index);
  FGMPI_RETURN_IF(call, nullptr, start_rank());
  auto* rank = static_cast<comm::RankState*>(p->rank_state);
  rank->thread_level = MPI_THREAD_SINGLE;
  if (provided) *provided = required;
  FGMPI_RETURN_IF(call, nullptr, connect_with_parents(rank));
  p->mpi_phase = kInitialised;
  grant_thread_level(required);
  return MPI_SUCCESS;
}

}  // namespace

Status read_thread_level(const char* text, const char* what, int* level) {
  for (int i = MPI_THREAD_SINGLE; i <= MPI_THREAD_MULTIPLE; ++i) {
    if (strcasecmp(text, name_of_thread_level(i)) != 0) continue;
    *level = i;
    return {};
  }
  return error(MPI_ERR_ARG, "%s is \"%s\"; allowed are %s, %s, %s and %s", what, text,
               name_of_thread_level(MPI_THREAD_SINGLE), name_of_thread_level(MPI_THREAD_FUNNELED),
               name_of_thread_level(MPI_THREAD_SERIALIZED),
               name_of_thread_level(MPI_THREAD_MULTIPLE));
}

const char* name_of_thread_level(int level) {
  static constexpr const char* kNames[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                           "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
  static_assert(MPI_THREAD_SINGLE == 0 && MPI_THREAD_MULTIPLE == 3);
  return kNames[level];
}

int level_to_grant(int level) {
  const sched::Proclet* p = sched::rank_of_thread();
  const int has = static_cast<const comm::RankState*>(p->rank_state)->thread_level;
  return sched::is_unattached_thread() ? has : std::max(has, level);
}

void admit_threads() {
  if (sched::threads_enabled()) return privatize::begin_time_slices();
  comm::close_fast_paths();
  if (process().idle) process().idle->set_gate(sched::release_engine, sched::reacquire_engine);
  sched::set_processors(
      static_cast<uint32_t>(std::max<int64_t>(usable_processors() / processes_on_host(), 1)));
  sched::enable_threads(!privatize::started_through_us());
  privatize::begin_time_slices();
}

void grant_thread_level(int level) {
  comm::RankState* rank = comm::rank_state();
  rank->thread_level = std::max(rank->thread_level, level);
  const bool answers = is_answering_thread_needed();
  if (level <= MPI_THREAD_FUNNELED && !answers) return;
  admit_threads();
  if (answers) start_answering_thread();
}

int leave_with(int code) {
  sched::EngineEntry::leave();
  return code;
}

int end_loan_with(int code) {
  sched::EngineEntry::end_loan();
  return code;
}

void refuse_thread(const char* call) {
  std::fprintf(
      stderr,
      "fgmpi: %s: called by a thread that belongs to no rank: it was not started by a rank, or "
      "before the "
      "ranks of this process began; allowed are the threads that a rank starts from its main on\n",
      call);
  end_process(1);
}

Status start_rank() {
  if (const sched::Proclet* p = sched::is_unattached_thread() ? sched::rank_of_thread() : nullptr)
    return p->rank_state ? Status() : check_main_thread();
  if (!sched::current()) FGMPI_TRY(adopt_program());
  sched::Proclet* p = sched::current();
  if (p->rank_state) return {};
  FGMPI_TRY(check_main_thread());  // the first session, or MPI_Init
  FGMPI_TRY(privatize::begin_late_ranks());
  FGMPI_TRY(connect_from_rank());
  auto* rank = new comm::RankState;
  rank->local = p->index;
  rank->world_rank = g_av.global_of_local(p->index);
  sched::detail::g_running_state = p->rank_state = rank;
  dynamic::SpawnedRank spawned;
  if (!dynamic::find_spawned(p->index, &spawned)) return comm::init_rank(rank);
  dynamic::record_world_claimed(p->index);
  return comm::init_rank(rank, spawned.world, spawned.rank);
}

void finalize_running_rank() {
  sched::Proclet* p = sched::current();
  auto* rank = static_cast<comm::RankState*>(p->rank_state);
  comm::delete_rank_attributes(rank);
  delete_type_attributes(rank->local);
  comm::finalize_rank(rank);
  p->mpi_phase = kFinalised;
}

namespace {
void (*g_tool_left)(int status) = nullptr;
}

void set_tool_left(void (*left)(int status)) { g_tool_left = left; }

void finalize_forgotten(int status) {
  sched::Proclet* p = sched::current();
  auto* rank = static_cast<comm::RankState*>(p->rank_state);
  if (g_tool_left) g_tool_left(status);
  if (status != 0) {
    std::fprintf(stderr, "fgmpi: rank %u exited with status %d without calling MPI_Finalize\n",
                 static_cast<uint32_t>(rank->world.rank), status);
  }
  finalize_running_rank();
}

}  // namespace fgmpi::mpi

using namespace fgmpi;

FGMPI_EXPORT(MPI_Init);
int PMPI_Init(int*, char***) {
  constexpr const char* kCall = "MPI_Init";
  int level = MPI_THREAD_SINGLE;
  if (const char* text = environment::text(environment::kDefaultThreadLevel))
    FGMPI_RETURN_IF(
        kCall, nullptr,
        mpi::read_thread_level(text, environment::name(environment::kDefaultThreadLevel), &level));
  return mpi::init(kCall, level, nullptr);
}

FGMPI_EXPORT(MPI_Init_thread);
int PMPI_Init_thread(int*, char***, int required, int* provided) {
  return mpi::init("MPI_Init_thread", required, provided);
}

FGMPI_EXPORT(MPI_Initialized);
int PMPI_Initialized(int* flag) {
  *flag = mpi::phase() != mpi::kBefore;
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Finalized);
int PMPI_Finalized(int* flag) {
  *flag = mpi::phase() >= mpi::kFinalised;
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Finalize);
int PMPI_Finalize(void) {
  constexpr const char* kCall = "MPI_Finalize";
  FGMPI_TAKE_TURN(kCall, PMPI_Finalize());
  if (sched::threads_enabled()) FGMPI_RETURN_IF(kCall, nullptr, mpi::check_main_thread());
  if (mpi::phase() != mpi::kInitialised) {
    return mpi::fail(kCall, nullptr,
                     error(MPI_ERR_OTHER, "called %s; allowed is once, after MPI_Init",
                           mpi::phase() == mpi::kBefore ? "before MPI_Init" : "a second time"));
  }
  // Messages in attached buffers are sent first, as if these were detached (MPI-4.0 section
  // 11.2.2).
  if (pt2pt::RankBuffers* buffers = comm::rank_state()->buffers)
    pt2pt::flush_all_buffers(buffers, kCall);
  mpi::finalize_running_rank();
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Query_thread);
int PMPI_Query_thread(int* provided) {
  const sched::Proclet* p = sched::rank_of_thread();
  if (!p || !p->rank_state) return mpi::bad_comm("MPI_Query_thread", MPI_COMM_SELF);
  *provided = static_cast<const comm::RankState*>(p->rank_state)->thread_level;
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Is_thread_main);
int PMPI_Is_thread_main(int* flag) {
  *flag = mpi::on_main_thread();
  return MPI_SUCCESS;
}
