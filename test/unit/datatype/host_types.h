// What tests that compare with the host know of its versions.
#pragma once

#include <algorithm>
#include <iterator>

#include "../host/host_fixture.h"
#include "datatype/basic_type.h"

namespace fgmpi::datatype::test {

inline bool is_host_5() { return host::host_version() >= 50000; }

/// True for the predefined types that the host has from version 5 on; version 4 ends the process
/// where it sees one.
inline bool is_of_host_5(MPI_Datatype type) {
  const MPI_Datatype types[] = {MPI_INTEGER16, MPI_LOGICAL1, MPI_LOGICAL2,
                                MPI_LOGICAL4,  MPI_LOGICAL8, MPI_LOGICAL16,
                                MPI_REAL2,     MPI_COMPLEX4, MPIX_BFLOAT16};
  return std::count(std::begin(types), std::end(types), type) > 0;
}

}  // namespace fgmpi::datatype::test
