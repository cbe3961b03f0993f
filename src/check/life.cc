// Start and end of a process and of its ranks, and notices that arrive from other processes.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "base/environment.h"
#include "base/settings.h"
#include "check/call.h"
#include "check/extensions.h"
#include "check/memory/accesses.h"
#include "check/memory/own_memory.h"
#include "check/threads/strands.h"
#include "check/wire/wire.h"
#include "rewind/hooks.h"
#include "watch/first_rank.h"
#include "watch/places.h"

namespace fgmpi::check {

std::atomic<uint32_t> g_attention = 0;
bool g_is_rewound = false;

bool is_wanted() { return g_is_rewound || environment::text(environment::kCheckFolder); }

uint32_t kinds_asked() {
  if (g_is_rewound) return g_process.kinds;
  uint32_t kinds = findings::kAllKinds;
  if (const char* given = environment::text(environment::kCheckKinds))
    findings::parse_kinds(given, &kinds);
  return kinds;
}

namespace {

std::mutex g_arrived_lock;
/// Notices for the next call of a rank: each as its size, then its bytes, padded to 8.
std::vector<uint64_t> g_arrived, g_looked_at;

size_t words_for(size_t bytes) { return (bytes + 7) / 8; }

/// Called while MPI polls, perhaps in the middle of a call, and before the first rank has begun.
/// Work that needs MPI waits for handle_arrived(), findings wait for set_up_process().
void arrived(int process, const void* data, int bytes) {
  if (bytes < 1) return;
  const auto kind = static_cast<WireKind>(*static_cast<const uint8_t*>(data));
  if (kind == WireKind::kSeveral)
    return for_each_piece(data, static_cast<size_t>(bytes), [&](const char* piece, size_t size) {
      if (*piece != static_cast<char>(kind)) arrived(process, piece, static_cast<int>(size));
    });
  if (kind == WireKind::kPartitioned || kind == WireKind::kStarted)
    return on_partitioned(data, static_cast<size_t>(bytes));
  if (kind != WireKind::kMessage && kind != WireKind::kRepeatedMessage &&
      kind != WireKind::kMessageClock && kind != WireKind::kWithdrawnMessage &&
      kind != WireKind::kLeftEarly && kind != WireKind::kProgress)
    return on_agreement(process, data, bytes);
  const auto size = static_cast<size_t>(bytes);
  std::lock_guard guard(g_arrived_lock);
  const size_t at = g_arrived.size() + 1;
  g_arrived.resize(at + words_for(size));
  g_arrived[at - 1] = size;
  std::memcpy(&g_arrived[at], data, size);
  g_attention.fetch_or(kArrived, std::memory_order_release);
}

/// The call that the rank waits in, of several threads that of its first; null: none.
const CallRecord* waiting_call(const Rank& rank) {
  if (!g_process.threads) return rank.in_call ? rank.current : nullptr;
  for (const CheckedCall* call : rank.inside)
    if (pthread_equal(call->thread(), rank.thread)) return &call->record();
  return rank.inside.empty() ? nullptr : &rank.inside.front()->record();
}

/// Called before the library reports a deadlock: makes a finding for each rank that
/// waits in a call.
void before_deadlock_report() {
  handle_arrived();
  report_accesses();
  report_disagreements();
  g_attention.fetch_or(kDeadlockIsTold, std::memory_order_relaxed);
  for (const auto& rank : g_process.all) {
    if (rank && rank->order && report_blocked_threads(rank.get())) continue;
    if (const CallRecord* call = rank ? waiting_call(*rank) : nullptr) {
      std::vector<findings::Participant> calls = {participant(rank.get(), *call)};
      if (const RequestOperation* awaited = awaited_by(rank.get(), *call)) {
        const std::string why = why_incomplete(*awaited);
        calls.push_back(
            participant(rank.get(), awaited->call,
                        (why.empty() ? "is waited for" : "is waited for, and " + why).c_str()));
      }
      add_unmatched_messages(rank.get(), *call, awaited_by(rank.get(), *call), &calls);
      add_awaiting_threads(rank.get(), &calls);
      if (g_process.unbuffered)
        g_process.deadlock.push_back(
            report(FindingKind::kBuffering, "ranks wait for ever when no standard send is buffered",
                   "MPI may buffer a standard send or not: the receive has to begin either way",
                   std::move(calls)));
      else
        g_process.deadlock.push_back(report(FindingKind::kDeadlock,
                                            "ranks wait for ever: no message is on its way", "",
                                            std::move(calls)));
    }
  }
}

/// A collective has failed. A disagreement on its communicator, which this or another process
/// reports, may be the cause; then the error is not reported as a finding of its own.
void report_consequence(Rank* rank, const CallRecord& of, int error_class, uint64_t key) {
  const OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(of.at(of.info().at.comm)));
  if (!own) return;
  const int64_t root = of.at(of.info().at.root);
  const bool by_others = error_class == MPI_ERR_TRUNCATE || error_class == MPI_ERR_OTHER ||
                         error_class == MPI_ERR_OP ||
                         (error_class == MPI_ERR_ROOT && root >= 0 && root < own->comm->size);
  if (by_others) g_process.spool.add_consequence(key, without_side(own->comm->key));
}

/// Called before an error of the library ends the job: makes a finding unless one has been made.
void before_fatal_error(int error_class, const char* text) {
  report_forbidden_calls();
  send_held_details();
  send_due_notices();
  Rank* rank = current_rank();
  if (!rank || rank->ended || !rank->in_call || !rank->current)
    return report_unwatched_error(rank, text);
  const CallRecord& current = *rank->current;
  std::vector<findings::Participant> calls = {participant(rank, current)};
  auto collective = [](const CallRecord& call) {
    return kCalls[call.id].role == CallRole::kCollective ||
           kCalls[call.id].role == CallRole::kCreation;
  };
  // The collective that has failed.
  const CallRecord* of = collective(current) ? &current : nullptr;
  if (const RequestOperation* awaited = awaited_by(rank, current)) {
    calls.push_back(participant(rank, awaited->call, "is waited for"));
    const CallRecord& begun = awaited->call;
    if (!of && collective(begun)) of = &begun;
  }
  if (of) ask_others();
  if ((error_class == MPI_ERR_TRUNCATE || error_class == MPI_ERR_IN_STATUS) && !of &&
      report_too_long(rank, current))
    return;
  if (is_of_epochs(error_class)) {
    add_epochs(rank, current, &calls);
    report(FindingKind::kWindows, text, "", std::move(calls));
    return;
  }
  if (rank->arguments_told && is_of_argument(error_class)) return;
  const bool by_others = error_class == MPI_ERR_TRUNCATE || error_class == MPI_ERR_OTHER;
  const uint64_t key = report(of && by_others ? FindingKind::kCollectives : FindingKind::kArguments,
                              text, "", std::move(calls));
  if (key && of) report_consequence(rank, *of, error_class, key);
}

}  // namespace

void open_spool() {
  if (g_is_rewound) return;
  g_process.kinds = kinds_asked();
  if (const char* folder = environment::text(environment::kCheckFolder))
    g_process.spool.open(folder);
}

namespace {

bool set_up_process() {
  Process& p = g_process;
  if (!is_wanted() || !MPIX_Tool_handlers || !MPIX_Tool_word || !MPIX_Get_collocated_size)
    return false;
  open_spool();
  const char* buffering = environment::text(settings::kRecords[settings::kSendBuffering].name);
  p.unbuffered = buffering && !std::strcmp(buffering, "zero");
  const char* repeated = environment::text(settings::kRecords[settings::kCheckRepeated].name);
  p.all_in_full = repeated && !std::strcmp(repeated, "off");
  update_follows_steps();
  p.sends_ready = program_sends_ready();
  p.pid = process_number();
  MPIX_Get_collocated_size(&p.ranks);
  MPIX_Get_collocated_startrank(&p.first);
  p.ranks_share = p.ranks > 1 && &fgmpi_debug_table && fgmpi_debug_table.image_count == 0;
  p.all.resize(static_cast<size_t>(p.ranks));
  p.inboxes.resize(static_cast<size_t>(p.ranks));
  p.me = MPIX_Tool_process(p.first);
  if (&fgmpi_debug_table && fgmpi_debug_table.proclet_bytes == sizeof(sched::Proclet))
    g_running = fgmpi_debug_table.current;
  MPIX_Comm_keys_unique(1);
  follow_places();
  return p.on = true;
}

/// The proclet that runs; null where it is unknown.
const sched::Proclet* running_proclet() {
  const bool known =
      &fgmpi_debug_table && fgmpi_debug_table.proclet_bytes == sizeof(sched::Proclet);
  return known ? *fgmpi_debug_table.current : nullptr;
}

/// Stores the thread level that MPI grants now. `rank`: the rank whose level is stored, or null.
void record_thread_level(Rank* rank) {
  int level = MPI_THREAD_SINGLE;
  if (g_next.MPI_Query_thread(&level) != MPI_SUCCESS) return;
  if (rank) rank->level = level;
  if (level < MPI_THREAD_SERIALIZED || g_process.threads) return;
  g_process.threads = true;
  update_follows_steps();
  // A thread outside of the library does not know who runs: that may be another thread, which may
  // end meanwhile.
  g_running = &kNobody;
  g_attention.fetch_or(kThreads, std::memory_order_relaxed);
  for (const auto& each : g_process.all)
    if (each) each->short_path = nullptr;
}

void rank_begins(Calls call, const void* place) {
  static findings::ByFirstRank is_set_up;
  const bool on = is_set_up(set_up_process);
  MPI_Comm parent = MPI_COMM_NULL;
  g_next.MPI_Comm_get_parent(&parent);
  if (!on || parent != MPI_COMM_NULL) return;  // spawned jobs are not tracked
  auto rank = std::make_unique<Rank>();
  rank->in_turn = !g_process.sends_ready;
  g_next.MPI_Comm_rank(MPI_COMM_WORLD, &rank->world);
  record_thread_level(rank.get());
  rank->own_level = rank->level;
  rank->initialised = true;
  const auto local = static_cast<size_t>(rank->world - g_process.first);
  if (local >= g_process.all.size()) return;
  constexpr int kEpochBits = 40;
  rank->epoch = static_cast<uint64_t>(local) << kEpochBits | 1;
  *MPIX_Tool_word() = rank.get();
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  if (const sched::Proclet* proclet = running_proclet();
      proclet && here >= proclet->stack_low && here < proclet->stack_low + proclet->stack_size) {
    rank->stack_low = proclet->stack_low;
    rank->stack_high = proclet->stack_low + proclet->stack_size;
  }
  rank->init_call = call;
  rank->init_site = site_of(place);
  follow_accesses(rank.get());
  g_process.all[local] = std::move(rank);
}

/// The process ends: all messages of other processes have arrived.
[[gnu::destructor]] void process_ends() {
  if (!g_process.on) return;
  handle_arrived();
  report_accesses();
  write_steps_left();
  // The job was ended before this rank ended; what it has left is no mistake of its own.
  for (const auto& rank : g_process.all)
    if (!rank || !rank->ended) return;
  report_messages_left();
  report_partitioned_left();
  report_collectives_left();
}

}  // namespace

void handle_all_arrived() {
  report_forbidden_calls();
  std::vector<uint64_t> list = std::move(g_looked_at);  // reuses its memory
  list.clear();
  {
    std::lock_guard guard(g_arrived_lock);
    g_attention.fetch_and(~uint32_t{kArrived}, std::memory_order_relaxed);
    list.swap(g_arrived);
  }
  for (size_t at = 0; at < list.size(); at += 1 + words_for(list[at]))
    on_message(&list[at + 1], static_cast<int>(list[at]));
  g_looked_at = std::move(list);
}

void withdraw_deadlock() {
  for (uint64_t key : g_process.deadlock) g_process.spool.withdraw(key);
  g_process.deadlock.clear();
  g_attention.fetch_and(~uint32_t{kDeadlockIsTold}, std::memory_order_relaxed);
}

void rank_ends(Rank* rank) {
  report_accesses();
  report_forbidden_calls();
  make_operations(rank);
  if (rank->owned) rank->owned->clear();
  report_requests_left(rank);
  report_epochs_left(rank);
  write_ranks_given(rank);
  report_leftovers(rank);
  rank->ended = true;
}

namespace {

/// Registered before any rank begins, because with sessions ranks of other processes may have
/// returned from MPI_Init long before those of this one.
void begin_to_follow() {
  if (MPIX_Tool_handlers) {
    follow_ends();
    MPIX_Tool_handlers(arrived, before_deadlock_report, before_fatal_error);
    MPIX_Tool_parked(
        [] {
          send_held_details();
          send_due_notices();
        },
        [] {
          for (const auto& rank : g_process.all)
            if (rank && rank->order) rank->order->poke();
        });
  }
  follow_conflicts();
}

[[gnu::constructor]] void loaded() {
  if (!dlsym(RTLD_NEXT, "PMPI_Init")) return;  // not an MPI program, or one that loads MPI later
  fill_next(&g_next, [](const char* name) { return dlsym(RTLD_NEXT, name); });
  findings::find_bindings();
  if (is_wanted()) begin_to_follow();
}

int begun(int result, Calls call, const void* place) {
  if (result == MPI_SUCCESS) rank_begins(call, place);
  return result;
}
int init(int* argc, char*** argv, const void* place) {
  return begun(g_next.MPI_Init(argc, argv), kCall_MPI_Init, place);
}
int init_thread(int* argc, char*** argv, int required, int* provided, const void* place) {
  return begun(g_next.MPI_Init_thread(argc, argv, required, provided), kCall_MPI_Init_thread,
               place);
}

/// A session may be granted a higher thread level than the rank, or other ranks, had before.
int session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  const int result = g_next.MPI_Session_init(info, errhandler, session);
  if (result != MPI_SUCCESS) return result;
  const int entered = MPIX_Tool_enter ? MPIX_Tool_enter() : 0;
  Rank* rank = current_rank();
  record_thread_level(rank);
  if (rank) ++rank->sessions;
  if (MPIX_Tool_leave) MPIX_Tool_leave(entered);
  return result;
}

/// Behind the last session the level of MPI_Init holds again.
int session_finalize(MPI_Session* session) {
  const int result = g_next.MPI_Session_finalize(session);
  if (result != MPI_SUCCESS) return result;
  const int entered = MPIX_Tool_enter ? MPIX_Tool_enter() : 0;
  if (Rank* rank = current_rank(); rank && rank->sessions > 0 && --rank->sessions == 0)
    rank->level = rank->own_level;
  if (MPIX_Tool_leave) MPIX_Tool_leave(entered);
  return result;
}

int finalize(const void* place) {
  Rank* rank = current_rank();
  if (!rank || rank->ended) return g_next.MPI_Finalize();
  CallRecord record;
  record.id = kCall_MPI_Finalize;
  record.site = site_of(place);
  rank->begin_call(&record);
  ++rank->calls;
  {
    const int entered = g_process.threads ? MPIX_Tool_enter() : 0;
    send_held_details();
    send_due_notices();
    MPIX_Tool_leave(entered);
  }
  const int result = g_next.MPI_Finalize();
  --rank->calls;
  rank->in_call = false;
  rank->current = nullptr;
  const int entered = g_process.threads ? MPIX_Tool_enter() : 0;
  rank_ends(rank);
  MPIX_Tool_leave(entered);
  return result;
}

}  // namespace
}  // namespace fgmpi::check

using namespace fgmpi::check;

#include "watch/world_calls.inc"

void fgmpi_check_begin_rewound(uint32_t kinds, int fd) {
  g_is_rewound = true;
  fgmpi::findings::g_reads_modules = false;  // that would be an input of the run
  g_process.kinds = kinds;
  g_process.spool.use(fd, write_past_recording);
  begin_to_follow();
}

// For src/tape: the functions behind this library, and wrappers, as those that are generated.
EXPORT void* fgmpi_check_next(const char* name) { return dlsym(RTLD_NEXT, name); }
EXPORT int fgmpi_check_MPI_Init(const void* place, int* argc, char*** argv) {
  return init(argc, argv, place);
}
EXPORT int fgmpi_check_MPI_Init_thread(const void* place, int* argc, char*** argv, int required,
                                       int* provided) {
  return init_thread(argc, argv, required, provided, place);
}
EXPORT int fgmpi_check_MPI_Finalize(const void* place) { return finalize(place); }
EXPORT int fgmpi_check_MPI_Session_init(const void*, MPI_Info info, MPI_Errhandler errhandler,
                                        MPI_Session* session) {
  return session_init(info, errhandler, session);
}
EXPORT int fgmpi_check_MPI_Session_finalize(const void*, MPI_Session* session) {
  return session_finalize(session);
}

EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  return session_init(info, errhandler, session);
}
EXPORT int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  return fgmpi::findings::from_fortran(FROM) ? session_init(info, errhandler, session)
                                             : g_next.MPI_Session_init(info, errhandler, session);
}
EXPORT int MPI_Session_finalize(MPI_Session* session) { return session_finalize(session); }
EXPORT int PMPI_Session_finalize(MPI_Session* session) {
  return fgmpi::findings::from_fortran(FROM) ? session_finalize(session)
                                             : g_next.MPI_Session_finalize(session);
}
