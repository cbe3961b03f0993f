// Machines for mpiexec -predict: JSON files of users, and presets. docs/predicting.md describes the
// file.
//
// Thread rule: values; nothing here switches.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "predict/machine.h"

namespace fgmpi::predict {

struct MachinePreset {
  const char* name;
  const char* text;  ///< one line about it
  const char* json;
};
const std::vector<MachinePreset>& machine_presets();

/// Reads a machine from a JSON text. `name`: the file, for errors. Errors: MPI_ERR_ARG, which names
/// the line, the key, its value and what is allowed.
Status read_machine(const std::string& text, const std::string& name, PredictedMachine* out);
/// Lines that explain the keys of a machine's file, for fgmpi-info -predict.
const char* machine_keys();
/// Do the machine's nodes hold so many ranks? `named`: as below. Errors: MPI_ERR_ARG, which names
/// the file, the line of the number of nodes and both numbers.
Status check_ranks(const PredictedMachine& machine, const std::string& named, int64_t ranks);
/// As above; `named`: a preset's name, or a file. Errors: also that there is neither.
Status find_machine(const std::string& named, PredictedMachine* out);

}  // namespace fgmpi::predict
