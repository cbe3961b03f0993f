// Names of datatypes (MPI-4.0 section 7.8). A handle of a derived type belongs to one rank, and so
// does its name. Predefined types, and those that MPI_Type_create_f90_* returns again and again,
// have one handle for all ranks: the name that a rank gives them is that rank's.

#include <cstring>
#include <string>
#include <unordered_map>

#include "comm/of_rank.h"
#include "datatype/basic_type.h"
#include "datatype/type_handles.h"
#include "mpi/binding.h"
#include "mpi/calls.h"
#include "mpi/datatype/types.h"

namespace fgmpi::mpi {
namespace {

using Names = std::unordered_map<MPI_Datatype, std::string>;
comm::OfRank<Names>& names() {
  static auto* table = new comm::OfRank<Names>;
  return *table;
}

void copy_name(const std::string& name, char* to, int* length) {
  std::memcpy(to, name.c_str(), name.size() + 1);
  *length = static_cast<int>(name.size());
}

}  // namespace

Status type_set_name(MPI_Datatype datatype, const char* type_name) {
  datatype::Type type;
  FGMPI_TRY(datatype::Type::of_any(datatype, &type));
  if (strnlen(type_name, MPI_MAX_OBJECT_NAME) == MPI_MAX_OBJECT_NAME)
    return error(MPI_ERR_ARG, "type_name has %d characters or more; allowed is less",
                 MPI_MAX_OBJECT_NAME);
  names().mine()[datatype] = type_name;
  return {};
}

Status type_get_name(MPI_Datatype datatype, char* type_name, int* resultlen) {
  if (datatype == MPI_DATATYPE_NULL) {  // MPI-4.1 section 7.8
    copy_name("MPI_DATATYPE_NULL", type_name, resultlen);
    return {};
  }
  datatype::Type type;
  FGMPI_TRY(datatype::Type::of_any(datatype, &type));
  if (const Names* own = names().find_mine())
    if (auto found = own->find(datatype); found != own->end()) {
      copy_name(found->second, type_name, resultlen);
      return {};
    }
  const datatype::BasicType* basic = datatype::basic_type(datatype);
  copy_name(basic ? basic->name : "", type_name, resultlen);
  return {};
}

void forget_type_name(MPI_Datatype datatype) {
  if (Names* own = names().find_mine()) own->erase(datatype);
}

}  // namespace fgmpi::mpi
