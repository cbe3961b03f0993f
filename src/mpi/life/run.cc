// The run of a process's ranks: process_main(), or the one rank of a program that loaded this
// library later; and what the first MPI_Init connects.

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/environment.h"
#include "base/repeatable.h"
#include "base/standard_files.h"
#include "ch4-av-rankmap/av.h"
#include "coll/failure.h"
#include "dynamic/connect.h"
#include "dynamic/links.h"
#include "dynamic/names.h"
#include "dynamic/proclets.h"
#include "explore/agent.h"
#include "liveness/watch.h"
#include "mpi/binding.h"
#include "mpi/life/bound_functions.h"
#include "mpi/life/peer_failures.h"
#include "mpi/life/process.h"
#include "mpi/life/runtime.h"
#include "mpi/tools/balance.h"
#include "multicast/comm_groups.h"
#include "predict/prediction.h"
#include "privatize/load/guests.h"
#include "privatize/load/rank_heaps.h"
#include "privatize/load/saved_ranks.h"
#include "privatize/privatize.h"
#include "proclet-sched/sched.h"
#include "proclet-sched/threads/threads.h"
#include "pt2pt/short_spin.h"
#include "rewind/rewind.h"
#include "rma/check.h"
#include "survivors/survivors.h"
#include "system-ranked/construction.h"
#include "system-ranked/group_tree.h"

namespace fgmpi::mpi {
namespace {

/// The process and the thread that became the rank of a program that loaded us by dlopen.
pid_t g_adopted_by = -1, g_adopted_thread = 0;

[[maybe_unused]] const bool g_registered =
    (privatize::set_runtime({ranks_of_this_process, process_main, rank_exits, thread_ends_process,
                             run_bound_function}),
     true);

void rank_main(void*) { privatize::run_rank(sched::current()->index); }

void adopted_program_exits(int status, void*) {
  if (getpid() != g_adopted_by) return;  // a child that the program has forked
  // Other threads may be in MPI calls. The caller stays inside: they may not begin any more.
  if (sched::outside() && !sched::EngineEntry::enter()) return;
  rank_exits(status);
  sched::call_on_host([&] { finish_process(status); });
}

}  // namespace

namespace {

/// Is the order of events decided in place of the layers (mpiexec -explore, -replay, -predict)?
bool has_decider() { return explore::is_active() || predict::is_active(); }

/// How long the scheduler polls at most before it calls the hook that sleeps (ns).
int64_t g_longest_spin = 0;

/// `transports`: the process sleeps on transports, not only until a timer is due.
sched::Hooks hooks_of_scheduler(bool transports) {
  sched::Hooks hooks;
  hooks.poll = pt2pt::progress;
  if (transports && job_survives_failures())
    hooks.poll = [] {
      const bool noticed = handle_loss_notices();
      return pt2pt::progress() || noticed;
    };
  hooks.all_parked = pt2pt::parked_hook();
  if (predict::is_active()) hooks.parked_beside_timers = pt2pt::parked_beside_timers;
  if (has_decider() || is_repeatable()) {
    hooks.spin_ns = 0;  // whoever is parked waits for a decision, or spins would be counted
    hooks.check_threads_ns = 100'000;
  }
  if (!transports) return hooks;
  g_longest_spin = hooks.spin_ns;
  hooks.sleep = [](int64_t timeout_ns) {
    int64_t limit = pt2pt::sleep_limit(), compare = coll::compare_signatures_when_idle();
    if (limit < 0 || (compare >= 0 && compare < limit)) limit = compare;
    transport::Idle& idle = *process().idle;
    idle.sleep(limit >= 0 && (timeout_ns < 0 || limit < timeout_ns) ? limit : timeout_ns);
    // Polling before the next call lets other processes run, as the polling of sleep() does.
    const int64_t spin = idle.next_spin();
    sched::set_spin(std::min(spin, g_longest_spin));
    pt2pt::g_longest_short_spin = std::min(spin, pt2pt::kLongestShortSpin);
  };
  hooks.interrupt = [] { process().idle->interrupt(); };
  return hooks;
}

/// Lets this process sleep on its transports from now on. Threads may have been admitted before
/// there were any transports.
void use_idle() {
  ProcessState& me = process();
  me.idle = std::make_unique<transport::Idle>(me.transports);
  if (sched::threads_enabled()) me.idle->set_gate(sched::release_engine, sched::reacquire_engine);
}

/// Called when this process begins to communicate with other jobs.
Status use_links(dynamic::Links& links) {
  ProcessState& me = process();
  links.set_sink(pt2pt::sinks().frames);
  if (me.transports.size() > 1) links.stand_before(me.transports[1].get());
  pt2pt::set_peer_failed_handler(on_peer_failed);
  pt2pt::set_processes(g_av.all_processes(), &links);
  if (!me.idle) {
    use_idle();
    sched::set_hooks(hooks_of_scheduler(true));
  }
  me.idle->add(&links);
  return {};
}

/// Lets collectives send to groups of processes from now on.
void use_multicast(multicast::Service* service) {
  process().idle->add(service);
  pt2pt::add_polled_source(service);
}

Status load_program(const std::string& path, void** program) {
  privatize::Guest* guest = nullptr;
  FGMPI_TRY(privatize::load_guest(path, &guest));
  *program = guest;
  return {};
}

Status prepare_program(void* program, uint32_t first, uint32_t count,
                       const std::vector<std::string>& words) {
  return privatize::prepare_guests(static_cast<privatize::Guest*>(program), first, count, words);
}

}  // namespace

Status connect() {
  ProcessState& me = process();
  if (me.connected) return {};
  if (boot().size() > 1 && privatize::rank_slots_are_files()) let_ranks_move();
  open_standard_files();  // the program may have closed them since it has started
  pt2pt::Setup setup;
  setup.local_count = me.ranks;
  if (boot().size() == 1) {
    g_av.init({0, me.ranks}, 0);
    dynamic::set_own_job_uid("");
    liveness::start_watch(boot().launcher_fd(), nullptr, "", true);
  } else {
    pt2pt::set_peer_failed_handler(on_peer_failed);
    FGMPI_TRY(exchange_addresses(&setup));
    use_idle();
  }
  dynamic::set_links_opened_handler(use_links);
  dynamic::set_launcher_names(
      {[](const std::string& service, const std::string& port) {
         return boot().publish_name(service, port);
       },
       [](const std::string& service) { return boot().unpublish_name(service); },
       [](const std::string& service, std::string* port) {
         return boot().lookup_name(service, port);
       }});
  dynamic::set_programs({load_program, prepare_program, privatize::forget_guests,
                         privatize::run_guest,
                         [](uint32_t count) { process().unfinished += static_cast<int>(count); }});
  FGMPI_TRY(pt2pt::init(setup));
  coll::init_failures();
  system_ranked::init_constructions();
  system_ranked::init_group_trees();
  survivors::start();
  multicast::init_groups();
  multicast::set_opened_handler(use_multicast);
  if (rma::start_checking()) close_shortest_ways();
  explore::register_deciders(me.ranks);
  predict::register_deciders(me.ranks);
  if (predict::is_active()) close_shortest_ways_but_receives();
  if (explore::is_active()) close_shortest_ways();
  sched::Hooks hooks = hooks_of_scheduler(me.idle != nullptr);
  if (boot().size() > 1 && privatize::rank_slots_are_files() && environment::balances_load())
    begin_balance(&hooks);
  sched::set_hooks(hooks);
  install_naming();
  privatize::set_first_world_rank(g_av.my_first());
  FGMPI_TRY(privatize::check_rank_heaps(g_av.my_first(), g_av.world_size()));
  me.connected = true;
  return {};
}

Status connect_from_rank() {
  Status connected;
  sched::call_on_host([&] { connected = connect(); });
  return connected;
}

Status adopt_program() {
  ProcessState& me = process();
  if (privatize::started_through_us())
    return error(MPI_ERR_OTHER, "called outside of a rank; allowed is the thread that runs main");
  if (ranks_of_this_process() != 1)
    return error(MPI_ERR_OTHER,
                 "called in a program that loaded this library with dlopen, with %u ranks a "
                 "process; allowed is 1 "
                 "(-nfg 1), or a program linked with mpicc, mpicxx or mpifort",
                 me.ranks);
  FGMPI_TRY(sched::adopt_caller());
  me.unfinished = 1;
  g_adopted_by = getpid();
  g_adopted_thread = gettid();
  on_exit(adopted_program_exits, nullptr);
  return {};
}

bool on_main_thread() {
  if (privatize::started_through_us()) return privatize::on_scheduler_thread();
  return gettid() == (g_adopted_thread ? g_adopted_thread : getpid());
}

int process_main(privatize::Program& program) {
  ProcessState& me = process();
  me.ranks = program.ranks;
  me.unfinished = static_cast<int>(program.ranks);
  explore::begin();
  if (const Status read = predict::begin(); !read.ok()) refuse(read.what());
  if (const Status begun = rewind::begin(); !begun.ok()) refuse(begun.what());
  Status created = sched::create_ranks(program.ranks, rank_main, nullptr);
  if (!created.ok()) refuse(created.what());
  if (const Status restored = privatize::restore_ranks(); !restored.ok()) refuse(restored.what());
  return finish_process(sched::run());
}

}  // namespace fgmpi::mpi
