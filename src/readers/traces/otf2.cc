// OTF2: the trace in the format of Vampir, Scalasca and otf2-print.
//
// Locations are ranks (further threads of a rank have locations of their own), location groups are
// processes. Events contain local numbers of communicators and local ranks; each location's
// definitions have the table from local to global numbers (OTF2_MAPPING_COMM). Groups:
// COMM_LOCATIONS lists the ranks' locations, COMM_GROUP has the members as indices in that list,
// COMM_SELF is one empty group.
//
// The event file of a location is written and closed before the next one is opened, so one chunk of
// memory suffices.
#include <mpi.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "base/strings.h"
#include "readers/traces/view.h"
#include "track/track_calls.h"

namespace fgmpi::track {
namespace {

constexpr uint64_t kChunk = 256 << 10;  // the least that OTF2 allows
constexpr uint64_t kThreadShift = 32;   // location = world rank + thread << 32

OTF2_FlushType before_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
OTF2_FlushCallbacks g_flush = {before_flush, nullptr};

class Otf2Writer {
 public:
  explicit Otf2Writer(const TraceView& view) : view_(view) {}

  Status write(const std::string& folder) {
    std::error_code ignored;
    for (const char* name : {"traces.otf2", "traces.def", "traces"})
      std::filesystem::remove_all(folder + "/" + name, ignored);
    OTF2_Error_RegisterCallback(&Otf2Writer::record_otf2_error, &error_);
    archive_ = OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE, kChunk,
                                 definitions_chunk(), OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!archive_) return failed(folder);
    OTF2_Archive_SetFlushCallbacks(archive_, &g_flush, nullptr);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive_);
    OTF2_Archive_SetCreator(archive_, "Finegrain MPI, fgmpi-track");
    OTF2_Archive_OpenEvtFiles(archive_);
    for (const RankTrace& r : view_.trace().ranks) write_rank(r);
    OTF2_Archive_CloseEvtFiles(archive_);
    OTF2_Archive_OpenDefFiles(archive_);
    for (const RankTrace& r : view_.trace().ranks) write_mapping(r);
    OTF2_Archive_CloseDefFiles(archive_);
    global_ = OTF2_Archive_GetGlobalDefWriter(archive_);
    write_definitions();
    OTF2_Archive_Close(archive_);
    return error_.empty() ? Status() : failed(folder);
  }

 private:
  static OTF2_ErrorCode record_otf2_error(void* text, const char* file, uint64_t line, const char*,
                                          OTF2_ErrorCode code, const char* format, va_list args) {
    auto* out = static_cast<std::string*>(text);
    if (out->empty())
      *out = std::string(OTF2_Error_GetDescription(code)) + ": " + vformat(format, args) + " (" +
             file + ":" + std::to_string(line) + ")";
    return code;
  }
  Status failed(const std::string& folder) const {
    return error(MPI_ERR_IO, "%s/traces.otf2: OTF2: %s", folder.c_str(), error_.c_str());
  }

  /// The chunk size for definitions. The largest definition must fit: it lists all ranks with
  /// up to 5 bytes each. Each location's file of definitions uses one chunk, so it is no
  /// larger than needed.
  uint64_t definitions_chunk() const {
    const uint64_t needed = 4096 + 6 * view_.trace().ranks.size();
    return std::clamp<uint64_t>(needed, kChunk, 16 << 20);
  }

  uint64_t index_of(const RankTrace& r) const {
    return static_cast<uint64_t>(&r - view_.trace().ranks.data());
  }

  // ---- Events ----
  void write_rank(const RankTrace& r) {
    const uint8_t last = r.file ? view_.last_thread(r) : 0;
    for (int thread = 0; thread <= last; ++thread) {
      const uint64_t location = index_of(r) | static_cast<uint64_t>(thread) << kThreadShift;
      OTF2_EvtWriter* out = OTF2_Archive_GetEvtWriter(archive_, location);
      if (!out) return;
      if (r.file) write_calls(r, view_.calls(r, static_cast<uint8_t>(thread)), out);
      uint64_t count = 0;
      OTF2_EvtWriter_GetNumberOfEvents(out, &count);
      locations_.push_back({location, static_cast<int>(thread), &r, count});
      OTF2_Archive_CloseEvtWriter(archive_, out);
    }
  }

  void write_calls(const RankTrace& r, const std::vector<CallView>& calls, OTF2_EvtWriter* out) {
    std::vector<const CallView*> inside;
    const auto leave_until = [&](uint64_t time) {
      while (!inside.empty() && inside.back()->end <= time) {
        leave(r, *inside.back(), out);
        inside.pop_back();
      }
    };
    for (const CallView& c : calls) {
      leave_until(c.begin);
      if (static_cast<EventKind>(c.call->kind) == EventKind::kFlush) {
        OTF2_EvtWriter_BufferFlush(out, nullptr, c.begin, c.end);
        continue;
      }
      enter(r, c, out);
      inside.push_back(&c);
    }
    leave_until(~uint64_t{0});
  }

  /// Functions are numbered in the order of their first use.
  OTF2_RegionRef region_of(const CallView& c) {
    const auto [it, fresh] =
        regions_.emplace(c.call->call, static_cast<OTF2_RegionRef>(regions_.size()));
    if (fresh) calls_.push_back(c.call->call);
    return it->second;
  }

  bool is_collective(const CallView& c) const {
    return kCallCollectives[c.call->call] >= 0 &&
           (c.parts.empty() ||
            static_cast<EventKind>(c.parts[0]->kind & ~kPart) == EventKind::kColl || creates(c) ||
            frees(c));
  }
  static bool has(const CallView& c, EventKind kind) {
    return std::any_of(c.parts.begin(), c.parts.end(), [&](const CallEvent* e) {
      return static_cast<EventKind>(e->kind & ~kPart) == kind;
    });
  }
  static bool creates(const CallView& c) { return has(c, EventKind::kCommCreate); }
  static bool frees(const CallView& c) { return has(c, EventKind::kCommFree); }

  void enter(const RankTrace& r, const CallView& c, OTF2_EvtWriter* out) {
    OTF2_EvtWriter_Enter(out, nullptr, c.begin, region_of(c));
    if (is_collective(c)) OTF2_EvtWriter_MpiCollectiveBegin(out, nullptr, c.begin);
    for (const CallEvent* e : c.parts) write_begin(r, *e, c.begin, out);
  }

  void leave(const RankTrace& r, const CallView& c, OTF2_EvtWriter* out) {
    for (const CallEvent* e : c.parts) write_end(r, *e, c.end, out);
    if (is_collective(c) && !has(c, EventKind::kColl)) {
      const uint32_t comm = c.parts.empty() ? OTF2_UNDEFINED_COMM : parent_or_self(r, *c.parts[0]);
      OTF2_EvtWriter_MpiCollectiveEnd(
          out, nullptr, c.end, static_cast<OTF2_CollectiveOp>(kCallCollectives[c.call->call]), comm,
          OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
    }
    OTF2_EvtWriter_Leave(out, nullptr, c.end, region_of(c));
  }

  /// The local number of the communicator that a creation was called on, or of the
  /// one that was freed.
  static uint32_t parent_or_self(const RankTrace& r, const CallEvent& e) {
    if (e.comm >= r.comms.size()) return OTF2_UNDEFINED_COMM;
    const bool created = static_cast<EventKind>(e.kind & ~kPart) == EventKind::kCommCreate;
    const uint32_t comm = created ? r.comms[e.comm].parent : e.comm;
    return comm == kNoComm ? OTF2_UNDEFINED_COMM : comm;
  }

  static uint32_t root_of(const CallEvent& e) {
    if (e.peer == kNoRoot || e.peer == MPI_PROC_NULL) return OTF2_COLLECTIVE_ROOT_NONE;
    if (e.peer == MPI_ROOT) return OTF2_COLLECTIVE_ROOT_SELF;
    return static_cast<uint32_t>(e.peer);
  }

  void write_begin(const RankTrace&, const CallEvent& e, uint64_t time, OTF2_EvtWriter* out) {
    const auto peer = static_cast<uint32_t>(e.peer), tag = static_cast<uint32_t>(e.tag);
    switch (static_cast<EventKind>(e.kind & ~kPart)) {
      case EventKind::kSend:
        OTF2_EvtWriter_MpiSend(out, nullptr, time, peer, e.comm, tag, e.bytes);
        break;
      case EventKind::kIsend:
        OTF2_EvtWriter_MpiIsend(out, nullptr, time, peer, e.comm, tag, e.bytes, e.extra);
        break;
      case EventKind::kIrecvPost:
        OTF2_EvtWriter_MpiIrecvRequest(out, nullptr, time, e.extra);
        break;
      case EventKind::kIcollPost:
        OTF2_EvtWriter_NonBlockingCollectiveRequest(out, nullptr, time, e.extra);
        break;
      default:
        break;
    }
  }

  void write_end(const RankTrace&, const CallEvent& e, uint64_t time, OTF2_EvtWriter* out) {
    const auto peer = static_cast<uint32_t>(e.peer), tag = static_cast<uint32_t>(e.tag);
    switch (static_cast<EventKind>(e.kind & ~kPart)) {
      case EventKind::kRecv:
        OTF2_EvtWriter_MpiRecv(out, nullptr, time, peer, e.comm, tag, e.bytes);
        break;
      case EventKind::kIsendDone:
        OTF2_EvtWriter_MpiIsendComplete(out, nullptr, time, e.extra);
        break;
      case EventKind::kIrecvDone:
        OTF2_EvtWriter_MpiIrecv(out, nullptr, time, peer, e.comm, tag, e.bytes, e.extra);
        break;
      case EventKind::kCancelled:
        OTF2_EvtWriter_MpiRequestCancelled(out, nullptr, time, e.extra);
        break;
      case EventKind::kColl:
        OTF2_EvtWriter_MpiCollectiveEnd(out, nullptr, time,
                                        static_cast<OTF2_CollectiveOp>(kCallCollectives[e.call]),
                                        e.comm, root_of(e), e.bytes, e.extra);
        break;
      case EventKind::kIcollDone:
        OTF2_EvtWriter_NonBlockingCollectiveComplete(
            out, nullptr, time, static_cast<OTF2_CollectiveOp>(kCallCollectives[e.tag]), e.comm,
            root_of(e), e.bytes, 0, e.extra);
        break;
      case EventKind::kCommCreate:
        OTF2_EvtWriter_CommCreate(out, nullptr, time, e.comm);
        break;
      case EventKind::kCommFree:
        OTF2_EvtWriter_CommDestroy(out, nullptr, time, e.comm);
        break;
      default:
        break;
    }
  }

  // ---- Definitions ----
  void write_mapping(const RankTrace& r) {
    std::vector<uint64_t> table;
    for (uint32_t i = 0; i < r.comms.size(); ++i) table.push_back(view_.comm_of(r, i));
    for (const Otf2Location& l : locations_of(r)) {
      OTF2_DefWriter* out = OTF2_Archive_GetDefWriter(archive_, l.id);
      if (!out) return;
      if (!table.empty()) {
        OTF2_IdMap* map = OTF2_IdMap_CreateFromUint64Array(table.size(), table.data(), false);
        OTF2_DefWriter_WriteMappingTable(out, OTF2_MAPPING_COMM, map);
        OTF2_IdMap_Free(map);
      }
      OTF2_Archive_CloseDefWriter(archive_, out);
    }
  }

  OTF2_StringRef string(const std::string& text) {
    auto [it, fresh] = strings_.emplace(text, static_cast<OTF2_StringRef>(strings_.size()));
    if (fresh) OTF2_GlobalDefWriter_WriteString(global_, it->second, text.c_str());
    return it->second;
  }

  void write_definitions() {
    OTF2_GlobalDefWriter_WriteClockProperties(global_, 1'000'000'000, 0, view_.length() + 1,
                                              view_.real_start());
    string("");
    write_places();
    for (OTF2_RegionRef region = 0; region < calls_.size(); ++region) {
      const uint16_t call = calls_[region];
      const uint8_t role = kCallRoles[call];
      const OTF2_RegionRole otf2_role = role == 3   ? OTF2_REGION_ROLE_COLL_OTHER
                                        : role >= 1 ? OTF2_REGION_ROLE_POINT2POINT
                                                    : OTF2_REGION_ROLE_FUNCTION;
      OTF2_GlobalDefWriter_WriteRegion(
          global_, region, string(kCallNames[call]), string(kCallNames[call]), string(""),
          otf2_role, OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, string("MPI"), 0, 0);
    }
    write_groups();
    write_comms();
  }

  void write_places() {
    OTF2_GlobalDefWriter_WriteSystemTreeNode(global_, 0, string("machine"), string("machine"),
                                             OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    std::map<std::string, uint32_t> hosts;
    std::map<const TraceFile*, uint32_t> processes;
    for (const auto& file : view_.trace().files) {
      const std::string host = file->header().host;
      auto [it, fresh] = hosts.emplace(host, static_cast<uint32_t>(hosts.size() + 1));
      if (fresh)
        OTF2_GlobalDefWriter_WriteSystemTreeNode(global_, it->second, string(host), string("node"),
                                                 0);
      const auto number = static_cast<uint32_t>(processes.size());
      processes[file.get()] = number;
      OTF2_GlobalDefWriter_WriteLocationGroup(
          global_, number, string(format("process %u, pid %d", number, file->header().pid)),
          OTF2_LOCATION_GROUP_TYPE_PROCESS, it->second, OTF2_UNDEFINED_LOCATION_GROUP);
    }
    const auto lost = static_cast<uint32_t>(processes.size());
    bool any_lost = false;
    for (const Otf2Location& l : locations_)
      if (!l.rank->file) any_lost = true;
    if (any_lost)
      OTF2_GlobalDefWriter_WriteLocationGroup(global_, lost, string("processes without files"),
                                              OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                              OTF2_UNDEFINED_LOCATION_GROUP);
    for (const Otf2Location& l : locations_) {
      std::string name = "rank " + std::to_string(l.id & 0xffffffff);
      if (l.thread) name += " thread " + std::to_string(l.thread);
      OTF2_GlobalDefWriter_WriteLocation(global_, l.id, string(name), OTF2_LOCATION_TYPE_CPU_THREAD,
                                         l.events, l.rank->file ? processes[l.rank->file] : lost);
    }
  }

  void write_groups() {
    const Definitions& d = view_.definitions();
    std::vector<uint64_t> members;
    for (size_t i = 0; i < view_.trace().ranks.size(); ++i) members.push_back(i);
    OTF2_GlobalDefWriter_WriteGroup(global_, 0, string("MPI"), OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                    OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                    static_cast<uint32_t>(members.size()), members.data());
    for (uint32_t i = 0; i < d.groups.size(); ++i) {
      const GlobalGroup& g = d.groups[i];
      if (g.kind == GlobalGroup::kSelf) {
        OTF2_GlobalDefWriter_WriteGroup(global_, i + 1, string(""), OTF2_GROUP_TYPE_COMM_SELF,
                                        OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 0, nullptr);
        continue;
      }
      members.clear();
      for (int32_t m = 0; m < g.size(); ++m)
        members.push_back(g.world_of(m) < 0 ? OTF2_UNDEFINED_UINT64
                                            : static_cast<uint64_t>(g.world_of(m)));
      OTF2_GlobalDefWriter_WriteGroup(global_, i + 1, string(""), OTF2_GROUP_TYPE_COMM_GROUP,
                                      OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                      static_cast<uint32_t>(members.size()), members.data());
    }
  }

  void write_comms() {
    const Definitions& d = view_.definitions();
    for (uint32_t i = 0; i < d.comms.size(); ++i) {
      const GlobalComm& c = d.comms[i];
      const bool ours = c.call == kCall_MPI_Init;
      const OTF2_CommFlag flag = ours ? OTF2_COMM_FLAG_NONE : OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS;
      const OTF2_StringRef name = string(view_.comm_name(i));
      // A parent must be defined earlier; one that a higher rank defined has a higher number.
      const uint32_t parent = c.parent >= i ? OTF2_UNDEFINED_COMM : c.parent;
      if (c.inter)
        OTF2_GlobalDefWriter_WriteInterComm(global_, i, name, c.group + 1, c.remote + 1, parent,
                                            flag);
      else
        OTF2_GlobalDefWriter_WriteComm(global_, i, name, c.group + 1, parent, flag);
    }
  }

  struct Otf2Location {
    uint64_t id;
    int thread;
    const RankTrace* rank;
    uint64_t events;
  };
  std::vector<Otf2Location> locations_of(const RankTrace& r) const {
    std::vector<Otf2Location> found;
    auto at = std::lower_bound(
        locations_.begin(), locations_.end(), &r,
        [](const Otf2Location& l, const RankTrace* rank) { return l.rank < rank; });
    for (; at != locations_.end() && at->rank == &r; ++at) found.push_back(*at);
    return found;
  }

  const TraceView& view_;
  OTF2_Archive* archive_ = nullptr;
  OTF2_GlobalDefWriter* global_ = nullptr;
  std::string error_;
  std::map<std::string, OTF2_StringRef> strings_;
  std::map<uint16_t, OTF2_RegionRef> regions_;
  std::vector<uint16_t> calls_;          ///< the call of each region
  std::vector<Otf2Location> locations_;  ///< in the order of ranks
};

}  // namespace

Status write_otf2(const TraceView& view, const std::string& folder) {
  return Otf2Writer(view).write(folder);
}

}  // namespace fgmpi::track
