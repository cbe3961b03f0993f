// In place of json_value.cc in a build without RapidJSON.

#include <mpi.h>

#include "readers/prediction/json_value.h"

namespace fgmpi::predict {

Status read_json(const std::string&, const std::string& name, JsonValue*) {
  return error(MPI_ERR_ARG,
               "-predict %s: this build has no RapidJSON, which reads machines (fgmpi-info)",
               name.c_str());
}

}  // namespace fgmpi::predict
