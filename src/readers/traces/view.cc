// Calls, communicators and times of a trace, in the form that writers need.

#include "readers/traces/view.h"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <tuple>

#include "base/strings.h"
#include "track/track_calls.h"

namespace fgmpi::track {

Status TraceView::open(const std::string& folder) {
  FGMPI_TRY(trace_.read(folder));
  // Records of a session after MPI_Finalize are not in the job's own unification.
  const bool all_known =
      std::all_of(trace_.ranks.begin(), trace_.ranks.end(),
                  [](const RankTrace& r) { return r.mapping.size() == r.comms.size(); });
  if (trace_.jobs.size() == 1 && !trace_.jobs[0].unified.empty() && all_known) {
    std::string reason;
    if (!definitions_.read(trace_.jobs[0].unified, &reason))
      return error(MPI_ERR_IO, "%s: %s", folder.c_str(), reason.c_str());
    by_job_ = true;
    for (const RankTrace& r : trace_.ranks) mapping_.push_back(r.mapping);
  } else {
    unify(&trace_, &definitions_, &mapping_);
  }
  // One clock for all: that of the first file's host. Others are shifted by their
  // distance from the epoch.
  const FileHeader& first = trace_.files.front()->header();
  uint64_t start = ~uint64_t{0}, end = 0;
  for (const auto& file : trace_.files) {
    const FileHeader& h = file->header();
    const bool same_host = std::strncmp(h.host, first.host, sizeof h.host) == 0;
    const int64_t epoch = static_cast<int64_t>(h.real0 - h.mono0);
    shift_[file.get()] = same_host ? 0 : epoch - static_cast<int64_t>(first.real0 - first.mono0);
    start = std::min(start, h.mono0 + static_cast<uint64_t>(shift_[file.get()]));
    end = std::max(end, file->time_of(h.ticks1) + static_cast<uint64_t>(shift_[file.get()]));
  }
  for (const RankTrace& r : trace_.ranks)
    for (const auto& chunk : r.events)
      for (const CallEvent& e : chunk) {
        // MPI_Init begins before the file exists.
        start = std::min(start, e.begin ? time_of(r, e.begin) : start);
        if (const uint64_t last = std::max(e.begin, e.end); last)
          end = std::max(end, time_of(r, last));
      }
  for (auto& [file, shift] : shift_) shift -= static_cast<int64_t>(start);
  real_start_ = first.real0 - first.mono0 + start;
  length_ = end - start;
  names_.resize(definitions_.comms.size());
  for (const RankTrace& r : trace_.ranks)
    for (const auto& [local, name] : r.names)
      if (uint32_t id = comm_of(r, local); id < names_.size()) names_[id] = name;
  return {};
}

void TraceView::unify(Trace* trace, Definitions* out, std::vector<std::vector<uint32_t>>* mapping) {
  std::vector<RankRecords> records;
  bool context_keys = false;
  for (RankTrace& r : trace->ranks) {
    const Job& job = trace->jobs[static_cast<size_t>(r.job)];
    records.push_back({r.comms, static_cast<uint32_t>(job.key), job.first_index});
    if (r.file) context_keys |= (r.file->header().flags & kContextKeys) != 0;
  }
  *out = unify_records(records, context_keys, mapping);
}

bool TraceView::check(std::string* difference) const {
  if (!by_job_) return true;
  Definitions here;
  std::vector<std::vector<uint32_t>> mapping;
  Trace copy;
  copy.jobs = trace_.jobs;
  copy.ranks = trace_.ranks;
  for (RankTrace& r : copy.ranks)
    if (r.file && !(r.file->header().flags & kContextKeys))
      for (CommRecord& c : r.comms) c.flags &= static_cast<uint16_t>(~kSideB);
  unify(&copy, &here, &mapping);
  if (!same_definitions(definitions_, here, difference)) return false;
  for (size_t r = 0; r < mapping.size(); ++r)
    if (mapping[r] != mapping_[r]) {
      *difference = format("the numbers of rank %zu", r);
      return false;
    }
  return true;
}

uint32_t TraceView::comm_of(const RankTrace& rank, uint32_t local) const {
  const auto& map = mapping_[static_cast<size_t>(&rank - trace_.ranks.data())];
  return local < map.size() ? map[local] : kNoComm;
}

int32_t TraceView::world_of(const RankTrace& rank, const CallEvent& event) const {
  const uint32_t id = comm_of(rank, event.comm);
  if (event.peer < 0 || id >= definitions_.comms.size() || event.comm >= rank.comms.size())
    return event.peer;
  if (rank.file->header().flags & kGlobalRanks) return event.peer;
  const GlobalComm& c = definitions_.comms[id];
  if (c.self) return static_cast<int32_t>(&rank - trace_.ranks.data());
  const bool side_b = rank.comms[event.comm].flags & kSideB;
  const GlobalGroup& g = definitions_.groups[c.inter && !side_b ? c.remote : c.group];
  return event.peer < g.size() ? g.world_of(event.peer) : event.peer;
}

std::string TraceView::comm_name(uint32_t comm) const {
  if (comm >= definitions_.comms.size()) return "";
  if (!names_[comm].empty()) return names_[comm];
  const GlobalComm& c = definitions_.comms[comm];
  if (c.call != kCall_MPI_Init) return "";
  if (c.inter) return "MPI_Comm_get_parent";
  // The world of a job of one rank is the first self-like communicator.
  return !c.self || (trace_.ranks.size() == 1 && comm == 0) ? "MPI_COMM_WORLD" : "MPI_COMM_SELF";
}

uint64_t TraceView::time_of(const RankTrace& rank, uint64_t ticks) const {
  return rank.file->time_of(ticks) + static_cast<uint64_t>(shift_.at(rank.file));
}

uint8_t TraceView::last_thread(const RankTrace& rank) const {
  uint8_t last = 0;
  for (const auto& chunk : rank.events)
    for (const CallEvent& e : chunk) last = std::max(last, e.thread);
  return last;
}

namespace {

/// Does the record have a valid function and kind? One that was reserved and never filled has not.
bool is_sound(const CallEvent& e) {
  const auto kind = static_cast<EventKind>(e.kind & ~kPart);
  if (kind < EventKind::kCall || kind > EventKind::kFlush || e.call >= kCallCount) return false;
  return kind != EventKind::kIcollDone || (e.tag >= 0 && e.tag < kCallCount);
}

}  // namespace

std::vector<CallView> TraceView::calls(const RankTrace& rank, uint8_t thread) const {
  std::vector<const CallEvent*> events;
  for (const auto& chunk : rank.events)
    for (const CallEvent& e : chunk)
      if (e.thread == thread && is_sound(e)) events.push_back(&e);
  std::stable_sort(events.begin(), events.end(),
                   [](const CallEvent* a, const CallEvent* b) { return a->begin < b->begin; });
  std::vector<CallView> calls;
  for (const CallEvent* e : events) {
    if (e->kind & kPart) {
      // A part without its call, which was over the limit of events, is dropped.
      if (!calls.empty() && calls.back().call->begin == e->begin) calls.back().parts.push_back(e);
      continue;
    }
    CallView c;
    c.call = e;
    c.begin = time_of(rank, e->begin);
    c.open = e->end == 0;
    c.end = c.open ? length_ : time_of(rank, e->end);
    if (static_cast<EventKind>(e->kind) > EventKind::kCall) c.parts.push_back(e);
    calls.push_back(std::move(c));
  }
  return calls;
}

namespace {

/// The words of addr2line for an address in a file, or "". Of functions that are inlined there, the
/// innermost one outside of MPI-2's C++ binding.
std::string ask_addr2line(const std::string& path, uint64_t address) {
  if (path.find_first_of("'\\") != path.npos) return "";
  const std::string command = format("addr2line -Cfis -e '%s' 0x%llx 2>/dev/null", path.c_str(),
                                     static_cast<unsigned long long>(address));
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return "";
  char function[512] = "", line[512] = "";
  bool both = false;
  while (std::fgets(function, sizeof function, pipe) && std::fgets(line, sizeof line, pipe)) {
    both = true;
    if (std::strncmp(function, "MPI::", 5) != 0) break;
  }
  pclose(pipe);
  function[std::strcspn(function, "\n")] = line[std::strcspn(line, "\n")] = '\0';
  if (char* more = std::strstr(line, " (discriminator")) *more = '\0';
  if (!both || line[0] == '?') return "";
  return std::string(line) + " (" + function + ")";
}

}  // namespace

std::string TraceView::place_name(const RankTrace& rank, uint64_t place) const {
  if (place == 0) return "";
  auto modules = trace_.modules.find(rank.file);
  if (modules != trace_.modules.end()) {
    for (const Module& m : modules->second) {
      if (place < m.base || place >= m.base + m.size) continue;
      // The address of the call itself, not of what follows it.
      const uint64_t offset = place - m.base - 1;
      std::string& name = places_[{m.path, offset}];
      if (name.empty()) name = ask_addr2line(m.path, offset);
      if (name.empty())
        name = format("%s+0x%llx", m.path.substr(m.path.rfind('/') + 1).c_str(),
                      static_cast<unsigned long long>(offset));
      return name;
    }
  }
  return format("0x%llx", static_cast<unsigned long long>(place));
}

}  // namespace fgmpi::track
