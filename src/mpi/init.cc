// MPI_Init and MPI_Finalize of a rank, and the calls that are allowed before and after (MPI-4.0 section 11.2).

#include <cstdio>

#include "coll/coll.h"
#include "mpi/binding.h"
#include "mpi/runtime.h"

namespace fgmpi::mpi {
namespace {

uint8_t phase() {
  sched::Proclet* p = sched::current();
  return p ? p->mpi_phase : static_cast<uint8_t>(kBefore);
}

int init(const char* call, int required, int* provided) {
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
  FGMPI_RETURN_IF(call, nullptr, start_rank());
  auto* rank = static_cast<comm::RankState*>(p->rank_state);
  // All ranks of a process share its thread: other threads of a program may compute but not call MPI.
  rank->thread_level = required < MPI_THREAD_FUNNELED ? required : MPI_THREAD_FUNNELED;
  if (provided) *provided = rank->thread_level;
  p->mpi_phase = kInitialised;
  return MPI_SUCCESS;
}

}  // namespace

Status start_rank() {
  if (!sched::current()) FGMPI_TRY(adopt_program());
  sched::Proclet* p = sched::current();
  if (p->rank_state) return {};
  Status connected;
  sched::call_on_host([&] { connected = connect(); });
  FGMPI_TRY(std::move(connected));
  auto* rank = new comm::RankState;
  rank->local = p->index;
  rank->world_rank = g_av.my_first() + p->index;
  p->rank_state = rank;
  return comm::init_rank(rank);
}

void finalize_running_rank() {
  sched::Proclet* p = sched::current();
  auto* rank = static_cast<comm::RankState*>(p->rank_state);
  comm::delete_rank_attributes(rank);
  delete_type_attributes(rank->local);
  comm::finalize_rank(rank);
  p->mpi_phase = kFinalised;
}

void finalize_forgotten(int status) {
  sched::Proclet* p = sched::current();
  auto* rank = static_cast<comm::RankState*>(p->rank_state);
  if (status != 0) {
    std::fprintf(stderr, "fgmpi: rank %u exited with status %d without calling MPI_Finalize\n",
                 rank->world_rank, status);
  }
  finalize_running_rank();
}

}  // namespace fgmpi::mpi

using namespace fgmpi;

FGMPI_EXPORT(MPI_Init);
int PMPI_Init(int*, char***) { return mpi::init("MPI_Init", MPI_THREAD_SINGLE, nullptr); }

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
  if (mpi::phase() != mpi::kInitialised) {
    return mpi::fail(kCall, nullptr,
                     error(MPI_ERR_OTHER, "called %s; allowed is once, after MPI_Init",
                           mpi::phase() == mpi::kBefore ? "before MPI_Init" : "a second time"));
  }
  // Messages in the attached buffer are sent first, as if it were detached (MPI-4.0 section 11.2.2).
  void* buffer;
  int64_t bytes;
  comm::RankState* rank = comm::rank_state();
  FGMPI_RETURN_IF(kCall, nullptr, pt2pt::detach_buffer(&rank->bsend, &buffer, &bytes, kCall));
  mpi::finalize_running_rank();
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Query_thread);
int PMPI_Query_thread(int* provided) {
  comm::RankState* rank = comm::rank_state();
  if (!rank) return mpi::bad_comm("MPI_Query_thread", MPI_COMM_SELF);
  *provided = rank->thread_level;
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Is_thread_main);
int PMPI_Is_thread_main(int* flag) {
  *flag = mpi::on_main_thread();
  return MPI_SUCCESS;
}
