// Names and hints of communicators (MPI-4.0 sections 7.4.4 and 7.8).

#include <cstring>

#include "mpi/comm_common.h"

using namespace fgmpi;

FGMPI_EXPORT(MPI_Comm_set_name);
int PMPI_Comm_set_name(MPI_Comm comm, const char* name) {
  constexpr const char* kCall = "MPI_Comm_set_name";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(name, "comm_name"));
  comm::Extras& extras = comm::extras(c);
  extras.name = name;
  if (extras.name.size() >= MPI_MAX_OBJECT_NAME) extras.name.resize(MPI_MAX_OBJECT_NAME - 1);
  extras.named = true;
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Comm_get_name);
int PMPI_Comm_get_name(MPI_Comm comm, char* name, int* length) {
  constexpr const char* kCall = "MPI_Comm_get_name";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(name, "comm_name"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(length, "resultlen"));
  std::string words = comm::name_of(c);
  std::memcpy(name, words.c_str(), words.size() + 1);
  *length = static_cast<int>(words.size());
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Comm_set_info);
int PMPI_Comm_set_info(MPI_Comm comm, MPI_Info info) {
  constexpr const char* kCall = "MPI_Comm_set_info";
  FGMPI_ENTER(kCall, c, comm);
  comm::Hints hints;
  if (Status read = comm::read_hints(info, &hints); !read.ok())
    return mpi::bad_info(kCall, c, read);
  if (hints.empty() && !c->extras) return MPI_SUCCESS;
  for (auto& hint : hints) comm::put_hint(&comm::extras(c).info, std::move(hint));
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Comm_get_info);
int PMPI_Comm_get_info(MPI_Comm comm, MPI_Info* info) {
  constexpr const char* kCall = "MPI_Comm_get_info";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(info, "info"));
  // What is not asserted is not so: the keys that we know and their values in use.
  comm::Hints hints;
  for (const char* key : {"mpi_assert_no_any_tag", "mpi_assert_no_any_source",
                          "mpi_assert_exact_length", "mpi_assert_allow_overtaking"})
    hints.emplace_back(key, "false");
  if (c->extras)
    for (auto hint : c->extras->info) comm::put_hint(&hints, std::move(hint));
  return mpi::done(kCall, c, comm::make_info(hints, info));
}
