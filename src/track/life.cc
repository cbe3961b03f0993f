// Start and end of a process and of its ranks.
#include <dlfcn.h>
#include <link.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/environment.h"
#include "base/hash.h"
#include "base/host_name.h"
#include "base/modules.h"
#include "track/extensions.h"
#include "track/recorder.h"
#include "watch/places.h"

extern char** environ;

namespace fgmpi::track {
namespace {

uint64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

[[noreturn]] void refuse(const std::string& line) {
  std::fprintf(stderr, "fgmpi-track: %s\n", line.c_str());
  g_next.MPI_Abort(MPI_COMM_SELF, 1);
  std::abort();
}

/// Adds a module of the process to *list, so that sites can be named.
void record_module(const dl_phdr_info& module, std::vector<char>* list) {
  const std::string path = path_of(module);
  if (path.empty()) return;
  const uintptr_t base = module.dlpi_addr, high = range_of(module).high;
  const TracedModule record = {base, high > base ? high - base : 0,
                               static_cast<uint32_t>(path.size()), 0};
  const auto* bytes = reinterpret_cast<const char*>(&record);
  list->insert(list->end(), bytes, bytes + sizeof record);
  list->insert(list->end(), path.begin(), path.end());
  list->resize((list->size() + 7) / 8 * 8);
}

/// A number that no other job has.
uint64_t new_job_key() {
  return mix(clock_ns(CLOCK_REALTIME), static_cast<uint64_t>(getpid())) & 0x7fffffffu;
}

bool has_comm_keys() { return MPIX_Comm_key && MPIX_Comm_keys_unique; }

/// Ends the job where FGMPI_TRACK is wrong. Rank 0 reports the error for all.
void refuse_wrong_settings(const TrackedRank* rank, bool session) {
  Settings& settings = g_process.settings;
  std::string wrong = settings.wrong;
  if (Status s = settings.check_ranks(rank->world_size); wrong.empty() && !s.ok()) wrong = s.what();
  if (wrong.empty() && settings.keys == Keys::kContext && !has_comm_keys())
    wrong = "FGMPI_TRACK: keys:context: this MPI library does not tell them; allowed is broadcast";
  if (wrong.empty()) return;
  if (rank->world_rank == 0 || session) refuse(wrong);
  g_next.MPI_Barrier(MPI_COMM_WORLD);  // the end of the job ends this wait
}

/// Opens the process's file. Called for the first of its ranks.
void start_process(TrackedRank* rank, bool session) {
  TrackedProcess& p = g_process;
  int first = rank->world_rank;
  p.ranks = 1;
  if (MPIX_Get_collocated_size && MPIX_Get_collocated_startrank) {
    MPIX_Get_collocated_size(&p.ranks);
    MPIX_Get_collocated_startrank(&first);
  }
  const std::string name = "proc-" + std::to_string(first) + ".trk";
  std::string path = p.settings.folder + "/" + name;
  // The job was spawned, may be one of several that connect, or finds the trace of an earlier job
  // in the folder.
  if (rank->foreign || access(path.c_str(), F_OK) == 0)
    path = p.settings.folder + "/job-" + std::to_string(p.job) + "-" + name;
  if (access(path.c_str(), F_OK) == 0)
    refuse(path + ": is there already; allowed is a folder without a trace of sessions alone");
  if (mkdir(p.settings.folder.c_str(), 0777) != 0 && errno != EEXIST)
    refuse(p.settings.folder + ": cannot be made: " + std::strerror(errno));
  if (Status s = p.spool.open(path); !s.ok()) refuse(s.what());
  FileHeader& h = p.spool.header();
  h.job = p.job;
  h.first_rank = first;
  h.ranks = p.ranks;
  h.world_size = rank->world_size;
  h.pid = getpid();
  h.calls = kCallCount;
  h.flags = (p.settings.record == RecordedCalls::kGlobal ? +kGlobalRanks : 0) |
            (p.context_keys ? +kContextKeys : 0) | (session ? +kSessions : 0);
  store_host_name(h.host);
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (g_next.MPI_Get_library_version(version, &length) == MPI_SUCCESS) {
    std::replace(version, version + length, '\n', ' ');
    std::snprintf(h.library, sizeof h.library, "%.60s", version);
  }
  set_up_ticks(&h);
  std::vector<char> modules;
  for_each_loaded_module([&](const dl_phdr_info& module) { record_module(module, &modules); });
  p.spool.put(ChunkKind::kModules, -1, modules.data(), modules.size());
  for (int i = 0; i < kCallCount; ++i) p.wanted[i] = p.settings.is_call_recorded(kCallNames[i]);
  p.all.assign(static_cast<size_t>(p.ranks), nullptr);
  p.on = true;
}

/// Decides how keys and groups are obtained, by what the library offers and by the settings.
void choose_ways() {
  TrackedProcess& p = g_process;
  p.context_keys = has_comm_keys() && p.settings.keys != Keys::kBroadcast &&
                   MPIX_Comm_keys_unique(1) == MPI_SUCCESS;
  p.short_way = p.settings.short_way && MPIX_Comm_map_bytes != nullptr;
}

/// All members of the world agree on a key for the job.
void agree_on_job(bool session) {
  uint64_t key = g_process.job ? g_process.job : new_job_key();
  if (session) key = 0;  // there is no communicator to agree on
  if (!session) g_next.MPI_Bcast(&key, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  g_process.job = key;
}

/// Finds the rank's number in MPI_COMM_WORLD, or in the process set of that name.
void find_self(TrackedRank* rank, bool session) {
  if (!session) {
    g_next.MPI_Comm_rank(MPI_COMM_WORLD, &rank->world_rank);
    g_next.MPI_Comm_size(MPI_COMM_WORLD, &rank->world_size);
    return;
  }
  MPI_Session s = MPI_SESSION_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  if (g_next.MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) != MPI_SUCCESS) return;
  if (g_next.MPI_Group_from_session_pset(s, "mpi://WORLD", &group) == MPI_SUCCESS) {
    g_next.MPI_Group_rank(group, &rank->world_rank);
    g_next.MPI_Group_size(group, &rank->world_size);
    g_next.MPI_Group_free(&group);
  }
  g_next.MPI_Session_finalize(&s);
}

void put_current_rank(TrackedRank* rank) {
  if (g_process.tool_word) {
    if (void** word = g_process.tool_word()) *word = rank;
  } else {
    g_process.only_rank = rank;
  }
}

/// Runs fgmpi-track-dump of the same installation, which writes the files for analysers.
void write_files() {
  const TrackedProcess& p = g_process;
  const auto self = module_at(reinterpret_cast<void*>(&rank_starts));
  if (!self) return;
  std::string program = self->path;
  program = program.substr(0, program.rfind('/')) + "/../bin/fgmpi-track-dump";
  std::string folder = p.settings.folder, quiet = "--quiet", otf2 = "--otf2", json = "--json";
  std::vector<char*> arguments = {program.data(), quiet.data()};
  if (p.settings.otf2) arguments.push_back(otf2.data());
  if (p.settings.json) arguments.push_back(json.data());
  arguments.push_back(folder.data());
  arguments.push_back(nullptr);
  // fgmpi-track-dump must not be traced, nor host ranks.
  std::vector<char*> environment;
  for (char** v = environ; *v; ++v)
    if (std::strncmp(*v, "LD_PRELOAD=", 11) != 0 && std::strncmp(*v, "FGMPI_", 6) != 0 &&
        std::strncmp(*v, "PMI_", 4) != 0)
      environment.push_back(*v);
  environment.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(),
                  environment.data()) != 0) {
    std::fprintf(stderr,
                 "fgmpi-track: %s, which builds without OTF2 lack, cannot be started; run "
                 "fgmpi-track-dump --otf2 %s\n",
                 program.c_str(), folder.c_str());
    return;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

// ---- Time ---------------------------------------------------------------------------------------

uint64_t read_ticks_slowly() { return clock_ns(CLOCK_MONOTONIC); }

void record_ticks(FileHeader* header) {
  header->mono1 = clock_ns(CLOCK_MONOTONIC);
  header->ticks1 = ticks();
}

void choose_clock() { g_process.ticks_are_cycles = processor::counter_is_steady(); }

void set_up_ticks(FileHeader* header) {
  header->mono0 = clock_ns(CLOCK_MONOTONIC);
  header->ticks0 = ticks();
  header->real0 = clock_ns(CLOCK_REALTIME);
  // A second pair of times, for a process that ends before it stores a later one. After half a
  // millisecond the rate is known to better than one part in a thousand.
  do record_ticks(header);
  while (header->mono1 - header->mono0 < 500'000);
}

// ---- Ranks --------------------------------------------------------------------------------------

namespace {

/// The end of the world. MPI_Finalize calls this after the program's own attributes of
/// MPI_COMM_SELF are deleted (the last one set is deleted first), so the actions of their delete
/// functions are still tracked. Our library also calls it for a rank that ends without
/// MPI_Finalize. Such a rank takes part too, because the others would wait for it. Collective over
/// the world; may switch.
int world_ends(MPI_Comm, int, void* word, void*) {
  auto* rank = static_cast<TrackedRank*>(word);
  advance_keys(rank, true);
  g_next.MPI_Barrier(MPI_COMM_WORLD);
  // The event of MPI_Finalize covers the wait for all ranks, not the tracker's own work.
  if (rank->finalize) rank->finalize->leave();
  record_ticks(&g_process.spool.header());
  unify(rank);
  for (MPI_Group& group : rank->groups)
    if (group != MPI_GROUP_NULL) g_next.MPI_Group_free(&group);
  if (g_process.settings.otf2 || g_process.settings.json) {
    // The records of all other ranks are complete, and no more come while the files are written.
    if (rank->world_rank == 0) write_files();
    g_next.MPI_Barrier(MPI_COMM_WORLD);
  }
  rank->initialised = false;
  if (rank->sessions == 0) rank_has_ended(rank, rank->finalize != nullptr);
  return MPI_SUCCESS;
}

/// Makes MPI call world_ends(), as the delete function of an attribute of MPI_COMM_SELF. It is the
/// first attribute, so it is deleted last.
void ask_for_the_end(TrackedRank* rank) {
  int keyval = MPI_KEYVAL_INVALID;
  if (g_next.MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, world_ends, &keyval, nullptr) !=
          MPI_SUCCESS ||
      g_next.MPI_Comm_set_attr(MPI_COMM_SELF, keyval, rank) != MPI_SUCCESS)
    refuse("MPI_COMM_SELF takes no attribute, by which the end of a rank is seen");
  g_next.MPI_Comm_free_keyval(&keyval);  // the keyval lives as long as the attribute
}

/// Adds world and self, and for a spawned job the intercommunicator to its parents.
void add_predefined(TrackedRank* rank, MPI_Comm parent) {
  rank->foreign = false;
  rank->add_comm(MPI_COMM_WORLD, kNoComm, kCall_MPI_Init, kPredefined, nullptr);
  rank->add_comm(MPI_COMM_SELF, kNoComm, kCall_MPI_Init, kPredefined, nullptr);
  rank->foreign = parent != MPI_COMM_NULL;
  if (rank->foreign) rank->add_comm(parent, kNoComm, kCall_MPI_Init, kPredefined, nullptr);
  ask_for_the_end(rank);
}

/// The former state of a rank that has ended all its sessions and now begins again; else nullptr.
TrackedRank* comes_again(bool session) {
  if (!g_process.on) return nullptr;
  TrackedRank self;
  find_self(&self, session);
  TrackedRank* rank =
      g_process.all[static_cast<size_t>(self.world_rank - g_process.spool.header().first_rank)];
  if (!rank) return nullptr;
  if (g_process.left-- == g_process.ranks)
    g_process.spool.header().flags &= ~static_cast<uint32_t>(kFinished);
  rank->recording = g_process.settings.is_rank_recorded(rank->world_rank, rank->world_size) &&
                    (rank->events_left > 0 || rank->next_event != rank->last_event);
  put_current_rank(rank);
  return rank;
}

/// A rank that has had a session calls MPI_Init.
void world_comes_later(TrackedRank* rank) {
  agree_on_job(false);
  FileHeader& h = g_process.spool.header();
  if (h.job == 0) h.job = g_process.job;
  rank->initialised = true;
  rank->unify_later = true;
  add_predefined(rank, MPI_COMM_NULL);
}

}  // namespace

void rank_starts(bool session) {
  if (g_process.settings.folder.empty()) return;
  TrackedRank* rank = current_rank();
  if (!rank) rank = comes_again(session);
  if (rank) {
    rank->sessions += session;
    if (!session) world_comes_later(rank);
    return;
  }
  rank = new TrackedRank;
  find_self(rank, session);
  MPI_Comm parent = MPI_COMM_NULL;
  if (!session) {
    agree_on_job(session);
    if (g_next.MPI_Comm_get_parent(&parent) != MPI_SUCCESS) parent = MPI_COMM_NULL;
    rank->foreign = parent != MPI_COMM_NULL;
  } else if (!g_process.on) {
    agree_on_job(session);
  }
  if (!g_process.on) {
    refuse_wrong_settings(rank, session);
    choose_ways();
    start_process(rank, session);
  }
  int level = MPI_THREAD_SINGLE;
  if (g_next.MPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE)
    rank->threads = true;
  this_is_the_first_thread();
  rank->initialised = !session;
  rank->sessions = session;
  rank->events_left = g_process.settings.first;
  rank->recording = g_process.settings.first > 0 &&
                    g_process.settings.is_rank_recorded(rank->world_rank, rank->world_size);
  g_process.all[static_cast<size_t>(rank->world_rank - g_process.spool.header().first_rank)] = rank;
  ++g_process.arrived;
  if (!session) add_predefined(rank, parent);
  put_current_rank(rank);
}

void rank_ends(TrackedRank* rank) {
  advance_keys(rank, true);
  record_ticks(&g_process.spool.header());
}

void rank_has_ended(TrackedRank* rank, bool in_order) {
  rank->recording = false;
  record_ticks(&g_process.spool.header());
  if (in_order && ++g_process.left == g_process.ranks) g_process.spool.finish();
  put_current_rank(nullptr);
}

// ---- The library is loaded ----------------------------------------------------------------------

void prepare_process() {
  if (!dlsym(RTLD_NEXT, "PMPI_Init")) return;  // not an MPI program, or one that loads MPI later
  fill_next(&g_next, [](const char* name) { return dlsym(RTLD_NEXT, name); });
  const char* folder = environment::text(environment::kTrackFolder);
  g_process.settings.folder = folder ? folder : "fgmpi-track";
  const char* text = environment::text(environment::kTrack);
  // This is no error yet: the program may be a script that starts an MPI program, or one
  // of many processes.
  if (Status s = parse_settings(text ? text : "", &g_process.settings); !s.ok())
    g_process.settings.wrong = s.what();
  g_process.tool_word = MPIX_Tool_word;
  choose_clock();
  findings::find_bindings();
}

}  // namespace fgmpi::track
