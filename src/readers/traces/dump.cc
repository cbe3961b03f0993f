// fgmpi-track-dump: reads a trace's folder, then prints it, checks it, or writes
// files for analysers.
#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "base/standard_files.h"
#include "base/strings.h"
#include "readers/traces/view.h"
#include "track/track_calls.h"

namespace {

using namespace fgmpi;
using namespace fgmpi::track;

constexpr const char* kHelp = R"(Usage: fgmpi-track-dump [options] FOLDER

Reads a trace that libfgmpi-track.so wrote (mpiexec -track FOLDER ./program). Without options: a summary.

  --comms          definitions: groups and communicators, each with its members
  --events         calls and messages, a line each, by rank
    --global       peers as world ranks, as the definitions say; else ranks of the communicator
    --no-times     without times and places
    --rank R       only this rank's
  --leaks          communicators that were not freed, with the place that made them
  --check          compares the job's own unification with one made here; exit status 1 where they differ
  --sizes          bytes of definitions: as bitstrings, as lists, encoded; of mapping tables; of the OTF2 files
  --otf2           writes FOLDER/traces.otf2 (read by otf2-print, Vampir, Scalasca)
  --json           writes FOLDER/trace.json (read by ui.perfetto.dev and chrome://tracing)
  --quiet          no summary
)";

struct DumpOptions {
  bool comms = false, events = false, global = false, times = true, leaks = false, check = false,
       sizes = false, otf2 = false, json = false, quiet = false;
  int64_t rank = -1;
  std::string folder;
};

bool parse(int argc, char** argv, DumpOptions* o) {
  const std::pair<const char*, bool*> switches[] = {
      {"--comms", &o->comms}, {"--events", &o->events}, {"--global", &o->global},
      {"--leaks", &o->leaks}, {"--check", &o->check},   {"--sizes", &o->sizes},
      {"--otf2", &o->otf2},   {"--json", &o->json},     {"--quiet", &o->quiet}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    auto it = std::find_if(std::begin(switches), std::end(switches),
                           [&](const auto& s) { return word == s.first; });
    if (it != std::end(switches)) {
      *it->second = true;
    } else if (word == "--no-times") {
      o->times = false;
    } else if (word == "--rank" && i + 1 < argc && parse_int(argv[i + 1])) {
      o->rank = *parse_int(argv[++i]);
    } else if (word[0] != '-' && o->folder.empty()) {
      o->folder = word;
    } else {
      std::fprintf(stderr, "fgmpi-track-dump: %s: not understood; see fgmpi-track-dump --help\n",
                   word.c_str());
      return false;
    }
  }
  if (o->folder.empty()) std::fputs(kHelp, stderr);
  return !o->folder.empty();
}

void print_summary(const TraceView& view) {
  const Trace& t = view.trace();
  size_t events = 0, recording = 0, records = 0, open = 0;
  for (const RankTrace& r : t.ranks) {
    const size_t n = r.event_count();
    events += n;
    recording += n > 0;
    records += r.comms.size();
  }
  for (const auto& file : t.files) open += !(file->header().flags & kFinished);
  const Definitions& d = view.definitions();
  for (const Job& job : t.jobs)
    std::printf("job %llx: %d ranks\n", static_cast<unsigned long long>(job.key), job.size);
  std::printf("files: %zu processes, %zu of them not ended in order\n", t.files.size(), open);
  std::printf("events: %zu records of %zu ranks, %.6f s\n", events, recording,
              static_cast<double>(view.length()) * 1e-9);
  std::printf(
      "communicators: %zu (%u of several processes, %u inter, %zu self-like) in %zu groups, "
      "%zu records, unified by %s\n",
      d.comms.size(), d.several, d.inter, d.comms.size() - d.several - d.inter, d.groups.size(),
      records, view.unified_by_job() ? "the job" : "this program");
}

void print_members(const GlobalGroup& g) {
  constexpr int32_t kMost = 64;
  const int32_t n = g.size();
  for (int32_t i = 0; i < std::min(n, kMost); ++i) std::printf(" %d", g.world_of(i));
  if (n > kMost) std::printf(" ... %d", g.world_of(n - 1));
}

void print_comms(const TraceView& view) {
  const Definitions& d = view.definitions();
  for (size_t i = 0; i < d.groups.size(); ++i) {
    const GlobalGroup& g = d.groups[i];
    if (g.kind == GlobalGroup::kSelf) {
      std::printf("group %zu self\n", i);
      continue;
    }
    std::printf("group %zu%s size %d members", i, g.kind == GlobalGroup::kWorld ? " world" : "",
                g.size());
    print_members(g);
    std::printf("\n");
  }
  for (uint32_t i = 0; i < d.comms.size(); ++i) {
    const GlobalComm& c = d.comms[i];
    std::printf("comm %u group %u", i, c.group);
    if (c.inter) std::printf(" remote %u", c.remote);
    if (c.parent != kNoComm) std::printf(" parent %u", c.parent);
    std::printf(" by %s", kCallNames[c.call < kCallCount ? c.call : 0]);
    if (const std::string name = view.comm_name(i); !name.empty())
      std::printf(" \"%s\"", name.c_str());
    std::printf("\n");
  }
}

/// Prints "comm 2 to 5": `preposition` and the peer.
void print_peer(const TraceView& view, const RankTrace& r, const CallEvent& e,
                const char* preposition, const DumpOptions& o) {
  std::printf(" comm %u", view.comm_of(r, e.comm));
  if (e.peer == kNoRoot) return;
  const bool in_world = r.file->header().flags & kGlobalRanks;
  if (o.global || in_world)
    std::printf(" %s world %d", preposition, view.world_of(r, e));
  else
    std::printf(" %s %d", preposition, e.peer);
}

void print_part(const TraceView& view, const RankTrace& r, const CallEvent& e,
                const DumpOptions& o) {
  const auto bytes = static_cast<unsigned long long>(e.bytes);
  const auto extra = static_cast<unsigned long long>(e.extra);
  switch (static_cast<EventKind>(e.kind & ~kPart)) {
    case EventKind::kSend:
    case EventKind::kIsend:
      print_peer(view, r, e, "to", o);
      std::printf(" tag %d bytes %llu", e.tag, bytes);
      if (extra) std::printf(" request %llu", extra);
      break;
    case EventKind::kRecv:
    case EventKind::kIrecvDone:
      print_peer(view, r, e, "from", o);
      std::printf(" tag %d bytes %llu", e.tag, bytes);
      if (extra) std::printf(" request %llu", extra);
      break;
    case EventKind::kIrecvPost:
    case EventKind::kIcollPost:
      std::printf(" request %llu", extra);
      break;
    case EventKind::kIsendDone:
      std::printf(" sent request %llu", extra);
      break;
    case EventKind::kCancelled:
      std::printf(" cancelled request %llu", extra);
      break;
    case EventKind::kColl:
      print_peer(view, r, e, "root", o);
      std::printf(" sent %llu received %llu", bytes, extra);
      break;
    case EventKind::kIcollDone:
      print_peer(view, r, e, "root", o);
      std::printf(" sent %llu request %llu", bytes, extra);
      break;
    case EventKind::kCommCreate:
      std::printf(" created comm %u", view.comm_of(r, e.comm));
      break;
    case EventKind::kCommFree:
      std::printf(" freed comm %u", view.comm_of(r, e.comm));
      break;
    case EventKind::kFlush:
      std::printf(" wrote %llu bytes", bytes);
      break;
    default:
      break;
  }
}

void print_events(const TraceView& view, const DumpOptions& o) {
  for (const RankTrace& r : view.trace().ranks) {
    if (!r.file || (o.rank >= 0 && r.rank != o.rank)) continue;
    for (int thread = 0; thread <= view.last_thread(r); ++thread)
      for (const CallView& c : view.calls(r, static_cast<uint8_t>(thread))) {
        std::printf("rank %d", r.rank);
        if (thread) std::printf(" thread %d", thread);
        if (o.times)
          std::printf(" at %.3f us for %.3f us", static_cast<double>(c.begin) * 1e-3,
                      static_cast<double>(c.end - c.begin) * 1e-3);
        const bool flush = static_cast<EventKind>(c.call->kind) == EventKind::kFlush;
        std::printf(" %s", flush ? "(tracker)" : kCallNames[c.call->call]);
        for (const CallEvent* part : c.parts) print_part(view, r, *part, o);
        std::printf(c.open ? " (not returned)\n" : "\n");
      }
  }
}

void print_leaks(const TraceView& view) {
  struct Leak {
    int64_t ranks = 0;
    int32_t first = 0;
    const char* call = "";
    std::string place;
  };
  std::map<std::pair<uint32_t, std::string>, Leak> leaks;
  for (const RankTrace& r : view.trace().ranks)
    for (uint32_t i = 0; i < r.comms.size(); ++i) {
      const CommRecord& c = r.comms[i];
      if (c.flags & (kFreed | kPredefined)) continue;
      const std::string place = view.place_name(r, c.place);
      Leak& leak = leaks[{view.comm_of(r, i), place}];
      if (leak.ranks++ == 0) leak.first = r.rank;
      leak.call = kCallNames[c.call < kCallCount ? c.call : 0];
    }
  for (const auto& [key, leak] : leaks)
    std::printf("leaked: comm %u of %s at %s, in %lld rank%s (first: %d)\n", key.first, leak.call,
                key.second.c_str(), static_cast<long long>(leak.ranks), leak.ranks == 1 ? "" : "s",
                leak.first);
  if (leaks.empty()) std::printf("leaked: none\n");
}

/// The size of a file, or of all files of a folder with this suffix.
uint64_t bytes_of_files(const std::string& path, const char* extension) {
  std::error_code none;
  if (!std::filesystem::is_directory(path, none)) {
    const auto size = std::filesystem::file_size(path, none);
    return none ? 0 : size;
  }
  uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path, none))
    if (entry.path().extension() == extension) sum += entry.file_size(none);
  return sum;
}

/// The schemes of EuroMPI'11 sections 3 and 4.3, compared with the sizes of the files.
void print_sizes(const TraceView& view, const std::string& folder) {
  const Definitions& d = view.definitions();
  const uint64_t width = (view.trace().ranks.size() + 7) / 8;
  uint64_t records = 0, selves = 0, members = 0, encoded = 0;
  for (const RankTrace& r : view.trace().ranks)
    for (const CommRecord& c : r.comms) {
      ++records;
      selves += (c.flags & kSelfLike) != 0;
    }
  for (const GlobalGroup& g : d.groups) {
    if (g.kind == GlobalGroup::kSelf) continue;
    if (g.kind == GlobalGroup::kList) members += static_cast<uint64_t>(g.size());
    std::vector<uint8_t> bytes;
    g.map.serialize(&bytes);
    encoded += bytes.size();
  }
  const uint64_t bitstrings = d.several + 2 * uint64_t{d.inter} + selves;
  const auto line = [](const char* what, uint64_t bytes) {
    std::printf("%-58s %14llu\n", what, static_cast<unsigned long long>(bytes));
  };
  line("communicators as bitstrings, self-like ones a rank each", bitstrings * width);
  line("communicators: two integers each", d.comms.size() * 8);
  line("groups once each: lists of integers, world and self flags",
       d.groups.size() * 8 + members * 4);
  line("groups once each, encoded", encoded);
  line("mapping tables: an integer a communicator and rank", records * 4);
  line("OTF2: traces.def (all global definitions)", bytes_of_files(folder + "/traces.def", ""));
  line("OTF2: local definitions (mapping tables)", bytes_of_files(folder + "/traces", ".def"));
  line("OTF2: events", bytes_of_files(folder + "/traces", ".evt"));
}

int failed(const Status& status) {
  std::fprintf(stderr, "fgmpi-track-dump: %s\n", status.what().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  fgmpi::open_standard_files();
  DumpOptions o;
  if (argc > 1 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (!parse(argc, argv, &o)) return 2;
  // OTF2 allocates and frees a chunk for each location. This makes malloc use the heap for it
  // instead of a new mapping each time.
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  TraceView view;
  if (Status s = view.open(o.folder); !s.ok()) return failed(s);
  if (!o.quiet && !o.comms && !o.events && !o.leaks && !o.sizes) print_summary(view);
  if (o.comms) print_comms(view);
  if (o.events) print_events(view, o);
  if (o.leaks) print_leaks(view);
  if (o.check) {
    std::string difference;
    if (!view.check(&difference)) {
      std::fprintf(stderr, "fgmpi-track-dump: %s: the job's definitions differ: %s\n",
                   o.folder.c_str(), difference.c_str());
      return 1;
    }
    if (!o.quiet)
      std::printf("definitions: %s\n",
                  view.unified_by_job() ? "as unified here" : "unified here only");
  }
  if (o.otf2)
    if (Status s = write_otf2(view, o.folder); !s.ok()) return failed(s);
  if (o.json)
    if (Status s = write_json(view, o.folder + "/trace.json"); !s.ok()) return failed(s);
  if (o.sizes) print_sizes(view, o.folder);
  return 0;
}
