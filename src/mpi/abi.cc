// What MPI-5.0 chapter 20 lets programs ask about the ABI. This library has MPICH's ABI, not the
// standard one; its Fortran is gfortran's, whose properties nobody can change.

#include <bit>
#include <cstring>
#include <string>

#include "comm/info.h"
#include "datatype/basic_type.h"
#include "datatype/datatype.h"
#include "fgmpi_standard.h"
#include "mpi/binding.h"
#include "mpi/calls.h"

namespace fgmpi::mpi {
namespace {

Status set_already(const char* what, const char* call) {
  return error(MPI_ERR_ABI, "%s are known already; %s says what they are", what, call);
}

}  // namespace

Status abi_get_version(int* abi_major, int* abi_minor) {
  *abi_major = *abi_minor = -1;  // not the standard ABI
  return {};
}

Status abi_get_info(MPI_Info* info) {
  return comm::create_info({{"mpi_aint_size", std::to_string(sizeof(MPI_Aint))},
                            {"mpi_count_size", std::to_string(sizeof(MPI_Count))},
                            {"mpi_offset_size", std::to_string(sizeof(MPI_Offset))}},
                           info);
}

Status abi_get_fortran_info(MPI_Info* info) {
  struct FortranType {
    const char* key;
    MPI_Datatype type;
  };
  static constexpr FortranType kSizes[] = {{"mpi_logical_size", MPI_LOGICAL},
                                           {"mpi_integer_size", MPI_INTEGER},
                                           {"mpi_real_size", MPI_REAL},
                                           {"mpi_double_precision_size", MPI_DOUBLE_PRECISION}};
  static constexpr FortranType kOptional[] = {{"mpi_logical1_supported", MPI_LOGICAL1},
                                              {"mpi_logical2_supported", MPI_LOGICAL2},
                                              {"mpi_logical4_supported", MPI_LOGICAL4},
                                              {"mpi_logical8_supported", MPI_LOGICAL8},
                                              {"mpi_logical16_supported", MPI_LOGICAL16},
                                              {"mpi_integer1_supported", MPI_INTEGER1},
                                              {"mpi_integer2_supported", MPI_INTEGER2},
                                              {"mpi_integer4_supported", MPI_INTEGER4},
                                              {"mpi_integer8_supported", MPI_INTEGER8},
                                              {"mpi_integer16_supported", MPI_INTEGER16},
                                              {"mpi_real4_supported", MPI_REAL4},
                                              {"mpi_real8_supported", MPI_REAL8},
                                              {"mpi_real16_supported", MPI_REAL16},
                                              {"mpi_complex8_supported", MPI_COMPLEX8},
                                              {"mpi_complex16_supported", MPI_COMPLEX16},
                                              {"mpi_complex32_supported", MPI_COMPLEX32},
                                              {"mpi_double_complex_supported", MPI_DOUBLE_COMPLEX}};
  comm::Hints entries;
  for (const FortranType& t : kSizes)
    entries.emplace_back(t.key, std::to_string(datatype::basic_size(t.type)));
  for (const FortranType& t : kOptional) entries.emplace_back(t.key, "true");
  // gfortran has no real of 2 bytes.
  for (const char* key : {"mpi_real2_supported", "mpi_complex4_supported"})
    entries.emplace_back(key, "false");
  return comm::create_info(std::move(entries), info);
}

Status abi_set_fortran_info(MPI_Info) {
  return set_already("the properties of Fortran's types", "MPI_Abi_get_fortran_info");
}

Status abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false,
                                int* is_set) {
  switch (logical_size) {
    case 1:
    case 2:
    case 4:
    case 8:
    case 16:
      break;
    default:
      return error(MPI_ERR_ARG, "logical_size is %d; allowed are 1, 2, 4, 8 and 16", logical_size);
  }
  // gfortran's .TRUE. is the integer 1 of the logical's size.
  const auto bytes = static_cast<size_t>(logical_size);
  auto* value = static_cast<unsigned char*>(logical_true);
  std::memset(value, 0, bytes);
  std::memset(logical_false, 0, bytes);
  value[std::endian::native == std::endian::little ? 0 : bytes - 1] = 1;
  *is_set = 1;
  return {};
}

Status abi_set_fortran_booleans(int, void*, void*) {
  return set_already("the values of Fortran's booleans", "MPI_Abi_get_fortran_booleans");
}

}  // namespace fgmpi::mpi
