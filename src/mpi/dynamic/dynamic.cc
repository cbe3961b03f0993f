// Processes that join later: ports, connections between jobs, published names (MPI-4.0 sections
// 11.8 and 11.10).

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/strings.h"
#include "coll/coll.h"
#include "comm/of_rank.h"
#include "dynamic/connect.h"
#include "dynamic/inside.h"
#include "dynamic/links.h"
#include "dynamic/names.h"
#include "dynamic/ports.h"
#include "dynamic/proclets.h"
#include "dynamic/starter.h"
#include "mpi/abi_support.h"
#include "mpi/calls.h"
#include "mpi/comm/comm_common.h"
#include "mpi/dynamic/dynamic.h"
#include "mpi/entry.h"
#include "mpi/life/process.h"
#include "mpi/life/runtime.h"

namespace fgmpi::mpi {
namespace {

/// Connects by a port, whose name only the root passes.
Status connect_by_port(const char* call, dynamic::ConnectionWay way, const char* port_name,
                       int root, comm::Comm* comm, comm::Comm** newcomm) {
  FGMPI_TRY(check_intra(comm));
  const bool at_root = comm->rank == root;
  if (at_root) FGMPI_TRY(check_pointer(port_name, "port_name"));
  return dynamic::connect(comm, root, {way, call, at_root ? port_name : "", -1}, newcomm);
}

Status check_socket(int fd) {
  int type = 0;
  socklen_t length = sizeof type;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM) return {};
  return error(MPI_ERR_ARG, "fd is %d, which is not a connected stream socket", fd);
}

}  // namespace

Status open_port(MPI_Info, char* port_name) {
  std::string name;
  FGMPI_TRY(dynamic::open_port(&name));
  std::memcpy(port_name, name.c_str(), name.size() + 1);
  return {};
}

Status close_port(const char* port_name) { return dynamic::close_port(port_name); }

Status comm_accept(const char* port_name, MPI_Info, int root, comm::Comm* comm,
                   comm::Comm** newcomm) {
  return connect_by_port("MPI_Comm_accept", dynamic::ConnectionWay::kAccept, port_name, root, comm,
                         newcomm);
}

Status comm_connect(const char* port_name, MPI_Info, int root, comm::Comm* comm,
                    comm::Comm** newcomm) {
  return connect_by_port("MPI_Comm_connect", dynamic::ConnectionWay::kConnect, port_name, root,
                         comm, newcomm);
}

Status comm_join(int fd, comm::Comm** intercomm) {
  FGMPI_TRY(check_socket(fd));
  comm::Comm* self = comm::find(MPI_COMM_SELF);
  if (!self) return Status(MPI_ERR_COMM, comm::describe_bad(MPI_COMM_SELF));
  return dynamic::connect(self, 0, {dynamic::ConnectionWay::kJoin, "MPI_Comm_join", "", fd},
                          intercomm);
}

/// Collective: when this returns, all members have called it, so all messages that were sent before
/// have been received.
int disconnect(const char* call, comm::Comm* comm) {
  if (comm->handle != MPI_COMM_WORLD && comm->handle != MPI_COMM_SELF) {
    // Messages in the communicator's own buffer are sent first (MPI-4.0 section 11.10.4).
    Status status = comm->extras ? pt2pt::flush_buffer(&comm->extras->buffer, call) : Status();
    if (status.ok()) status = coll::barrier(comm, call);
    if (!status.ok()) return code_of(call, status);
  }
  return release_comm(call, comm);
}

Status publish_name(const char* service_name, MPI_Info, const char* port_name) {
  return dynamic::publish_name(service_name, port_name);
}

Status unpublish_name(const char* service_name, MPI_Info, const char*) {
  return dynamic::unpublish_name(service_name);
}

Status lookup_name(const char* service_name, MPI_Info, char* port_name) {
  std::string port;
  FGMPI_TRY(dynamic::lookup_name(service_name, &port));
  const size_t bytes = std::min<size_t>(port.size(), MPI_MAX_PORT_NAME - 1);
  std::memcpy(port_name, port.data(), bytes);
  port_name[bytes] = 0;
  return {};
}

namespace {

/// For each rank of this process, the communicator with its parents; null where it was freed, or
/// there are no parents.
struct ParentComm {
  MPI_Comm handle = MPI_COMM_NULL;
  comm::ContextId id;
};
std::vector<ParentComm>& parent_comms() {
  static auto* all = new std::vector<ParentComm>(process().ranks);
  return *all;
}

/// Returns the port of the parents; empty in a process that was not spawned. Removes it from the
/// environment, so that programs that this process starts do not use it.
const std::string& parents_port() {
  static const std::string* port = [] {
    const char* text = environment::text(environment::kParent);
    auto* kept = new std::string(text ? text : "");
    environment::unset(environment::kParent);
    return kept;
  }();
  return *port;
}

/// The error handler that the info key mpi_initial_errhandler of the spawn, or mpiexec
/// -initial-errhandler, named.
MPI_Errhandler initial_errhandler(std::string_view text) {
  if (text == "mpi_errors_return") return MPI_ERRORS_RETURN;
  if (text == "mpi_errors_abort") return MPI_ERRORS_ABORT;
  return MPI_ERRORS_ARE_FATAL;
}

void store_parents(const comm::RankState* rank, comm::Comm* made) {
  comm::set_name(made, "MPI_COMM_PARENT");
  if (parent_comms().size() <= rank->local) parent_comms().resize(rank->local + 1);
  parent_comms()[rank->local] = {made->handle, made->shared->id};
}

/// Connects a rank that was spawned as a proclet: both communicators exist already.
Status claim_parents(comm::RankState* rank, const dynamic::SpawnedRank& spawned) {
  rank->world.errhandler = rank->self.errhandler = initial_errhandler(spawned.errhandler);
  comm::Comm* made = nullptr;
  dynamic::record_parents_claimed(rank->local);
  FGMPI_TRY(comm::enter(spawned.parents, spawned.rank, nullptr, &made));
  store_parents(rank, made);
  dynamic::inside::record_order_target(made->shared->id);
  return {};
}

Status command_of(const char* program, char** arguments, int maxprocs, MPI_Info info,
                  dynamic::Command* out) {
  FGMPI_TRY(check_pointer(program, "command"));
  out->program = program;
  for (char** at = arguments; at && *at; ++at) out->arguments.emplace_back(*at);
  out->ranks = maxprocs;
  return comm::read_info(info, &out->info);
}

/// The number of results that each rank's last spawn has given to it.
auto& g_results_of_spawn = *new comm::OfRank<size_t>;

/// `commands` are the root's. An error in them is the root's error first; by the collective it
/// becomes every member's.
Status spawn(const char* call, const std::vector<dynamic::Command>& commands, int root,
             comm::Comm* comm, comm::Comm** intercomm, int* codes) {
  std::vector<int> all;
  dynamic::ConnectArguments arguments{
      dynamic::ConnectionWay::kSpawn, call, "", -1, &commands, &all};
  Status status = dynamic::connect(comm, root, arguments, intercomm);
  if (codes != MPI_ERRCODES_IGNORE) std::copy(all.begin(), all.end(), codes);
  g_results_of_spawn.mine() = all.size();
  return status;
}

}  // namespace

Status comm_spawn(const char* command, char** argv, int maxprocs, MPI_Info info, int root,
                  comm::Comm* comm, comm::Comm** intercomm, int* array_of_errcodes) {
  FGMPI_TRY(check_intra(comm));
  std::vector<dynamic::Command> commands;
  if (comm->rank == root)
    FGMPI_TRY(command_of(command, argv, maxprocs, info, &commands.emplace_back()));
  return spawn("MPI_Comm_spawn", commands, root, comm, intercomm, array_of_errcodes);
}

Status comm_spawn_multiple(int count, char** array_of_commands, char*** array_of_argv,
                           const int* array_of_maxprocs, const MPI_Info* array_of_info, int root,
                           comm::Comm* comm, comm::Comm** intercomm, int* array_of_errcodes) {
  FGMPI_TRY(check_intra(comm));
  std::vector<dynamic::Command> commands;
  if (comm->rank == root) {
    if (count < 1) return error(MPI_ERR_ARG, "count is %d; allowed is 1 or more", count);
    FGMPI_TRY(check_pointer(array_of_commands, "array_of_commands"));
    FGMPI_TRY(check_pointer(array_of_maxprocs, "array_of_maxprocs"));
    FGMPI_TRY(check_pointer(array_of_info, "array_of_info"));
    for (int k = 0; k < count; ++k)
      FGMPI_TRY(command_of(array_of_commands[k],
                           array_of_argv == MPI_ARGVS_NULL ? nullptr : array_of_argv[k],
                           array_of_maxprocs[k], array_of_info[k], &commands.emplace_back()));
  }
  return spawn("MPI_Comm_spawn_multiple", commands, root, comm, intercomm, array_of_errcodes);
}

void wait_for_siblings(uint32_t local) {
  if (!dynamic::wait_for_spawned_ranks(local)) exit(1);
}

void notify_parents_of_end(uint32_t local) {
  const std::string& port = parents_port();
  if (port.empty() || dynamic::is_spawned(local)) return;
  dynamic::send_end_to_starter(port, process().connected ? g_av.my_first() + local : ~0u);
  // The others wait in MPI_Init until the parents end this job: this is no deadlock to report.
  pt2pt::set_connected_to_others(true);
}

Status connect_with_parents(comm::RankState* rank) {
  if (dynamic::SpawnedRank spawned; dynamic::find_spawned(rank->local, &spawned))
    return claim_parents(rank, spawned);
  const std::string& port = parents_port();
  const char* handler = environment::text(environment::kInitialErrhandler);
  if (handler || !port.empty())
    rank->world.errhandler = rank->self.errhandler = initial_errhandler(handler ? handler : "");
  if (port.empty()) return {};
  comm::Comm* made = nullptr;
  FGMPI_TRY(dynamic::connect(&rank->world, 0, {dynamic::ConnectionWay::kConnect, "MPI_Init", port},
                             &made));
  store_parents(rank, made);
  return {};
}

Status comm_get_parent(MPI_Comm* parent) {
  *parent = MPI_COMM_NULL;
  const uint32_t local = comm::rank_state()->local;
  if (parents_port().empty() && !dynamic::is_spawned(local)) return {};
  const ParentComm& mine = parent_comms()[local];
  const comm::Comm* found = mine.handle == MPI_COMM_NULL ? nullptr : comm::find(mine.handle);
  // The handle may be another communicator's by now.
  if (found && found->shared->id == mine.id) *parent = mine.handle;
  return {};
}

}  // namespace fgmpi::mpi

using namespace fgmpi;
using namespace fgmpi::mpi;

int64_t fgmpi_abi_results_of_spawn(void) {
  FGMPI_TAKE_TURN("MPI_Comm_spawn", fgmpi_abi_results_of_spawn());
  const size_t* found = g_results_of_spawn.find_mine();
  return found ? static_cast<int64_t>(*found) : 0;
}
