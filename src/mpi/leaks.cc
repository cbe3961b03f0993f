// FGMPI_LEAKS=1: communicators that the program left behind. Requests and messages are src/pt2pt's to list.

#include <cstdio>
#include <map>
#include <string>

#include "comm/comm.h"
#include "mpi/runtime.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::mpi {

void report_leaked_comms() {
  if (!pt2pt::leaks_wanted()) return;
  std::map<std::string, uint64_t> by_call;
  comm::for_each_kept(
      [](const comm::Comm& c, void* list) {
        ++(*static_cast<std::map<std::string, uint64_t>*>(list))[c.shared->made_by];
      },
      &by_call);
  for (const auto& [call, count] : by_call)
    std::fprintf(stderr, "fgmpi: leaked in process %u: %llu x communicator of %s\n", g_av.me(),
                 static_cast<unsigned long long>(count), call.c_str());
}

}  // namespace fgmpi::mpi
