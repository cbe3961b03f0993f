// Reading the files of a job's processes, and adding them up.
#include "readers/report/run.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/strings.h"

namespace fgmpi::report {
namespace {

/// The most cells of the communication matrix in the page.
constexpr size_t kMostFlows = 20'000;

/// The collective of each algorithm.
constexpr std::string_view kCollectiveOfAlgorithm[] = {
#define FGMPI_ALGORITHM(collective, ...) #collective,
#include "base/algorithms.def"
};

/// A text in a record, which may lack its terminating zero.
template <size_t N>
std::string text_in(const char (&field)[N]) {
  return std::string(field, strnlen(field, N));
}

}  // namespace

// ---- A file -------------------------------------------------------------------------------------

ProcessFile::ProcessFile(ProcessFile&& other) noexcept
    : header_(std::exchange(other.header_, nullptr)), bytes_(other.bytes_) {}

ProcessFile::~ProcessFile() {
  if (header_) munmap(const_cast<ProfileHeader*>(header_), bytes_);
}

namespace {

/// Returns "" for a header that a process of this version may have written, else the reason.
std::string check_header(const ProfileHeader& h, size_t bytes) {
  if (h.magic != kMagic || h.calls != kCallCount || h.algorithms != counters::kAlgorithms)
    return "it was not written by this version of the library";
  if (h.ranks < 1 || h.ranks > kMostRanks || h.first_rank < 0 || h.world_size < h.ranks ||
      h.first_rank > h.world_size - h.ranks)
    return format(
        "it claims %d ranks from rank %d on of a world of %d; allowed are 1 to %d within the world",
        h.ranks, h.first_rank, h.world_size, kMostRanks);
  if (h.rows > kRowsInAll || h.memory_rows > kMemoryRowsInAll || h.columns > kColumns)
    return format("it claims %u rows, %u rows of memory and %u columns; allowed are %d, %d and %d",
                  h.rows, h.memory_rows, h.columns, kRowsInAll, kMemoryRowsInAll, kColumns);
  if (h.time_unit < 1 || h.time_unit > kMostTimeUnit)
    return format("its times are in units of %llu ns; allowed are 1 to %llu",
                  static_cast<unsigned long long>(h.time_unit),
                  static_cast<unsigned long long>(kMostTimeUnit));
  if (h.remote_shift >= 31)
    return format("it joins 2^%u ranks; allowed are 2^0 to 2^30", h.remote_shift);
  ProfileHeader plan{};
  plan.ranks = h.ranks;
  lay_out(&plan);
  if (h.parts_at != plan.parts_at)
    return format("its parts begin at byte %llu; they must begin at byte %llu",
                  static_cast<unsigned long long>(h.parts_at),
                  static_cast<unsigned long long>(plan.parts_at));
  if (bytes < plan.size)
    return format("it ends after %zu bytes; its %d ranks need %llu", bytes, h.ranks,
                  static_cast<unsigned long long>(plan.size));
  return "";
}

/// Reads up to `bytes` bytes; returns how many there were.
size_t read_at(int fd, void* to, size_t bytes, off_t at) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(fd, static_cast<char*>(to) + done, bytes - done, at + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

std::string ProcessFile::open(const std::string& path) {
  // A pipe would block without O_NONBLOCK until somebody writes to it.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return format("it cannot be opened: %s", std::strerror(errno));
  struct stat s {};
  std::string reason;
  ProfileHeader h;
  if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
    reason = "it is not a regular file";
  else if (s.st_size < static_cast<off_t>(kHeaderBytes) || read_at(fd, &h, sizeof h, 0) < sizeof h)
    reason = format("it ends after %lld bytes; its header needs %zu",
                    static_cast<long long>(s.st_size), kHeaderBytes);
  else
    reason = check_header(h, static_cast<size_t>(s.st_size));
  if (reason.empty()) {
    ProfileHeader plan = h;
    lay_out(&plan);
    void* map = mmap(nullptr, plan.size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
      reason = format("no memory for its %d ranks: %s", h.ranks, std::strerror(errno));
    } else {
      bytes_ = plan.size;
      header_ = static_cast<const ProfileHeader*>(std::memcpy(map, &h, sizeof h));
      reason = copy_data(fd);
    }
  }
  close(fd);
  // Without a timeline there are no columns.
  if (reason.empty() && h.columns != 0 &&
      !in_part<char>(h.timeline, timeline_bytes(h.rows, h.memory_rows)))
    reason = format("its timeline of %u columns is outside of the file", h.columns);
  if (!reason.empty() && header_)
    munmap(const_cast<ProfileHeader*>(std::exchange(header_, nullptr)), bytes_);
  return reason;
}

std::string ProcessFile::copy_data(int fd) {
  char* const to = const_cast<char*>(reinterpret_cast<const char*>(header_));
  const auto end = static_cast<off_t>(bytes_);
  for (off_t at = kHeaderBytes; at < end;) {
    off_t low = lseek(fd, at, SEEK_DATA), high = low < 0 ? -1 : lseek(fd, low, SEEK_HOLE);
    if (low < 0 && errno == ENXIO) break;              // only a hole follows
    if (low < 0 || high <= low) low = at, high = end;  // a file system that does not know holes
    high = std::min(high, end);
    if (low >= high) break;
    const auto bytes = static_cast<size_t>(high - low);
    if (read_at(fd, to + low, bytes, low) != bytes) return "it became shorter while it was read";
    at = high;
  }
  return "";
}

findings::Site ProcessFile::place(uint64_t address) const {
  Part part = header_->modules;
  for (uint32_t left = kPartsBytes / kPartUnit; left > 0; --left) {
    const auto* m = in_part<ModuleRecord>(part);
    if (!m) break;
    if (address >= m->low && address < m->high) {
      const bool whole = m->path_bytes < PATH_MAX &&
                         in_part<char>(part, sizeof *m + size_t{m->path_bytes}) != nullptr;
      return {std::string(reinterpret_cast<const char*>(m + 1), whole ? m->path_bytes : 0),
              address - m->base};
    }
    part = m->next;
  }
  return {};
}

template <class Record>
std::vector<Record> ProcessFile::records(const Part* parts, uint32_t in_part_each, uint32_t used,
                                         uint32_t most) const {
  std::vector<Record> all;
  used = std::min(used, most);
  for (uint32_t i = 0; i < used; i += in_part_each)
    if (const auto* first = in_part<Record>(parts[i / in_part_each], sizeof(Record) * in_part_each))
      all.insert(all.end(), first, first + std::min(in_part_each, used - i));
  return all;
}

std::vector<ArrivalRecord> ProcessFile::moves() const {
  return records<ArrivalRecord>(&header_->moves_recorded, kMoves, header_->moves, kMoves);
}

std::vector<RemoteRecord> ProcessFile::remotes() const {
  return records<RemoteRecord>(header_->remote_parts, kRemotesInPart, header_->remotes, kRemotes);
}

std::vector<SiteRecord> ProcessFile::sites() const {
  return records<SiteRecord>(header_->site_parts, kSitesInPart, header_->sites, kSites);
}

uint64_t ProcessFile::unseen(int32_t local) const {
  const RankRecord& r = rank(local);
  const auto slices = static_cast<size_t>(slices_of(header_->ranks));
  const auto* looked = in_part<uint64_t>(header_->looked, sizeof(uint64_t) * slices);
  if (!looked || !(r.flags & kStarted) || (r.flags & kEnded)) return 0;
  const uint64_t last = looked[local / kSliceRanks];
  return header_->last_ns - std::min(last, header_->last_ns);
}

std::vector<CollectiveRecord> ProcessFile::collectives_of(const FamilyRecord& family) const {
  std::vector<CollectiveRecord> all;
  const auto* r = in_part<CollectiveRecord>(family.first_collective);
  for (; r && all.size() < kCollectivesOfFamily; r = in_part<CollectiveRecord>(r->next))
    all.push_back(*r);
  return all;
}

findings::Site ProcessFile::place_of_last_call(const RankRecord& rank) const {
  const ProfileHeader& h = *header_;
  const uint64_t in_region = rank.site - h.image_region;
  if (h.image_count <= h.image_first || h.image_stride == 0 ||
      in_region >= h.image_stride * (h.image_count - h.image_first))
    return place(rank.site);
  // The program is first in an image. Behind it are the libraries of which each rank has a copy.
  return place(h.program_base + in_region % h.image_stride);
}

void ways_of(const RankRecord& rank, WayCell (*ways)[kWays]) {
  WayCell all = {};
  for (const PeerCell& cell : rank.peers) {
    all.messages += cell.messages();
    all.bytes += cell.bytes;
  }
  for (int w = 1; w < kWays; ++w) {
    WayCell& way = (*ways)[w] = rank.ways[w - 1];
    all.messages -= std::min(all.messages, way.messages);
    all.bytes -= std::min(all.bytes, way.bytes);
  }
  (*ways)[0] = all;
}

// ---- The run ------------------------------------------------------------------------------------

void JobRun::read(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator at(folder, failed), end_of_all;
       !failed && at != end_of_all; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(kFilePrefix)) files.push_back(at->path().string());
    if (name.starts_with(kSignalPrefix))
      end.signals.insert(std::atoi(name.c_str() + std::strlen(kSignalPrefix)));
  }
  std::sort(files.begin(), files.end());
  for (const std::string& path : files) add_file(path);
}

void JobRun::add_file(const std::string& path) {
  ProcessFile file;
  const std::string reason = file.open(path);
  if (reason.empty())
    processes.push_back(std::move(file));
  else
    refused.push_back(std::filesystem::path(path).filename().string() + ": " + reason);
}

void JobRun::refuse_large_worlds() {
  int64_t seen = 0;
  for (const ProcessFile& p : processes) seen += p.header().ranks;
  const int64_t most = std::min(kMostUnseen + (1 + kMostUnseenShare) * seen, int64_t{INT32_MAX});
  std::vector<ProcessFile> kept;
  for (ProcessFile& p : processes) {
    const ProfileHeader& h = p.header();
    if (h.world_size <= most) {
      kept.push_back(std::move(p));
      continue;
    }
    refused.push_back(format(
        "the file of rank %d: it claims a world of %d ranks; files of %lld ranks allow at most "
        "%lld",
        h.first_rank, h.world_size, static_cast<long long>(seen), static_cast<long long>(most)));
  }
  processes.swap(kept);
}

void JobRun::sum_up() {
  refuse_large_worlds();
  std::vector<size_t> order(processes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return processes[a].header().first_rank < processes[b].header().first_rank;
  });
  std::vector<ProcessFile> sorted;
  for (size_t i : order) sorted.push_back(std::move(processes[i]));
  processes.swap(sorted);
  for (const ProcessFile& p : processes) world_size = std::max(world_size, p.header().world_size);
  ranks.resize(static_cast<size_t>(world_size));
  while ((world_size >> matrix_shift) > 1024) ++matrix_shift;
  for (const ProcessFile& p : processes)
    matrix_shift = std::max(matrix_shift, static_cast<int>(p.header().remote_shift));
  for (size_t i = 0; i < processes.size(); ++i) sum_up_process(static_cast<uint32_t>(i));
  std::stable_sort(moves.begin(), moves.end(),
                   [](const RankMove& a, const RankMove& b) { return a.seconds < b.seconds; });
  sum_up_calls();
  for (Family& f : families)
    if (f.least == INT32_MAX) f.least = 0;
}

void JobRun::sum_up_process(uint32_t number) {
  const ProcessFile& file = processes[number];
  const ProfileHeader& h = file.header();
  seconds = std::max(seconds, to_seconds(h.last_ns - std::min(h.init_ns, h.last_ns)));
  init_seconds = std::max(init_seconds, to_seconds(h.init_ns - std::min(h.start_ns, h.init_ns)));
  samples = std::max(samples, h.samples);
  const uint64_t each = h.slice_looks / static_cast<uint64_t>(slices_of(h.ranks));
  looks = number == 0 ? each : std::min(looks, each);
  rss += h.rss;
  rss_first += h.rss_first;
  rss_most += h.rss_most;
  unexpected_most += h.unexpected_most;
  cpu_ns += h.cpu_ns;
  for (int32_t i = 0; i < h.ranks; ++i) sum_up_rank(number, i);
  for (const SiteRecord& s : file.sites()) {
    if (s.site == 0 || s.call >= kCallCount) continue;
    const findings::Site where = file.place(s.site);
    PlaceTime& time = places[{where.path, where.offset}];
    time.call = static_cast<uint16_t>(s.call);
    time.ns += s.ns;
  }
  add_moves(file);
  add_families(file);
  add_remotes(file);
  coarsen_matrix();
}

void JobRun::add_moves(const ProcessFile& file) {
  const ProfileHeader& h = file.header();
  if (!(h.flags & kMoving)) return;
  ranks_move = true;
  gain.moves += h.moves;
  const uint64_t start = start_on_host(file);
  for (const ArrivalRecord& m : file.moves()) {
    if (m.rank < 0 || m.rank >= world_size || m.from < 0 || m.from >= h.processes) continue;
    moves.push_back({to_seconds(m.ns - std::min(m.ns, start)), m.rank, m.from, h.process});
    gain.homecomings += m.rank >= h.first_rank && m.rank - h.first_rank < h.ranks;
  }
  gain.busiest = std::max(gain.busiest, to_seconds(h.program_cpu_ns));
  uint64_t own = 0;
  for (int32_t i = 0; i < h.ranks; ++i) own += file.rank(i).cpu_ns;
  gain.at_home = std::max(gain.at_home, to_seconds(own));
}

void JobRun::sum_up_rank(uint32_t number, int32_t local) {
  const ProcessFile& file = processes[number];
  const ProfileHeader& h = file.header();
  const RankRecord& r = file.rank(local);
  RankSum& sum = ranks[static_cast<size_t>(h.first_rank + local)];
  sum.process = number;
  sum.started = r.flags & kStarted;
  sum.ended = r.flags & kEnded;
  sum.now = r.now <= kCallCount ? r.now : 0;
  sum.program = static_cast<float>(to_seconds(r.program_ns));
  sum.turn = static_cast<float>(to_seconds(r.turn_ns));
  sum.repeated = r.repeated;
  if (r.flags & (kManySources | kUnknownSource)) sum.any_received = r.any_received;
  sum.cpu = static_cast<float>(to_seconds(r.cpu_ns));
  sum.behind = static_cast<float>(to_seconds(r.behind_ns));
  sum.stack = r.stack_bytes;
  program_ns += r.program_ns;
  turn_ns += r.turn_ns;
  // The rank counts as having been in this call since the last look at it.
  const uint64_t unseen = r.now ? file.unseen(local) : 0;
  if (unseen) {
    const findings::Site where = file.place_of_last_call(r);
    PlaceTime& time = places[{where.path, where.offset}];
    time.call = static_cast<uint16_t>(std::min<uint32_t>(r.now, kCallCount) - 1);
    time.ns += unseen;
  }
  uint64_t in_mpi = 0, in_collectives = 0;
  for (int i = 0; i < kCallCells; ++i) {
    const CallCell& cell = r.calls_made[i];
    const uint16_t call = h.slots[i];
    const bool is_now = call != 0 && call == r.now;
    const uint64_t ns = r.call_times[i] * h.time_unit + (is_now ? unseen : 0);
    in_mpi += ns;
    if (call == 0 || call > kCallCount) continue;
    calls[call - 1].count += cell.count;
    calls[call - 1].bytes += cell.bytes;
    calls[call - 1].ns += ns;
    if (kCalls[call - 1].doing == Doing::kCollective) in_collectives += ns;
  }
  mpi_ns += in_mpi;
  sum.mpi = static_cast<float>(to_seconds(in_mpi));
  sum.collective = static_cast<float>(to_seconds(in_collectives));
  WayCell by_way[kWays] = {};
  if (!predicted) ways_of(r, &by_way);
  for (const PeerCell& cell : r.peers) {
    const uint64_t peer = uint64_t{cell.peer_and_one()} - 1;
    if (!predicted || cell.peer_and_one() == 0 || r.peer_shift() > 31) continue;
    WayCell& way = by_way[way_between(file, local, peer << r.peer_shift())];
    way.messages += cell.messages();
    way.bytes += cell.bytes;
  }
  for (int w = 0; w < kWays; ++w) {
    ways[w].messages += by_way[w].messages;
    ways[w].bytes += by_way[w].bytes;
    sum.sent += by_way[w].messages;
    sum.sent_bytes += by_way[w].bytes;
  }
  add_flows(file, local);
}

void JobRun::add_flows(const ProcessFile& file, int32_t local) {
  const RankRecord& r = file.rank(local);
  for (const WaitCell& wait : r.waits)
    if (const uint32_t one = wait.peer_and_one & ~kIsTarget;
        one && one <= static_cast<uint32_t>(world_size))
      (wait.peer_and_one & kIsTarget ? waited_for_target
                                     : waited_for)[static_cast<int32_t>(one - 1)] +=
          to_seconds(wait.time * file.header().time_unit);
  const uint32_t from = static_cast<uint32_t>(file.header().first_rank + local) >> matrix_shift;
  for (const PeerCell& cell : r.peers) {
    if (cell.peer_and_one() == 0 || r.peer_shift() > 31) continue;
    const uint64_t peer = uint64_t{cell.peer_and_one() - 1} << r.peer_shift();
    if (peer >= static_cast<uint64_t>(world_size)) continue;
    if (cell.messages() == 0) continue;
    const int way = way_between(file, local, peer);
    // A cell for several ranks is spread evenly over their blocks.
    const uint32_t first = static_cast<uint32_t>(peer >> matrix_shift);
    const uint64_t past = std::min<uint64_t>(peer + (uint64_t{1} << r.peer_shift()),
                                             static_cast<uint64_t>(world_size));
    const uint32_t blocks = static_cast<uint32_t>((past - 1) >> matrix_shift) - first + 1;
    for (uint32_t i = 0; i < blocks; ++i) {
      Flow& flow = matrix[{from, first + i, way}];
      flow.messages += cell.messages() / blocks + (i < cell.messages() % blocks);
      flow.bytes += cell.bytes / blocks + (i < cell.bytes % blocks);
    }
  }
  if (matrix.size() > 4 * kMostFlows) coarsen_matrix();
}

uint32_t PredictedOn::count() const {
  uint32_t count = 0;
  for (const uint32_t node : nodes) count = std::max(count, node + 1);
  return count;
}

int JobRun::way_between(const ProcessFile& from, int32_t local, uint64_t to) const {
  const RankRecord& sender = from.rank(local);
  const auto first = static_cast<uint64_t>(from.header().first_rank);
  if (predicted) {
    const uint64_t rank = first + static_cast<uint64_t>(local);
    return predicted.node_of(rank) == predicted.node_of(to) ? 0 : 2;
  }
  if (to >= first && to < first + static_cast<uint64_t>(from.header().ranks)) return 0;
  if (sender.ways[1].messages == 0) return sender.ways[0].messages ? 1 : 0;
  if (sender.ways[0].messages == 0) return 2;
  const auto past = std::upper_bound(processes.begin(), processes.end(), to,
                                     [](uint64_t rank, const ProcessFile& p) {
                                       return rank < static_cast<uint64_t>(p.header().first_rank);
                                     });
  const bool same_host =
      past != processes.begin() &&
      std::strncmp(past[-1].header().host, from.header().host, sizeof from.header().host) == 0;
  return same_host ? 1 : 2;
}

void JobRun::add_remotes(const ProcessFile& file) {
  const auto shift = file.header().remote_shift;
  for (const RemoteRecord& r : file.remotes()) {
    const uint64_t from = uint64_t{r.from} << shift, to = uint64_t{r.to} << shift;
    if (std::max(from, to) >= static_cast<uint64_t>(world_size)) continue;
    Flow& flow = matrix[{static_cast<uint32_t>(from >> matrix_shift),
                         static_cast<uint32_t>(to >> matrix_shift), FlowKey::kOneSided}];
    flow.messages += r.operations;
    flow.bytes += r.bytes;
    one_sided.messages += r.operations;
    one_sided.bytes += r.bytes;
  }
}

void JobRun::sum_up_calls() {
  for (int i = 0; i < kCallCount; ++i) {
    const std::string name = kCalls[i].name;
    if (kCalls[i].doing == Doing::kOneSided) one_sided_ns += calls[i].ns;
    if (kCalls[i].doing != Doing::kFile) continue;
    file_ns += calls[i].ns;
    (name.find("write") != name.npos ? file_written : file_read) += calls[i].bytes;
  }
}

void JobRun::coarsen_matrix() {
  while (matrix.size() > kMostFlows) {
    std::map<FlowKey, Flow> coarse;
    for (const auto& [key, flow] : matrix) {
      Flow& to = coarse[{key.from >> 1, key.to >> 1, key.way}];
      to.messages += flow.messages;
      to.bytes += flow.bytes;
    }
    matrix.swap(coarse);
    ++matrix_shift;
  }
}

uint64_t JobRun::start_on_host(const ProcessFile& file) const {
  uint64_t start = file.header().init_ns;
  for (const ProcessFile& p : processes)
    if (std::strncmp(p.header().host, file.header().host, sizeof p.header().host) == 0)
      start = std::min(start, p.header().init_ns);
  return start;
}

void JobRun::add_families(const ProcessFile& file) {
  const uint64_t start = start_on_host(file);
  auto since_start = [&](uint64_t ns) {
    return ns == 0 ? -1 : to_seconds(ns - std::min(ns, start));
  };
  std::vector<int> number(kFamilies, 0);
  for (int i = 0; i < kFamilies; ++i) {
    const FamilyRecord* record = file.family(i);
    if (!record) continue;
    const FamilyRecord& f = *record;
    if (i > kSelfFamily && f.members_made == 0 && f.collectives == 0) continue;
    const findings::Site where = f.site ? file.place(f.site) : findings::Site{};
    Family sum;
    sum.call = i == kWorldFamily     ? "MPI_COMM_WORLD"
               : i == kSelfFamily    ? "MPI_COMM_SELF"
               : f.call < kCallCount ? kCalls[f.call].name
                                     : "";
    sum.place = {where.path, where.offset};
    sum.parent = i <= kSelfFamily || f.parent >= i ? -1 : number[f.parent];
    auto same = [&](const Family& o) {
      return o.call == sum.call && o.parent == sum.parent && o.place.path == sum.place.path &&
             o.place.offset == sum.place.offset;
    };
    auto at = std::find_if(families.begin(), families.end(), same);
    if (at == families.end()) {
      sum.least = INT32_MAX;
      at = families.insert(families.end(), sum);
    }
    number[static_cast<size_t>(i)] = static_cast<int>(at - families.begin());
    at->inter |= f.inter != 0;
    at->made += f.made;
    at->members_made += f.members_made;
    at->members_freed += f.members_freed;
    at->collectives += f.collectives;
    at->bytes += f.bytes;
    at->ns += f.ns;
    auto take = [](double* sum, double seconds, bool least) {
      if (seconds >= 0 && (*sum < 0 || (seconds < *sum) == least)) *sum = seconds;
    };
    take(&at->first_made, since_start(f.first_made_ns), true);
    take(&at->last_made, since_start(f.last_made_ns), false);
    take(&at->first_freed, since_start(f.first_freed_ns), true);
    take(&at->last_freed, since_start(f.last_freed_ns), false);
    at->lived += to_seconds(f.lived_ns);
    at->map_bytes = static_cast<int64_t>(static_cast<uint64_t>(at->map_bytes) +
                                         static_cast<uint64_t>(f.map_bytes));
    if (f.least > 0) at->least = std::min(at->least, f.least);
    at->most = std::max(at->most, f.most);
    for (int a = 0; a < counters::kAlgorithms; ++a) at->runs[a] += f.runs[a];
    if (at->model.empty()) at->model = text_in(f.model), at->encoding = text_in(f.encoding);
    for (const CollectiveRecord& c : file.collectives_of(f)) {
      if (c.call >= kCallCount) continue;
      CallTotals& call = at->by_call[static_cast<uint16_t>(c.call)];
      call.count += c.count;
      call.bytes += c.bytes;
      call.ns += c.ns;
    }
  }
}

// ---- Words --------------------------------------------------------------------------------------

std::string words_of_place(const CallSite& place) {
  if (place.path.empty()) return "";
  // The return address may belong to the line behind the call.
  const findings::SourceLine line = findings::find_line({place.path, place.offset - 1});
  const std::string file = escaped(std::filesystem::path(place.path).filename().string());
  const std::string function = line.function.empty() ? "" : " (" + escaped(line.function) + ")";
  if (line.file.empty())
    return file + format("+0x%llx", static_cast<unsigned long long>(place.offset)) + function;
  const std::string source = escaped(std::filesystem::path(line.file).filename().string());
  return format("%s:%d", source.c_str(), line.line) + function;
}

std::string JobRun::words_of(const CallSite& place) const {
  const auto [at, fresh] = words_.try_emplace(place);
  if (fresh) at->second = words_of_place(place);
  return at->second;
}

std::string collective_of(std::string call) {
  auto cut = [&](const char* end) {
    if (call.ends_with(end)) call.erase(call.size() - std::strlen(end));
  };
  if (call.starts_with("MPI_")) call.erase(0, 4);
  for (const char* end : {"_c", "_init", "_block"}) cut(end);
  if (call.starts_with("I")) call.erase(0, 1);
  for (char& c : call) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (!call.ends_with("scan")) cut("v"), cut("w");
  return call == "exscan" ? "scan" : call;
}

std::string algorithms_of(const Family& family, const std::string& collective,
                          bool (&told)[counters::kAlgorithms]) {
  std::string text;
  for (int i = 0; i < counters::kAlgorithms; ++i) {
    if (family.runs[i] == 0 || told[i]) continue;
    if (!collective.empty() && collective != kCollectiveOfAlgorithm[i]) continue;
    const std::string name = counters::kRecords[counters::kFirstRuns + i].name;
    told[i] = true;
    text += (text.empty() ? "" : ", ") +
            (collective.empty() ? name : name.substr(collective.size() + 1)) + " " +
            number_words(family.runs[i]);
  }
  return text;
}

std::string words_of_moves(const JobRun& run) {
  if (!run.ranks_move) return "";
  const BalanceGain& gain = run.gain;
  std::string text = "ranks have moved " + number_words(gain.moves) + " times, " +
                     number_words(gain.homecomings) + " of these home; the busiest process has " +
                     "computed for " + seconds_words(gain.busiest) +
                     ", where its own ranks ran it would have been " + seconds_words(gain.at_home);
  if (run.moves.size() < gain.moves)
    text += " (" + number_words(gain.moves - run.moves.size()) + " moves were not recorded)";
  return text;
}

std::string seconds_words(double seconds) {
  if (seconds >= 99.95) return number_words(static_cast<uint64_t>(seconds + 0.5)) + " s";
  if (seconds <= 0) return "0 s";
  if (seconds >= 1) return format("%.3g s", seconds);
  if (seconds >= 1e-3) return format("%.3g ms", seconds * 1e3);
  return format("%.3g us", seconds * 1e6);
}

std::string bytes_words(double bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit < 5) bytes /= 1024, ++unit;
  return unit == 0 ? format("%.0f bytes", bytes)
                   : format(bytes < 10    ? "%.2f %s"
                            : bytes < 100 ? "%.1f %s"
                                          : "%.0f %s",
                            bytes, kUnits[unit]);
}

std::string number_words(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string ranks_words(const std::vector<int32_t>& list, size_t most) {
  std::string text;
  size_t parts = 0;
  for (size_t i = 0; i < list.size();) {
    size_t last = i;
    while (last + 1 < list.size() && list[last + 1] == list[last] + 1) ++last;
    if (parts++ == most) return text + format(" and %zu others", list.size() - i);
    text += (text.empty() ? "" : ", ") + std::to_string(list[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + std::to_string(list[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace fgmpi::report
