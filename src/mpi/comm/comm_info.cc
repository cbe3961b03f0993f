// Names and hints of communicators (MPI-4.0 sections 7.4.4 and 7.8).

#include <cstring>

#include "comm/info.h"
#include "mpi/calls.h"
#include "mpi/comm/comm_common.h"
#include "mpi/life/session.h"

namespace fgmpi::mpi {

Status comm_set_name(comm::Comm* comm, const char* comm_name) {
  comm::set_name(comm, comm_name);
  return {};
}

int name_of_comm(const char* call, MPI_Comm comm, char* comm_name, int* resultlen) {
  comm::Comm* c = nullptr;
  if (comm != MPI_COMM_NULL) {
    FGMPI_ENTER(call, found, comm);
    c = found;
  } else {
    FGMPI_NEED_INIT(call);
  }
  FGMPI_RETURN_IF(call, c, check_pointer(comm_name, "comm_name"));
  FGMPI_RETURN_IF(call, c, check_pointer(resultlen, "resultlen"));
  const std::string words = c ? comm::name_of(c) : "MPI_COMM_NULL";
  std::memcpy(comm_name, words.c_str(), words.size() + 1);
  *resultlen = static_cast<int>(words.size());
  return MPI_SUCCESS;
}

Status comm_set_info(comm::Comm* comm, MPI_Info info) {
  comm::Hints hints;
  FGMPI_TRY(comm::read_hints(info, &hints));
  if (hints.empty() && !comm->extras) return {};
  for (auto& hint : hints) comm::put_hint(&comm::extras(comm).info, std::move(hint));
  return {};
}

Status comm_get_info(comm::Comm* comm, MPI_Info* info_used) {
  // What is not asserted is not so: the keys that we know and their values in use.
  comm::Hints hints;
  for (const char* key :
       {"mpi_assert_no_any_tag", "mpi_assert_no_any_source", "mpi_assert_exact_length",
        "mpi_assert_allow_overtaking", "mpi_assert_strict_persistent_collective_ordering"})
    hints.emplace_back(key, "false");
  if (comm->extras)
    for (auto hint : comm->extras->info) comm::put_hint(&hints, std::move(hint));
  comm::put_hint(&hints, {comm::kMemoryKindsKey, memory_kinds(comm->session)});
  return comm::create_info(hints, info_used);
}

}  // namespace fgmpi::mpi
