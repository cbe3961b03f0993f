// Calls without communication: time, names, memory, addresses; and the extensions about where a
// rank lives.

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/host_name.h"
#include "comm/hardware.h"
#include "comm/info.h"
#include "fgmpi.h"
#include "mpi/binding.h"
#include "mpi/calls.h"
#include "pt2pt/message_decider.h"

namespace fgmpi::mpi {

Status get_processor_name(char* name, int* resultlen) {
  const std::string host = host_name().substr(0, MPI_MAX_PROCESSOR_NAME - 1);
  std::strcpy(name, host.c_str());
  *resultlen = static_cast<int>(host.size());
  return {};
}

Status get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return {};
}

Status get_library_version(char* version, int* resultlen) {
  *resultlen = std::snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING,
                             "Finegrain MPI %s (MPI %d.%d, MPICH ABI %s)", FGMPI_VERSION,
                             MPI_VERSION, MPI_SUBVERSION, MPICH_VERSION);
  return {};
}

Status get_hw_resource_info(MPI_Info* hw_info) {
  comm::Hints entries;
  for (const comm::ResourceKind& kind : comm::resource_kinds())
    entries.emplace_back(std::string("hwloc://") + kind.name, kind.restricted ? "true" : "false");
  return comm::create_info(std::move(entries), hw_info);
}

Status alloc_mem(MPI_Aint size, MPI_Info, void* baseptr) {
  if (size < 0) return error(MPI_ERR_ARG, "size is %ld; allowed is 0 or more", size);
  void* memory = std::malloc(size ? size : 1);
  if (!memory) return error(MPI_ERR_NO_MEM, "cannot allocate %ld bytes", size);
  std::memcpy(baseptr, &memory, sizeof memory);
  return {};
}

Status free_mem(void* base) {
  std::free(base);
  return {};
}

}  // namespace fgmpi::mpi

using namespace fgmpi;

FGMPI_EXPORT(MPI_Wtime);
double PMPI_Wtime(void) { return mpi::wtime(); }

FGMPI_EXPORT(MPI_Wtick);
double PMPI_Wtick(void) {
  timespec tick;
  clock_getres(CLOCK_MONOTONIC, &tick);
  return static_cast<double>(tick.tv_sec) + 1e-9 * static_cast<double>(tick.tv_nsec);
}

FGMPI_EXPORT(MPI_Pcontrol);
int PMPI_Pcontrol(const int, ...) { return MPI_SUCCESS; }

FGMPI_EXPORT(MPI_Aint_add);
MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp) { return base + disp; }

FGMPI_EXPORT(MPI_Aint_diff);
MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2) { return addr1 - addr2; }

// ---- Extensions ---------------------------------------------------------------------------------
namespace {

/// Extensions that only read what the process knows.
int answer(const char* call, int* out, uint32_t value) {
  if (!comm::rank_state()) return mpi::bad_comm(call, MPI_COMM_SELF);
  if (!out) return mpi::fail(call, nullptr, error(MPI_ERR_ARG, "the result is a null pointer"));
  *out = static_cast<int>(value);
  return MPI_SUCCESS;
}

/// The process in which the rank has begun, also where it has moved to another one.
uint32_t home() {
  const comm::RankState* rank = comm::rank_state();
  return rank && g_av.ranks_move() ? g_av.process_of(rank->world_rank) : g_av.me();
}

}  // namespace

FGMPI_EXTENSION int MPIX_Get_collocated_size(int* size) {
  FGMPI_TAKE_TURN("MPIX_Get_collocated_size", MPIX_Get_collocated_size(size));
  return answer("MPIX_Get_collocated_size", size, g_av.count(home()));
}
FGMPI_EXTENSION int MPIX_Get_collocated_startrank(int* rank) {
  FGMPI_TAKE_TURN("MPIX_Get_collocated_startrank", MPIX_Get_collocated_startrank(rank));
  return answer("MPIX_Get_collocated_startrank", rank, g_av.first(home()));
}
FGMPI_EXTENSION int MPIX_Get_n_size(int* size) {
  FGMPI_TAKE_TURN("MPIX_Get_n_size", MPIX_Get_n_size(size));
  return answer("MPIX_Get_n_size", size, g_av.processes());
}

FGMPI_EXTENSION int MPIX_Yield(void) {
  FGMPI_TAKE_TURN("MPIX_Yield", MPIX_Yield());
  pt2pt::yield_before_retry("MPIX_Yield");
  return MPI_SUCCESS;
}
FGMPI_EXTENSION int MPIX_Usleep(unsigned microseconds) {
  FGMPI_TAKE_TURN("MPIX_Usleep", MPIX_Usleep(microseconds));
  sched::sleep_for(int64_t{1000} * microseconds);
  return MPI_SUCCESS;
}
