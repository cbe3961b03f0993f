// Names of datatypes (MPI-4.0 section 7.8). A derived type belongs to one rank, and the host stores
// its name. Predefined types, and those that MPI_Type_create_f90_* returns again and again, are
// single objects of the host for all ranks of the process: the name that a rank gives them is
// stored here, for that rank.

#include <cstring>
#include <string>
#include <unordered_map>

#include "comm/of_rank.h"
#include "datatype/basic_type.h"
#include "datatype/datatype.h"
#include "host/host.h"
#include "mpi/calls.h"

namespace fgmpi::mpi {
namespace {

using Names = std::unordered_map<MPI_Datatype, std::string>;
comm::OfRank<Names>& names() {
  static auto* table = new comm::OfRank<Names>;
  return *table;
}

/// True where the ranks of a process share the type. Such types are never freed, so a name stays
/// valid.
bool is_shared(MPI_Datatype type) {
  if (datatype::is_basic(type) || datatype::pair_index(type) < datatype::kPairTypes) return true;
  int integers, addresses, types, combiner = MPI_COMBINER_DUP;
  const int code = host::call([&](const host::Api& h) {
    return h.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  });
  return code == MPI_SUCCESS &&
         (combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
          combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX);
}

}  // namespace

int type_set_name(MPI_Datatype datatype, const char* type_name) {
  if (!is_shared(datatype))
    return host::call([&](const host::Api& h) { return h.Type_set_name(datatype, type_name); });
  std::string& kept = names().mine()[datatype];
  kept.assign(type_name, strnlen(type_name, MPI_MAX_OBJECT_NAME - 1));
  return MPI_SUCCESS;
}

int type_get_name(MPI_Datatype datatype, char* type_name, int* resultlen) {
  if (const Names* own = names().find_mine())
    if (auto found = own->find(datatype); found != own->end()) {
      std::memcpy(type_name, found->second.c_str(), found->second.size() + 1);
      *resultlen = static_cast<int>(found->second.size());
      return MPI_SUCCESS;
    }
  return host::call(
      [&](const host::Api& h) { return h.Type_get_name(datatype, type_name, resultlen); });
}

}  // namespace fgmpi::mpi
