// Processes that join later: ports, connections between jobs, published names (MPI-4.0 sections 11.8 and 11.10).

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "coll/coll.h"
#include "dynamic/connect.h"
#include "dynamic/links.h"
#include "dynamic/names.h"
#include "dynamic/ports.h"
#include "mpi/calls.h"
#include "mpi/comm_common.h"
#include "mpi/dynamic.h"
#include "mpi/process.h"
#include "mpi/runtime.h"

namespace fgmpi::mpi {
namespace {

/// Of a call that takes a port's name at its root only.
Status connect_by_port(const char* call, dynamic::Way way, const char* port_name, int root,
                       comm::Comm* comm, comm::Comm** newcomm) {
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
  return connect_by_port("MPI_Comm_accept", dynamic::Way::kAccept, port_name, root, comm, newcomm);
}

Status comm_connect(const char* port_name, MPI_Info, int root, comm::Comm* comm,
                    comm::Comm** newcomm) {
  return connect_by_port("MPI_Comm_connect", dynamic::Way::kConnect, port_name, root, comm,
                         newcomm);
}

Status comm_join(int fd, comm::Comm** intercomm) {
  FGMPI_TRY(check_socket(fd));
  comm::Comm* self = comm::find(MPI_COMM_SELF);
  if (!self) return Status(MPI_ERR_COMM, comm::describe_bad(MPI_COMM_SELF));
  return dynamic::connect(self, 0, {dynamic::Way::kJoin, "MPI_Comm_join", "", fd}, intercomm);
}

/// Collective: when it returns, all members have called it, so all that was sent before has been received.
int disconnect(const char* call, comm::Comm* comm) {
  if (comm->handle != MPI_COMM_WORLD && comm->handle != MPI_COMM_SELF) {
    Status status = coll::barrier(comm, call);
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

}  // namespace fgmpi::mpi
