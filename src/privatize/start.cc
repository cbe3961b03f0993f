// The start of the program: our __libc_start_main, the decision how to run it, and its end.
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strings.h"
#include "privatize/internal.h"

namespace fgmpi::privatize {

Mode g_mode = Mode::kForeign;
Main* g_main = nullptr;
Program g_program;

namespace {

using Init = void(int, char**, char**);
using StartMain = int(Main*, int, char**, Init*, void (*)(), void (*)(), void*);

/// The scheduler's thread; static TLS, so that asking costs one load.
[[gnu::tls_model("initial-exec")]] thread_local bool t_scheduler = false;
pid_t g_pid = 0;

uint32_t ranks_wanted() {
  if (mpi::ranks_of_this_process) return mpi::ranks_of_this_process();
  return static_cast<uint32_t>(env_size("FGMPI_NFG", 1, 1, 1 << 30));
}

/// Without src/mpi: just the ranks.
int plain_process_main(Program& program) {
  Status created = sched::create_ranks(
      program.ranks, [](void*) { run_rank(sched::current()->index); }, nullptr);
  if (!created.ok()) {
    fprintf(stderr, "fgmpi: %s\n", created.what().c_str());
    return 1;
  }
  return sched::run();
}

int process_main(int argc, char** argv, char** envp) {
  g_program.argc = argc;
  g_program.argv = argv;
  g_program.envp = envp;
  return mpi::process_main ? mpi::process_main(g_program) : plain_process_main(g_program);
}

}  // namespace

bool on_proclet() { return t_scheduler && !sched::on_host_stack(); }
bool in_own_process() { return getpid() == g_pid; }

int run_rank(uint32_t local_index) {
  if (local_index == 0) adopt_early_handlers(sched::current());
  end_rank(g_main(g_program.argc, g_program.argv, g_program.envp));
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE int __libc_start_main(Main* main, int argc, char** argv, Init* init, void (*fini)(),
                                      void (*rtld_fini)(), void* stack_end) {
  auto* real = next_symbol<StartMain>("__libc_start_main");
  g_main = main;
  g_pid = getpid();
  t_scheduler = true;
  pthread_atfork(nullptr, nullptr, [] { t_scheduler = false; });
  g_program.ranks = ranks_wanted();
  g_mode = g_program.ranks == 1 ? Mode::kSingle : Mode::kShared;
  return real(process_main, argc, argv, init, fini, rtld_fini, stack_end);
}
