// fgmpi-info -calibrate: measures this machine, or the hosts of a host file, and writes the file of
// a machine for mpiexec -predict.
//
// The measuring program, fgmpi-calibrate (measure_links.cc), is started by mpiexec: with two
// processes on one host, then with one on each host. calibration.h in src/readers/prediction fits
// LogGP's parameters to the times.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace fgmpi::tools {

struct CalibrateWishes {
  std::string host_file;  ///< "": this machine
  std::string out;        ///< "": standard output
  std::vector<std::string> mpiexec_options;
};

/// Errors: MPI_ERR_ARG: a file cannot be read or written, mpiexec cannot start the measuring
/// program (whose output stands on standard error), or it has not come to its end.
Status calibrate(const CalibrateWishes& wishes);

}  // namespace fgmpi::tools
