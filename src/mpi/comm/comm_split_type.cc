// MPI_Comm_split_type (MPI-4.0 section 7.4.2): by host, by hardware resource, guided or not.

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <vector>

#include "base/strings.h"
#include "ch4-av-rankmap/process_groups.h"
#include "coll/coll.h"
#include "comm/create.h"
#include "comm/hardware.h"
#include "comm/info.h"
#include "mpi/calls.h"
#include "mpi/comm/comm_common.h"

namespace fgmpi::mpi {
namespace {

constexpr const char* kCall = "MPI_Comm_split_type";
constexpr const char* kResourceKey = "mpi_hw_resource_type";
constexpr const char* kSetKey = "mpi_pset_name";
constexpr const char* kDirectoryKey = "nbhd_common_dirname";

/// The number of members of both groups of an intercommunicator, else of the group.
int everybody_in(const comm::Comm* c) {
  const comm::SharedComm& shared = *c->shared;
  return shared.size + (shared.inter ? shared.remote->size() : 0);
}

/// Replaces each value by the largest of all members' values, of both groups of an
/// intercommunicator. When this returns, all members have called it.
Status find_largest(comm::Comm* c, int64_t* values, int count) {
  if (!c->shared->inter) return coll::allreduce_int64(c, values, count, MPI_MAX, kCall);
  // The first round gives each group the other's largest value, the second its own.
  std::vector<int64_t> theirs(values, values + count);
  FGMPI_TRY(coll::allreduce_int64(c, theirs.data(), count, MPI_MAX, kCall));
  std::vector<int64_t> ours = theirs;
  FGMPI_TRY(coll::allreduce_int64(c, ours.data(), count, MPI_MAX, kCall));
  for (int i = 0; i < count; ++i) values[i] = std::max(theirs[i], ours[i]);
  return {};
}

/// Splits, and frees the parent when it was only made for this split.
Status step(comm::Comm* parent, bool temporary, int color, int key, comm::Comm** out) {
  Status status = comm::split(parent, color, key, out);
  if (temporary) comm::free(parent);
  return status;
}

/// The members on this host, by key and rank; for an intercommunicator those of both groups, and
/// nullptr where one group has none here. A color has 31 bits, a host's number 62: so there are two
/// splits, the second only where more than one process is left.
Status split_by_host(comm::Comm* c, int key, comm::Comm** out) {
  uint64_t host = comm::host_number();
  FGMPI_TRY(step(c, false, static_cast<int>(host & 0x7fffffff), key, out));
  if (!*out || (*out)->shared->processes == 1) return {};
  return step(*out, true, static_cast<int>(host >> 31), 0, out);
}

/// The members restricted to one instance of a resource on one host; nullptr when they are not
/// restricted to one.
Status split_by_resource(comm::Comm* c, const std::string& kind, int key, comm::Comm** out) {
  comm::Comm* host = nullptr;
  *out = nullptr;
  FGMPI_TRY(split_by_host(c, 0, &host));
  if (!host) return {};
  int64_t instance = comm::resource_instance(kind);
  return step(host, true, instance < 0 ? MPI_UNDEFINED : static_cast<int>(instance), key, out);
}

/// The first level at which the communicator splits into several; nullptr when there is none, or
/// for a member that is in no instance of it.
Status split_unguided(comm::Comm* c, int key, comm::Comm** out, std::string* level) {
  *out = nullptr;
  comm::Comm *all = nullptr, *host = nullptr;
  FGMPI_TRY(step(c, false, 0, key, &all));  // members that gave MPI_UNDEFINED are out from here on
  if (!all) return {};                      // all of the other group gave it
  const int everybody = everybody_in(all);
  FGMPI_TRY(split_by_host(all, 0, &host));
  comm::free(all);
  *level = "Machine";
  if (!host || everybody_in(host) < everybody) {
    *out = host;
    return {};
  }
  for (const std::string& kind : comm::resource_levels()) {
    comm::Comm* made = nullptr;
    int64_t instance = comm::resource_instance(kind);
    FGMPI_TRY(
        step(host, false, instance < 0 ? MPI_UNDEFINED : static_cast<int>(instance), 0, &made));
    int64_t largest = made ? everybody_in(made) : 0;
    FGMPI_TRY(find_largest(host, &largest, 1));
    if (largest > 0 && largest < everybody) {
      *level = kind;
      *out = made;
      break;
    }
    if (made) comm::free(made);
  }
  comm::free(host);
  return {};
}

std::string probe_path(const std::string& directory, int64_t number) {
  return directory + format("/.fgmpi-probe-%016llx", static_cast<unsigned long long>(number));
}

/// Makes a new file in the directory. Returns the file's number, -1 where the directory permits no
/// files, 0 where there is no directory.
int64_t make_probe(const std::string& directory) {
  struct stat is;
  if (stat(directory.c_str(), &is) != 0 || !S_ISDIR(is.st_mode)) return 0;
  std::mt19937_64 draw(std::random_device{}());
  for (int tries = 0; tries < 10; ++tries) {
    const int64_t number = static_cast<int64_t>(draw() >> 1) | 1;
    const int file = open(probe_path(directory, number).c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (file >= 0) {
      close(file);
      return number;
    }
    if (errno != EEXIST) break;
  }
  return -1;
}

/// The members that see one directory under this name: MPICH's neighbourhoods of a file system. The
/// first member makes a file in it. Members that see that file belong to its neighbourhood; the
/// others repeat this among themselves. A host whose directory permits no files is a neighbourhood
/// of its own. nullptr where there is no such directory.
Status split_by_directory(comm::Comm* c, const std::string& directory, int key, comm::Comm** out) {
  *out = nullptr;
  comm::Comm* rest = nullptr;
  FGMPI_TRY(step(c, false, 0, key, &rest));
  const auto my_host = static_cast<int64_t>(comm::host_number());
  while (rest) {
    const bool first = rest->rank == 0 && rest->shared->side == 0;
    int64_t probe[2] = {INT64_MIN, INT64_MIN}, done = 0;  // number, host of the first member
    if (first) probe[0] = make_probe(directory), probe[1] = my_host;
    FGMPI_TRY(find_largest(rest, probe, 2));
    const bool found = probe[0] > 0 ? access(probe_path(directory, probe[0]).c_str(), F_OK) == 0
                                    : probe[1] == my_host;
    FGMPI_TRY(find_largest(rest, &done, 1));  // all have looked
    if (first && probe[0] > 0) unlink(probe_path(directory, probe[0]).c_str());
    comm::Comm* part = nullptr;
    FGMPI_TRY(step(rest, true, found ? (probe[0] == 0 ? MPI_UNDEFINED : 0) : 1, 0, &part));
    rest = found ? nullptr : part;
    if (found) *out = part;
  }
  return {};
}

void set_resource(MPI_Info info, const std::string& level) {
  if (info == MPI_INFO_NULL || level.empty()) return;
  (void)comm::set_in_info(info, kResourceKey, level.c_str());
}

/// The members in one instance of a process set (MPI-4.1 section 7.4.2); nullptr for a set that is
/// not known.
Status split_by_set(comm::Comm* c, const std::string& set, int key, comm::Comm** out) {
  const auto is = [&set](const char* name) { return strcasecmp(set.c_str(), name) == 0; };
  if (is("fgmpi://PROCESS")) return split_by_resource(c, "process", key, out);
  int color = MPI_UNDEFINED;
  if (is("mpi://WORLD")) {
    const auto world = static_cast<int32_t>(comm::rank_state()->world_rank);
    const uint32_t job = g_process_groups.short_name(g_process_groups.find_rank(world).pgid);
    color = static_cast<int>(job & 0x7fffffff);
  } else if (is("mpi://SELF") && !c->shared->inter) {
    color = c->rank;  // no rank is in both groups of an intercommunicator
  }
  return comm::split(c, color, key, out);
}

/// The values of types that differ between versions of mpi.h. With MPICH 4.0, kGuidedOrDirectory is
/// MPIX_COMM_TYPE_NEIGHBORHOOD; later it is MPI 4.1's MPI_COMM_TYPE_RESOURCE_GUIDED, and
/// MPIX_COMM_TYPE_NEIGHBORHOOD is kDirectory. A program of either works: the key in its info object
/// shows which of the two is meant.
constexpr int kGuidedOrDirectory = 4, kDirectory = 5;

/// The key kResourceKey of `info`: the members in one instance of this resource. Without the key
/// nobody gets a communicator.
Status split_guided(comm::Comm* c, const std::string& resource, int key, comm::Comm** out) {
  if (resource.empty()) return comm::split(c, MPI_UNDEFINED, 0, out);
  if (resource == "mpi_shared_memory") return split_by_host(c, key, out);
  return split_by_resource(c, resource, key, out);
}

Status split_by_type(comm::Comm* c, int type, int key, MPI_Info info, comm::Comm** out) {
  *out = nullptr;
  std::string resource, directory, set;
  switch (type) {
    case MPI_UNDEFINED:  // the splits of the others need everybody: this member has no color in any
      return comm::split(c, MPI_UNDEFINED, 0, out);
    case MPI_COMM_TYPE_SHARED:
      return split_by_host(c, key, out);
    case MPI_COMM_TYPE_HW_UNGUIDED: {
      FGMPI_TRY(split_unguided(c, key, out, &resource));
      if (*out) set_resource(info, resource);
      return {};
    }
    case MPI_COMM_TYPE_HW_GUIDED:
      FGMPI_TRY(comm::read_info_key(info, kResourceKey, &resource));
      return split_guided(c, resource, key, out);
    case kGuidedOrDirectory:
    case kDirectory:
      FGMPI_TRY(comm::read_info_key(info, kDirectoryKey, &directory));
      if (!directory.empty()) return split_by_directory(c, directory, key, out);
      if (type == kGuidedOrDirectory) FGMPI_TRY(comm::read_info_key(info, kResourceKey, &resource));
      if (type == kGuidedOrDirectory) FGMPI_TRY(comm::read_info_key(info, kSetKey, &set));
      if (resource.empty() && !set.empty()) return split_by_set(c, set, key, out);
      return split_guided(c, resource, key, out);
    default:
      return error(MPI_ERR_ARG,
                   "split_type is %d; allowed is MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED, "
                   "MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED, "
                   "MPIX_COMM_TYPE_NEIGHBORHOOD or MPI_UNDEFINED",
                   type);
  }
}

}  // namespace

Status comm_split_type(comm::Comm* comm, int split_type, int key, MPI_Info info,
                       comm::Comm** newcomm) {
  comm::Hints hints;
  FGMPI_TRY(comm::read_hints(info, &hints));
  Status status = split_by_type(comm, split_type, key, info, newcomm);
  if (*newcomm && !hints.empty()) apply_hints(*newcomm, std::move(hints));
  return status;
}

}  // namespace fgmpi::mpi
