// The line about a running job: each call of show() draws it anew.

#include "launcher/mpiexec/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/strings.h"
#include "readers/report/run.h"

namespace fgmpi::launcher {

bool ProgressLine::wanted() { return isatty(STDERR_FILENO); }

void ProgressLine::show() {
  report::JobRun run;
  run.read(folder_);
  if (run.processes.empty()) return;
  uint64_t messages = 0, rss = 0, in_program = 0, in_mpi = 0, ended = 0, world = 0;
  for (const auto& p : run.processes) {
    rss += p.header().rss;
    world = std::max<uint64_t>(world, static_cast<uint64_t>(p.header().world_size));
    for (int32_t i = 0; i < p.header().ranks; ++i) {
      const report::RankRecord& r = p.rank(i);
      (r.flags & report::kEnded ? ended : r.now ? in_mpi : in_program) += 1;
      for (const auto& peer : r.peers) messages += peer.messages();
    }
  }
  const int64_t now = now_ns();
  const double passed = static_cast<double>(now - when_) * 1e-9;
  const double rate =
      when_ && messages >= messages_ ? static_cast<double>(messages - messages_) / passed : 0;
  messages_ = messages;
  when_ = now;
  std::fprintf(stderr,
               "\r%s ranks: %s in the program, %s in MPI, %s ended; %s messages/s; %s\033[K",
               report::number_words(world).c_str(), report::number_words(in_program).c_str(),
               report::number_words(in_mpi).c_str(), report::number_words(ended).c_str(),
               report::number_words(static_cast<uint64_t>(rate)).c_str(),
               report::bytes_words(static_cast<double>(rss)).c_str());
  std::fflush(stderr);
}

void ProgressLine::clear() {
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace fgmpi::launcher
