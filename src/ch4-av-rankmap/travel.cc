// Writing and reading a rank map for a process of another job.

#include "ch4-av-rankmap/travel.h"

#include <mpi.h>

#include <algorithm>

#include "base/fields.h"
#include "ch4-av-rankmap/mlut.h"
#include "groupmap/codec.h"

namespace fgmpi {
namespace {

struct MemberRun {
  uint32_t group;  ///< index in the list of groups
  uint32_t first, count;
};

/// Returns the index of a group in `groups`, to which it is appended if it is new. A hosted group
/// comes behind the group of its hosts.
uint32_t place_of(uint32_t pgid, std::vector<uint32_t>* groups) {
  if (g_process_groups.hosted(pgid)) place_of(g_process_groups.host_of(pgid), groups);
  auto at = std::find(groups->begin(), groups->end(), pgid);
  const auto place = static_cast<uint32_t>(at - groups->begin());
  if (at == groups->end()) groups->push_back(pgid);
  return place;
}

std::vector<MemberRun> runs_of(const RankMap& map, std::vector<uint32_t>* groups) {
  std::vector<MemberRun> runs;
  for (int32_t global : map.encoded().expand()) {
    const GroupRank g = g_process_groups.find_rank(global);
    const uint32_t place = place_of(g.pgid, groups);
    if (!runs.empty() && runs.back().group == place &&
        runs.back().first + runs.back().count == g.lpid)
      ++runs.back().count;
    else
      runs.push_back({place, g.lpid, 1});
  }
  return runs;
}

/// The processes of groups[place] that host members, of this group or of groups that it hosts, in
/// ascending order.
std::vector<uint32_t> hosts_of(const std::vector<MemberRun>& runs, uint32_t place,
                               const std::vector<uint32_t>& groups) {
  std::vector<uint32_t> hosts;
  const uint32_t pgid = groups[place];
  const uint32_t base = g_process_groups.first_process(pgid);
  for (const MemberRun& run : runs) {
    if (run.group != place) continue;
    const uint32_t first = g_process_groups.first_rank(pgid) + run.first;
    const uint32_t last = g_av.element_of(first + run.count - 1);
    for (uint32_t p = g_av.element_of(first); p <= last; ++p) hosts.push_back(p - base);
  }
  for (uint32_t other : groups)
    if (g_process_groups.hosted(other) && g_process_groups.host_of(other) == pgid)
      for (const AddressVector::Host& host : g_av.hosts_of(g_process_groups.first_process(other)))
        hosts.push_back(host.process - base);
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

Status refuse(const char* why) {
  return error(MPI_ERR_OTHER, "a group of ranks from another job is refused: %s", why);
}

void write_hosts(uint32_t pgid, std::vector<uint8_t>* out) {
  append(out, static_cast<uint8_t>(g_process_groups.hosted(pgid)));
  if (!g_process_groups.hosted(pgid)) return;
  const uint32_t of = g_process_groups.host_of(pgid);
  append(out, g_process_groups.uid(of));
  for (AddressVector::Host host : g_av.hosts_of(g_process_groups.first_process(pgid))) {
    host.process -= g_process_groups.first_process(of);
    append(out, host);
  }
}

/// *hosts stays empty for a job with processes of its own.
Status read_hosts(FieldReader* in, uint32_t processes, std::vector<AddressVector::Host>* hosts) {
  const auto hosted = in->get<uint8_t>();
  if (hosted > 1) return refuse("it does not say whether it has processes");
  if (!hosted) return {};
  const uint32_t of = g_process_groups.find(in->get<GroupUid>());
  if (in->failed() || of == ProcessGroups::kNone || g_process_groups.hosted(of))
    return refuse("it was spawned as proclets in processes of a job that is not known");
  for (uint32_t k = 0; k < processes && !in->failed(); ++k) {
    auto host = in->get<AddressVector::Host>();
    if (host.process >= g_process_groups.processes(of))
      return refuse("it is hosted by no process of that job");
    host.process += g_process_groups.first_process(of);
    if (k > 0 && host.process <= hosts->back().process) return refuse("its hosts do not ascend");
    hosts->push_back(host);
  }
  return {};
}

Status add_group(const GroupUid& uid, std::span<const uint32_t> counts,
                 std::vector<AddressVector::Host> hosts, uint32_t* pgid) {
  if (hosts.empty()) return g_process_groups.add(uid, counts, pgid);
  for (const AddressVector::Host& host : hosts)
    if (host.process == g_av.me()) return refuse("it is said to be in this process, and is not");
  return g_process_groups.add_hosted(uid, counts, std::move(hosts), pgid);
}

Status read_group(FieldReader* in, uint32_t* pgid) {
  const auto uid = in->get<GroupUid>();
  const auto processes = in->get<uint32_t>();
  if (processes > in->left() / sizeof(uint32_t)) in->fail();
  std::vector<uint32_t> counts(in->failed() ? 0 : processes);
  for (uint32_t& count : counts) count = in->get<uint32_t>();
  if (in->failed() || counts.empty()) return refuse("it is cut short");
  std::vector<AddressVector::Host> hosts;
  FGMPI_TRY(read_hosts(in, processes, &hosts));
  if (in->failed()) return refuse("it is cut short");
  *pgid = g_process_groups.find(uid);
  if (*pgid != ProcessGroups::kNone && g_process_groups.hosted(*pgid) == hosts.empty())
    return refuse("it has processes where it had none, or none where it had some");
  if (*pgid == ProcessGroups::kNone) FGMPI_TRY(add_group(uid, counts, std::move(hosts), pgid));
  if (g_process_groups.processes(*pgid) != processes)
    return refuse("its number of processes is not what it was");
  const uint32_t base = g_process_groups.first_process(*pgid);
  for (uint32_t p = 0; p < processes; ++p)
    if (g_av.count(base + p) != counts[p]) return refuse("its ranks are not what they were");
  for (auto cards = in->get<uint32_t>(); cards > 0 && !in->failed(); --cards) {
    const auto process = in->get<uint32_t>();
    const std::string_view card = in->get_text();
    if (in->failed() || process >= processes) return refuse("a card names no process of it");
    g_process_groups.set_card(*pgid, process, card);
  }
  return {};
}

}  // namespace

void write_travelling(const RankMap& map, std::vector<uint8_t>* out) {
  std::vector<uint32_t> groups;
  const std::vector<MemberRun> runs = runs_of(map, &groups);
  append(out, static_cast<uint32_t>(groups.size()));
  for (uint32_t place = 0; place < groups.size(); ++place) {
    const uint32_t pgid = groups[place], base = g_process_groups.first_process(pgid);
    append(out, g_process_groups.uid(pgid));
    append(out, g_process_groups.processes(pgid));
    for (uint32_t p = 0; p < g_process_groups.processes(pgid); ++p)
      append(out, g_av.count(base + p));
    write_hosts(pgid, out);
    const std::vector<uint32_t> hosts = hosts_of(runs, place, groups);
    append(out, static_cast<uint32_t>(hosts.size()));
    for (uint32_t p : hosts) {
      append(out, p);
      append_text(out, g_process_groups.card(pgid, p));
    }
  }
  append(out, static_cast<uint32_t>(runs.size()));
  for (const MemberRun& run : runs) append(out, run);
}

Status read_travelling(std::span<const uint8_t> bytes, RankMap* out) {
  FieldReader in(bytes.data(), bytes.size());
  std::vector<uint32_t> groups;
  for (auto count = in.get<uint32_t>(); count > 0; --count)
    FGMPI_TRY(read_group(&in, &groups.emplace_back()));
  std::vector<int32_t> globals;
  auto runs = in.get<uint32_t>();
  for (; runs > 0 && !in.failed(); --runs) {
    const auto run = in.get<MemberRun>();
    if (in.failed()) break;
    if (run.group >= groups.size()) return refuse("a member is of no group in it");
    const uint32_t ranks = g_process_groups.ranks(groups[run.group]);
    if (run.count == 0 || run.first >= ranks || run.count > ranks - run.first)
      return refuse("a member is no rank of its group");
    for (uint32_t k = 0; k < run.count; ++k)
      globals.push_back(g_process_groups.global_of({groups[run.group], run.first + k}));
  }
  if (in.failed() || in.left()) return refuse("it has not the length that it says");
  if (!groupmap::all_distinct(globals)) return refuse("a member occurs twice");
  *out = map_of_globals(globals);
  return {};
}

}  // namespace fgmpi
