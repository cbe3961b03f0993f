// A process of a job, for bootstrap_test: exchanges one value with all others and prints their
// values.
//   peer exchange | abort CODE | vanish

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "base/strings.h"
#include "bootstrap/bootstrap.h"

using namespace fgmpi;

namespace {

int failed(const Status& status) {
  std::printf("failed: %s\n", status.what().c_str());
  return 1;
}

int exchange(bootstrap::Bootstrap& boot) {
  // Values that differ in length, up to the longest allowed.
  auto value_of = [&](int rank) {
    size_t length = rank == 1 ? boot.max_value() : 10 + rank;
    return std::string(length, static_cast<char>('a' + rank % 26));
  };
  if (Status s = boot.put(format("card-%d", boot.rank()), value_of(boot.rank())); !s.ok())
    return failed(s);
  if (Status s = boot.fence(); !s.ok()) return failed(s);
  int right = 0;
  for (int p = 0; p < boot.size(); ++p) {
    std::string value;
    if (Status s = boot.get(format("card-%d", p), &value); !s.ok()) return failed(s);
    right += value == value_of(p);
  }
  std::string none;
  bool absent = !boot.get("never-put", &none).ok();
  std::string nodes;
  for (int node : boot.node_of()) nodes += format(" %d", node);
  std::printf("%s rank %d size %d app %d right %d absent %d nodes%s job %s\n", boot.name(),
              boot.rank(), boot.size(), boot.appnum(), right, absent, nodes.c_str(),
              boot.job().c_str());
  std::fflush(stdout);
  if (Status s = boot.finalize(); !s.ok()) return failed(s);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::unique_ptr<bootstrap::Bootstrap> boot;
  if (Status s = bootstrap::open(&boot); !s.ok()) return failed(s);
  if (argc > 2 && std::strcmp(argv[1], "abort") == 0) {
    if (boot->rank() == 0) {
      std::fprintf(stderr, "peer: ending the job\n");
      boot->abort(std::atoi(argv[2]), "ending the job");
    }
    sleep(60);  // the launcher has to end this process
  }
  return exchange(*boot);
}
