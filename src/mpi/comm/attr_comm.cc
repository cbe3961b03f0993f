// Attributes on communicators (MPI-4.0 section 7.7.2), the MPI-1 names for them, and the entries
// for Fortran.

#include <unistd.h>

#include <algorithm>

#include "ch4-av-rankmap/hosts.h"
#include "comm/of_rank.h"
#include "dynamic/proclets.h"
#include "host/host.h"
#include "host/internal.h"
#include "mpi/calls.h"
#include "mpi/comm/attr_common.h"
#include "mpi/comm/comm_common.h"
#include "mpi/errors/user_errors.h"
#include "mpi/life/runtime.h"

namespace fgmpi::mpi {
namespace {

using comm::AttrKind;
using comm::KeyvalOf;

/// Number of ranks with which this rank is connected because it was spawned.
intptr_t ranks_of_parents() {
  MPI_Comm parent = MPI_COMM_NULL;
  if (!comm_get_parent(&parent).ok() || parent == MPI_COMM_NULL) return 0;
  return comm::find(parent)->shared->remote->size();
}

/// Ranks for which there is room, equal at all ranks. The launcher counts processes (-usize).
/// Without that option the number is one for each processor of the job's hosts. Each process may
/// host as many ranks as the job's do on average.
intptr_t universe_size() {
  intptr_t processes = boot().universe_size();
  if (processes <= 0)
    processes = std::max<intptr_t>(sysconf(_SC_NPROCESSORS_ONLN), 1) *
                std::max<intptr_t>(g_hosts.count(), 1);
  const intptr_t ranks = g_av.world_size();
  // Proclets that were spawned have their own world, sessions have none.
  const comm::Comm* world = comm::find(MPI_COMM_WORLD);
  const intptr_t own = world ? world->size() : ranks;
  return std::max(processes * ranks / static_cast<intptr_t>(g_av.processes()),
                  own + ranks_of_parents());
}

/// Values that differ between ranks of a process, some of which may have been spawned: C programs
/// receive their addresses.
struct OwnValues {
  intptr_t universe = 0, appnum = 0;
};
OwnValues& own_values() {
  static auto& all = *new comm::OfRank<OwnValues>;
  return all.mine();
}

/// A predefined attribute (Fortran's keyvals are one more than C's). False when `keyval` is none;
/// *found is false for one that has no value here.
bool predefined(int keyval, AttrKind kind, void* value, bool* found) {
  static intptr_t tag_ub = kTagUb, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, wtime_is_global;
  *found = true;
  switch (keyval & 1 ? keyval : keyval - 1) {
    case MPI_TAG_UB:
      comm::return_integer(&tag_ub, kind, value);
      return true;
    case MPI_HOST:
      comm::return_integer(&host, kind, value);
      return true;
    case MPI_IO:
      comm::return_integer(&io, kind, value);
      return true;
    case MPI_WTIME_IS_GLOBAL:
      comm::return_integer(&wtime_is_global, kind, value);
      return true;
    case MPI_UNIVERSE_SIZE: {
      intptr_t& universe = own_values().universe;
      universe = universe_size();
      comm::return_integer(&universe, kind, value);
      return true;
    }
    case MPI_LASTUSEDCODE:
      comm::return_integer(&last_used_code(), kind, value);
      return true;
    case MPI_APPNUM: {
      intptr_t& appnum = own_values().appnum;
      appnum = boot().appnum();
      if (dynamic::SpawnedRank spawned; dynamic::find_spawned(comm::rank_state()->local, &spawned))
        appnum = spawned.appnum;
      *found = appnum >= 0;
      if (*found) comm::return_integer(&appnum, kind, value);
      return true;
    }
    default:
      return false;
  }
}

Attributed attributed(comm::Comm* c) { return {KeyvalOf::kComm, c, c->handle}; }

}  // namespace

Status get_comm_attribute(comm::Comm* c, int keyval, AttrKind kind, void* value, int* flag) {
  bool found = false;
  *flag = 0;
  if (!is_predefined(KeyvalOf::kComm, keyval) || !predefined(keyval, kind, value, &found))
    FGMPI_TRY(get_attribute(attributed(c), keyval, kind, value, &found));
  *flag = found;
  return {};
}

int set_comm_attribute(const char* call, comm::Comm* c, int keyval, void* value, AttrKind kind) {
  return set_attribute(call, attributed(c), keyval, value, kind);
}

int delete_comm_attribute(const char* call, comm::Comm* c, int keyval) {
  return delete_attribute(call, attributed(c), keyval);
}

Status comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove,
                          int* keyval, void* extra) {
  return comm::create_keyval(KeyvalOf::kComm, erase_type(copy), erase_type(remove), extra, keyval);
}

Status keyval_create(MPI_Copy_function* copy, MPI_Delete_function* remove, int* keyval,
                     void* extra) {
  return comm::create_keyval(KeyvalOf::kComm, erase_type(copy), erase_type(remove), extra, keyval);
}

Status comm_free_keyval(int* keyval) { return free_keyval(KeyvalOf::kComm, keyval); }

}  // namespace fgmpi::mpi

using namespace fgmpi;

FGMPI_EXPORT_INTERNAL(MPII_Keyval_set_proxy);
void MPII_Keyval_set_proxy(int keyval, fgmpi_copy_proxy* copy, fgmpi_delete_proxy* remove) {
  FGMPI_TAKE_TURN("MPI_Comm_create_keyval", MPII_Keyval_set_proxy(keyval, copy, remove));
  auto copier = reinterpret_cast<comm::CopyProxy>(reinterpret_cast<void*>(copy));
  auto remover = reinterpret_cast<comm::DeleteProxy>(reinterpret_cast<void*>(remove));
  // Fortran's bindings created the keyval with the address of the caller's argument as extra state,
  // C++'s with the value.
  comm::set_proxies(keyval, copier, remover, host::is_of_fortran(reinterpret_cast<void*>(remove)));
}
