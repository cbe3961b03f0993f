// The ranks of a running job, read from its processes' memory and counters, and grouped.

#include "info/job_ranks.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/elf_file.h"
#include "base/host_name.h"
#include "base/process_memory.h"
#include "base/strings.h"
#include "heap/rank_heap.h"
#include "info/foreign_wait.h"
#include "info/job_hosts.h"
#include "proclet-sched/coroutine/debug_table.h"
#include "readers/report/run.h"

namespace fgmpi::tools {
namespace {

using Groups = std::map<std::string, std::vector<int32_t>>;

// ---- Processes of the job -----------------------------------------------------------------------

std::string proc(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

/// Returns the process and its descendants on this host. *others receives the proxies on other
/// hosts that these have started.
std::vector<pid_t> family_of(pid_t pid, std::vector<RemoteProxy>* others) {
  std::multimap<pid_t, pid_t> children;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const auto child = parse_int(entry.path().filename().string());
    if (!child) continue;
    std::ifstream in(entry.path() / "stat");
    std::string line;
    std::getline(in, line);
    // "PID (NAME) STATE PARENT ...": the name may hold anything.
    const size_t behind = line.rfind(')');
    if (behind == line.npos) continue;
    std::istringstream rest(line.substr(behind + 1));
    std::string state;
    pid_t parent = 0;
    rest >> state >> parent;
    children.emplace(parent, static_cast<pid_t>(*child));
  }
  std::vector<pid_t> all = {pid};
  for (size_t i = 0; i < all.size(); ++i)
    for (auto [at, past] = children.equal_range(all[i]); at != past; ++at)
      if (RemoteProxy other; is_remote_proxy(words_of_process(at->second), &other))
        others->push_back(other);
      else
        all.push_back(at->second);
  return all;
}

/// A variable in the environment that the process was started with; "" where it has none.
std::string variable_of(pid_t pid, const std::string& name) {
  std::ifstream in(proc(pid, "environ"), std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  text.insert(text.begin(), '\0');
  const std::string wanted = std::string(1, '\0') + name + "=";
  const size_t at = text.find(wanted);
  return at == text.npos ? "" : text.c_str() + at + wanted.size();
}

// ---- By memory ----------------------------------------------------------------------------------

/// Reads a text of the library's, such as the name of a call.
std::string text_at(const ProcessMemory& memory, uint64_t address) {
  char buffer[48] = {};
  // Byte by byte: the page behind the text may be unreadable.
  for (size_t i = 0; i < sizeof buffer - 1; ++i)
    if (!memory.read(address + i, buffer + i, 1) || buffer[i] == '\0') break;
  return escaped(buffer);
}

/// The address at which the process has mapped the library, and its file in *path; 0 where it has
/// not mapped it. *denied is set where this user may not read the process's mappings.
uint64_t find_library(pid_t pid, std::string* path, bool* denied) {
  std::ifstream in(proc(pid, "maps"));
  if (!in) *denied = *denied || errno == EPERM || errno == EACCES;
  for (std::string line; std::getline(in, line);) {
    const size_t slash = line.find('/');
    if (slash == line.npos || line.find("libmpich.so.12") == line.npos) continue;
    *path = line.substr(slash);
    return std::strtoull(line.c_str(), nullptr, 16);
  }
  return 0;
}

/// The offset of a symbol that the library exports; 0 where it has none. The file is opened once,
/// since processes of a job share it.
uint64_t find_symbol(const std::string& path, const char* name) {
  static std::map<std::string, ElfFile> files;
  auto [entry, is_new] = files.try_emplace(path);
  if (is_new) entry->second.open(path.c_str());
  return entry->second.exported_symbol(name);
}

/// A process of the job, as the library shows it to debuggers.
struct Hosted {
  pid_t pid;
  uint64_t library;  ///< address at which the library is mapped
  std::string path;
  sched::DebugTable table;
};

/// Returns false when the process has no ranks of this library. *denied is set where this user may
/// not read its memory.
bool find_hosted(pid_t pid, Hosted* out, bool* denied) {
  out->pid = pid;
  out->library = find_library(pid, &out->path, denied);
  const uint64_t offset = out->library ? find_symbol(out->path, "fgmpi_debug_table") : 0;
  if (!offset) return false;
  if (!ProcessMemory(pid).read(out->library + offset, &out->table, sizeof out->table)) {
    *denied = *denied || errno == EPERM || errno == EACCES;
    return false;
  }
  return out->table.version == sched::DebugTable().version &&
         out->table.proclet_bytes == sizeof(sched::Proclet) && out->table.rank_count > 0;
}

std::string world_rank(int64_t rank) { return kWorldRank + std::to_string(rank) + kWorldRank; }

/// Stands for a peer until all processes of the job are known: "<kPeer>PROCESS.LOCAL<kPeer>".
constexpr char kPeer = '\1';
std::string mark_of_peer(const pt2pt::Peer& to) {
  if (to.process == kByWorld) return "to " + world_rank(to.local);
  if (to.local == pt2pt::kProcessEndpoint) return format("to process %u", to.process);
  return kPeer + std::to_string(to.process) + "." + std::to_string(to.local) + kPeer;
}

/// Where the ranks of a process are, read from its memory. Ranks that stay where they are have
/// their numbers in the process, from its first world rank on.
class PlacesInMemory {
 public:
  PlacesInMemory(const Hosted& process, const ProcessMemory& memory)
      : first_(process.table.first_world_rank), own_(process.table.rank_count) {
    sched::DebugPlaces places;
    uint64_t tables[6];
    if (!process.table.places ||
        !memory.read(reinterpret_cast<uint64_t>(process.table.places), &places, sizeof places) ||
        !memory.read(reinterpret_cast<uint64_t>(places.moved_ranks), tables, sizeof tables))
      return;
    own_ = places.own_ranks;
    away_ = pairs(memory, tables[0], tables[1]);
    visitors_ = pairs(memory, tables[3], tables[4]);
  }
  /// Those that have begun there.
  uint64_t own_ranks() const { return own_; }
  /// The world rank with this number, if it is in the process.
  std::optional<uint32_t> rank_at(uint64_t i) const {
    const auto visitor = visitors_.find(static_cast<uint32_t>(i));
    if (i >= own_)
      return visitor == visitors_.end() ? std::nullopt : std::optional(visitor->second);
    const auto rank = static_cast<uint32_t>(first_ + i);
    return away_.count(rank) ? std::nullopt : std::optional(rank);
  }

 private:
  static std::map<uint32_t, uint32_t> pairs(const ProcessMemory& memory, uint64_t at,
                                            uint64_t end) {
    std::map<uint32_t, uint32_t> out;
    for (uint32_t pair[2]; at < end && memory.read(at, pair, sizeof pair); at += sizeof pair)
      out[pair[0]] = pair[1];
    return out;
  }

  uint64_t first_, own_;
  std::map<uint32_t, uint32_t> away_, visitors_;
};

/// The ranks of a process, read from its memory while it runs.
class RanksInMemory {
 public:
  struct RankInMemory {
    sched::ProcletState state;
    /// The call in which a parked rank waits, and words for what it waits for; "" where these
    /// cannot be found, and for ranks in other states.
    std::string call, words;
  };
  explicit RanksInMemory(const Hosted& process)
      : process_(process),
        memory_(process.pid),
        waits_(waits_of(process_, memory_)),
        places_(process_, memory_) {}

  bool read(uint64_t i, RankInMemory* out) const {
    alignas(sched::Proclet) char bytes[sizeof(sched::Proclet)];
    const uint64_t at =
        reinterpret_cast<uint64_t>(process_.table.ranks) + i * process_.table.proclet_bytes;
    if (i >= process_.table.rank_count || !memory_.read(at, bytes, sizeof bytes)) return false;
    const auto* proclet = reinterpret_cast<const sched::Proclet*>(bytes);
    *out = {proclet->state, "", ""};
    alignas(sched::WaitSite) char site[sizeof(sched::WaitSite)];
    const auto there = reinterpret_cast<uint64_t>(proclet->wait);
    if (proclet->state != sched::ProcletState::kParked || !there ||
        !memory_.read(there, site, sizeof site))
      return true;
    const auto* wait = reinterpret_cast<const sched::WaitSite*>(site);
    out->call = text_at(memory_, reinterpret_cast<uint64_t>(wait->call));
    if (waits_.readable()) out->words = waits_.words(there);
    return true;
  }
  std::optional<uint32_t> rank_at(uint64_t i) const { return places_.rank_at(i); }
  uint64_t own_ranks() const { return places_.own_ranks(); }

 private:
  static ForeignWaits waits_of(const Hosted& process, const ProcessMemory& memory) {
    pt2pt::SiteTable sites;
    const uint64_t sites_at = find_symbol(process.path, "fgmpi_site_table");
    if (!sites_at || !memory.read(process.library + sites_at, &sites, sizeof sites))
      sites.version = 0;
    comm::CommTable comms;
    const uint64_t comms_at = find_symbol(process.path, "fgmpi_comm_table");
    if (!comms_at || !memory.read(process.library + comms_at, &comms, sizeof comms))
      comms.version = 0;
    const auto read = [memory](uint64_t at, void* out, size_t bytes) {
      return memory.read(at, out, bytes);
    };
    return {read, mark_of_peer, sites, comms};
  }

  Hosted process_;
  ProcessMemory memory_;
  ForeignWaits waits_;
  PlacesInMemory places_;
};

void add_by_memory(const RanksInMemory& process, Groups* groups) {
  RanksInMemory::RankInMemory rank;
  for (uint64_t i = 0; process.read(i, &rank); ++i) {
    std::string what = "in the program, or on its way in MPI";
    if (rank.state == sched::ProcletState::kFinished) what = "ended";
    if (rank.state == sched::ProcletState::kReady) what = "ready, while others of its process run";
    if (rank.state == sched::ProcletState::kSleeping) what = "asleep";
    if (!rank.call.empty()) {
      what = "waits in " + rank.call;
      if (!rank.words.empty()) what += " (" + rank.words + ")";
    }
    if (const auto world = process.rank_at(i))
      (*groups)[what].push_back(static_cast<int32_t>(*world));
  }
}

// ---- Heaps --------------------------------------------------------------------------------------

/// What the heaps of ranks have taken (FGMPI_HEAP=rank).
struct HeapSums {
  int64_t ranks = 0;
  uint64_t bytes = 0, most = 0;
  int64_t most_rank = -1;

  void add(const HeapSums& other) {
    ranks += other.ranks;
    bytes += other.bytes;
    if (other.most <= most) return;
    most = other.most;
    most_rank = other.most_rank;
  }
};

HeapSums heaps_of(const Hosted& process) {
  HeapSums sums;
  heap::HeapsTable table;
  const ProcessMemory memory(process.pid);
  const uint64_t at = find_symbol(process.path, "fgmpi_heap_table");
  if (!at || !memory.read(process.library + at, &table, sizeof table) ||
      table.version != heap::HeapsTable().version)
    return sums;
  for (uint64_t i = 0; i < table.ranks; ++i) {
    alignas(heap::RankHeap) char bytes[sizeof(heap::RankHeap)];
    if (!memory.read(table.first + i * table.stride, bytes, sizeof bytes)) continue;
    const uint64_t taken = reinterpret_cast<const heap::RankHeap*>(bytes)->taken_of_copy();
    sums.add({1, taken, taken, static_cast<int64_t>(process.table.first_world_rank + i)});
  }
  return sums;
}

// ---- By counters --------------------------------------------------------------------------------

std::string words_of_peer(const report::RankRecord& r) {
  if (r.peer == report::kAnyPeer) return " from any rank";
  return "";
}

/// What a rank that is parked in this send, receive, probe or wait waits for, where its memory may
/// be read: " (source 3, tag 7, MPI_COMM_WORLD)". Returns "" for a collective: its ranks form one
/// group only if their lines name the call alone.
std::string words_of_wait(const report::CallName& call, const RanksInMemory* memory, int32_t i) {
  RanksInMemory::RankInMemory rank;
  const bool waits_for_message =
      call.doing == report::Doing::kMessage || call.doing == report::Doing::kCompletion;
  if (!memory || !waits_for_message || !memory->read(static_cast<uint64_t>(i), &rank) ||
      rank.call != call.name || rank.words.empty())
    return "";
  return " (" + rank.words + ")";
}

/// Adds to *groups what each rank of a process does, by its counters. `memory`: the process's, or
/// nullptr where it cannot be read.
void add_by_counters(const report::ProcessFile& file, const report::JobRun& run,
                     const RanksInMemory* memory, Groups* groups) {
  for (int32_t i = 0; i < file.header().ranks; ++i) {
    const report::RankRecord& r = file.rank(i);
    const int32_t rank = file.header().first_rank + i;
    const uint32_t now = r.now;
    std::string what;
    if (!(r.flags & report::kStarted)) {
      what = "before the end of MPI_Init";
    } else if (r.flags & report::kEnded) {
      what = "ended";
    } else {
      const findings::Site site = file.place_of_last_call(r);
      const std::string place = run.words_of({site.path, site.offset});
      what = "in the program";
      std::string wait;
      if (now && now <= report::kCallCount) {
        wait = words_of_wait(report::kCalls[now - 1], memory, i);
        what = report::kCalls[now - 1].name + (wait.empty() ? words_of_peer(r) : wait);
      }
      if (!place.empty()) what += (now ? " at " : ", its last call at ") + place;
      if (now && wait.empty() && r.peer >= report::kIsSource)
        what += "; from rank " + world_rank(r.peer - report::kIsSource);
      else if (now && wait.empty() && r.peer >= 0)
        what += "; to rank " + world_rank(r.peer);
    }
    (*groups)[what].push_back(rank);
  }
}

// ---- Groups -------------------------------------------------------------------------------------

/// More groups than this that differ only in the rank of a peer become one group: for instance,
/// where each rank waits for its neighbour.
constexpr size_t kMostAlike = 4;

/// Finds the number of a peer in the words of a group, with its marks (foreign_wait.h); returns
/// false where there is none.
bool find_peer(const std::string& words, size_t* begin, size_t* end) {
  *begin = words.find_first_of(std::string{kWorldRank, kCommRank});
  if (*begin == words.npos) return false;
  *end = words.find(words[*begin], *begin + 1) + 1;
  return *end != 0;
}

/// Returns "(own + 1)" where all ranks have the same distance to their peers, modulo `size`; else
/// the number of different peers. A peer's rank in another communicator is not compared, since the
/// ranks themselves are world ranks.
std::string words_of_peers(char mark, int64_t size,
                           const std::vector<std::pair<int32_t, int64_t>>& peers) {
  std::set<int64_t> offsets, different;
  for (const auto& [rank, peer] : peers) {
    offsets.insert((peer - rank + size) % size);
    different.insert(peer);
  }
  if (mark != kWorldRank || offsets.size() != 1) return format("(%zu different)", different.size());
  const int64_t offset = *offsets.begin();
  return 2 * offset <= size ? format("(own + %lld)", static_cast<long long>(offset))
                            : format("(own - %lld)", static_cast<long long>(size - offset));
}

/// Returns the groups without marks in their words, and with groups joined that differ only in the
/// rank of a peer (kMostAlike).
Groups joined(const Groups& groups, int64_t size) {
  /// The key of groups whose words are equal before and after a number with this mark.
  struct Alike {
    std::string before, after;
    char mark;
    auto operator<=>(const Alike&) const = default;
  };
  std::map<Alike, std::vector<std::pair<std::string, const std::vector<int32_t>*>>> alike;
  Groups out;
  for (const auto& [words, ranks] : groups) {
    size_t begin = 0, end = 0;
    if (!find_peer(words, &begin, &end))
      out[words] = ranks;
    else
      alike[{words.substr(0, begin), words.substr(end), words[begin]}].emplace_back(
          words.substr(begin + 1, end - begin - 2), &ranks);
  }
  const auto add = [&out](const std::string& words, const std::vector<int32_t>& ranks) {
    out[words].insert(out[words].end(), ranks.begin(), ranks.end());
  };
  for (const auto& [what, all] : alike) {
    std::vector<std::pair<int32_t, int64_t>> peers;
    for (const auto& [number, ranks] : all)
      for (int32_t rank : *ranks) peers.emplace_back(rank, std::atoll(number.c_str()));
    const std::string together =
        all.size() > kMostAlike ? words_of_peers(what.mark, size, peers) : "";
    for (const auto& [number, ranks] : all)
      add(what.before + (together.empty() ? number : together) + what.after, *ranks);
  }
  return out;
}

std::string to_lines(const Groups& groups) {
  std::vector<const Groups::value_type*> order;
  for (const auto& group : groups) order.push_back(&group);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->second.size() > b->second.size();
  });
  std::string text;
  for (const auto* group : order) {
    std::vector<int32_t> ranks = group->second;
    std::sort(ranks.begin(), ranks.end());
    text += format("%7zu  %s: rank%s %s\n", ranks.size(), group->first.c_str(),
                   ranks.size() > 1 ? "s" : "", report::ranks_words(ranks).c_str());
  }
  return text;
}

std::string words_of_heaps(const HeapSums& heaps) {
  if (heaps.ranks == 0) return "";
  return format("heaps of ranks: %.1f MiB, at most %.1f MiB (rank %lld)\n",
                static_cast<double>(heaps.bytes) / (1 << 20),
                static_cast<double>(heaps.most) / (1 << 20),
                static_cast<long long>(heaps.most_rank));
}

// ---- What is known of a job ---------------------------------------------------------------------

/// The groups and processes of a job that are known so far: those of one host, or of several.
struct JobPart {
  Groups groups;
  std::map<int64_t, int64_t> processes;  ///< first rank and number of ranks
  std::set<std::string> hosts;
  HeapSums heaps;
  bool whole = false;  ///< the processes of all hosts are in it
};

/// Adds the ranks of this host to *part, by counters where the job has them, else by memory.
/// `alone`: the job has no processes on other hosts. *denied is set where memory may not be read.
void look_here(const std::vector<pid_t>& family, bool alone, JobPart* part, bool* denied) {
  char host[sizeof(report::ProfileHeader::host)];
  store_host_name(host);
  std::string folder;
  for (pid_t p : family)
    if (folder.empty()) folder = variable_of(p, "FGMPI_REPORT_DIR");
  report::JobRun run;
  if (!folder.empty()) run.read(folder);
  part->whole = !run.processes.empty() &&
                run.processes.size() == static_cast<size_t>(run.processes[0].header().processes);
  bool counted = false;
  for (const auto& file : run.processes) {
    const report::ProfileHeader& h = file.header();
    const std::string where(h.host, strnlen(h.host, sizeof h.host));
    if (!part->whole && !alone && where != host) continue;
    counted = true;
    part->hosts.insert(where);
    part->processes[h.first_rank] = h.ranks;
    Hosted found;
    bool unreadable = false;
    std::optional<RanksInMemory> memory;
    if (where == host && find_hosted(static_cast<pid_t>(h.pid), &found, &unreadable)) {
      memory.emplace(found);
      part->heaps.add(heaps_of(found));
    }
    add_by_counters(file, run, memory ? &*memory : nullptr, &part->groups);
  }
  for (size_t i = 0; i < family.size() && !counted; ++i) {
    Hosted found;
    if (!find_hosted(family[i], &found, denied)) continue;
    part->hosts.insert(host);
    const RanksInMemory ranks(found);
    part->processes[static_cast<int64_t>(found.table.first_world_rank)] =
        static_cast<int64_t>(ranks.own_ranks());
    part->heaps.add(heaps_of(found));
    add_by_memory(ranks, &part->groups);
  }
}

/// Returns the groups with "to rank 5" for each mark of a peer whose world rank can be computed:
/// all processes up to the peer's are known. Other peers become "to process 2".
Groups with_peers(const JobPart& part) {
  std::vector<int64_t> first;
  int64_t next = 0;
  for (const auto& [rank, ranks] : part.processes) {
    if (rank != next) break;
    first.push_back(rank);
    next += ranks;
  }
  Groups out;
  for (const auto& [what, ranks] : part.groups) {
    std::string words = what;
    for (size_t at; (at = words.find(kPeer)) != words.npos;) {
      const size_t end = words.find(kPeer, at + 1);
      if (end == words.npos) break;
      unsigned process = 0, local = 0;
      std::sscanf(words.c_str() + at + 1, "%u.%u", &process, &local);
      words.replace(at, end + 1 - at,
                    process < first.size() ? "to rank " + world_rank(first[process] + local)
                                           : format("to process %u", process));
    }
    std::vector<int32_t>& all = out[words];
    all.insert(all.end(), ranks.begin(), ranks.end());
  }
  return out;
}

/// Replaces control characters by spaces, except the marks of peers.
std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' && c != kPeer && c != kWorldRank && c != kCommRank)
      c = ' ';
  return text;
}

/// The answer of a host: a line for the host, one for each process, and one for each group with its
/// ranks and words.
std::string to_answer(const JobPart& part) {
  std::string text;
  for (const std::string& host : part.hosts) text += "host " + host + "\n";
  for (const auto& [first, ranks] : part.processes)
    text +=
        format("process %lld %lld\n", static_cast<long long>(first), static_cast<long long>(ranks));
  if (const HeapSums& h = part.heaps; h.ranks)
    text += format("heaps %lld %llu %llu %lld\n", static_cast<long long>(h.ranks),
                   static_cast<unsigned long long>(h.bytes),
                   static_cast<unsigned long long>(h.most), static_cast<long long>(h.most_rank));
  for (const auto& [what, ranks] : part.groups) {
    text += "ranks ";
    for (int32_t rank : ranks) text += std::to_string(rank) + ",";
    text += " " + one_line(what) + "\n";
  }
  return text;
}

/// Adds the answer of a host to *part; returns false where the answer names no process.
bool add_answer(const std::string& answer, JobPart* part) {
  std::istringstream in(answer);
  bool any = false;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind, list;
    int64_t first = 0, ranks = 0;
    words >> kind;
    if (kind == "host" && words >> list) part->hosts.insert(list);
    if (kind == "process" && words >> first >> ranks) part->processes[first] = ranks, any = true;
    if (HeapSums h; kind == "heaps" && words >> h.ranks >> h.bytes >> h.most >> h.most_rank)
      part->heaps.add(h);
    if (kind != "ranks" || !(words >> list) || words.get() != ' ') continue;
    std::string what;
    std::getline(words, what);
    what = one_line(what);
    std::istringstream numbers(list);
    for (std::string number; std::getline(numbers, number, ',');)
      if (const auto rank = parse_int(number); rank && *rank >= 0 && *rank <= INT32_MAX)
        part->groups[what].push_back(static_cast<int32_t>(*rank));
  }
  return any;
}

}  // namespace

Status describe_job(pid_t pid, std::string* out) {
  if (access(proc(pid, "stat").c_str(), F_OK) != 0)
    return error(MPI_ERR_ARG, "%d: there is no such process on this host", static_cast<int>(pid));
  JobPart all;
  std::vector<RemoteProxy> others;
  bool denied = false;
  look_here(family_of(pid, &others), others.empty(), &all, &denied);
  std::vector<std::string> answers(others.size()), faults(others.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < others.size() && !all.whole; ++i)
    threads.emplace_back([&, i] { answers[i] = ask(others[i], &faults[i]); });
  for (std::thread& thread : threads) thread.join();
  std::string not_seen;
  for (size_t i = 0; i < threads.size(); ++i) {
    if (add_answer(answers[i], &all)) continue;
    std::string starter;
    for (const std::string& word : others[i].starter) starter += " " + word;
    not_seen += "not seen: ranks on another host, started by" + starter + " (" +
                (faults[i].empty() ? "it has answered nothing" : faults[i]) +
                "): use fgmpi-info -job there\n";
  }
  if (all.processes.empty() && not_seen.empty())
    return error(
        MPI_ERR_ARG,
        denied ? "%d: the memory of its processes may not be read; allowed is that for root, for "
                 "its user with kernel.yama.ptrace_scope 0, and for its user without that under "
                 "mpiexec -progress"
               : "%d: allowed is mpiexec, or a process, of a job that runs on this host",
        static_cast<int>(pid));
  size_t ranks = 0;
  for (const auto& group : all.groups) ranks += group.second.size();
  *out = format("%zu rank%s in %zu process%s ", ranks, ranks == 1 ? "" : "s", all.processes.size(),
                all.processes.size() == 1 ? "" : "es") +
         (all.hosts.size() > 1 ? format("on %zu hosts\n", all.hosts.size())
          : others.empty()     ? std::string("on this host\n")
                           : "on host " + (all.hosts.empty() ? "?" : *all.hosts.begin()) + "\n") +
         words_of_heaps(all.heaps) +
         to_lines(joined(with_peers(all), static_cast<int64_t>(std::max<size_t>(ranks, 1)))) +
         not_seen;
  return {};
}

Status describe_part(const std::string& control_port, const std::string& proxy_id,
                     std::string* out) {
  const pid_t proxy = find_proxy(control_port, proxy_id);
  if (proxy == 0) return error(MPI_ERR_ARG, "%s: there is no such proxy", control_port.c_str());
  JobPart part;
  std::vector<RemoteProxy> others;
  bool denied = false;
  look_here(family_of(proxy, &others), false, &part, &denied);
  *out = to_answer(part);
  return {};
}

}  // namespace fgmpi::tools
