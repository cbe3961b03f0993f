// FGMPI_LEAKS=1: communicators, windows and files that the program left behind. src/pt2pt lists
// requests and messages.

#include <cstdio>
#include <map>
#include <string>

#include "comm/comm.h"
#include "file/file.h"
#include "mpi/life/runtime.h"
#include "pt2pt/pt2pt.h"
#include "rma/win.h"

namespace fgmpi::mpi {

void report_leaked_comms() {
  if (!pt2pt::leaks_wanted()) return;
  std::map<std::string, uint64_t> by_call;
  comm::for_each_unfreed(
      [](const comm::Comm& c, void* list) {
        // The own communicator of a window or a file is listed as that window or file.
        const std::string call = c.shared->creating_call;
        if (call.rfind("MPI_Win_", 0) != 0 && call != "MPI_File_open")
          ++(*static_cast<std::map<std::string, uint64_t>*>(list))["communicator of " + call];
      },
      &by_call);
  rma::for_each_unfreed(
      [](const rma::Win& win, void* list) {
        auto& counts = *static_cast<std::map<std::string, uint64_t>*>(list);
        ++counts[std::string("window of ") + win.shared->creating_call];
        const rma::MemberEpochs* a = win.access.get();
        if (!a) return;
        if (a->locks) counts["lock of MPI_Win_lock"] += a->locks;
        if (a->epoch == rma::Epoch::kLockAll) ++counts["epoch of MPI_Win_lock_all"];
      },
      &by_call);
  file::for_each_unfreed(
      [](const file::File& file, void* list) {
        ++(*static_cast<std::map<std::string, uint64_t>*>(
            list))["file of MPI_File_open, " + file.shared->descriptor.path()];
      },
      &by_call);
  for (const auto& [call, count] : by_call)
    std::fprintf(stderr, "fgmpi: leaked in process %u: %llu x %s\n", g_av.me(),
                 static_cast<unsigned long long>(count), call.c_str());
}

}  // namespace fgmpi::mpi
