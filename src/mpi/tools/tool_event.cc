// Tools interface: events and their source (tool.h, events.h).

#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "comm/extras.h"
#include "comm/inside_paths.h"
#include "comm/of_rank.h"
#include "datatype/datatype.h"
#include "mpi/comm/comm_messages.h"
#include "mpi/tools/events.h"
#include "mpi/tools/tool.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::mpi {
namespace {

using events::ToolEventKind;

/// The data that a callback reads. Events have some of the fields as elements, under their own
/// names.
struct Occurrence {
  int32_t comm = 0, first = 0, second = 0;
  int64_t bytes = 0;
};

struct Element {
  const char* name;
  bool wide;  ///< MPI_LONG_LONG, else MPI_INT
  size_t offset;
};
constexpr int kMostElements = 4;

struct EventType {
  const char* name;
  const char* text;
  int count;
  Element elements[kMostElements];
};

constexpr size_t kComm = offsetof(Occurrence, comm), kFirst = offsetof(Occurrence, first),
                 kSecond = offsetof(Occurrence, second), kBytes = offsetof(Occurrence, bytes);

constexpr EventType kTypes[events::kCount] = {
    {"fgmpi_send_begun",
     "a point-to-point send of the rank begins; elements: handle of the communicator, rank of the "
     "target (-1: not known here), tag, bytes",
     4,
     {{"comm", false, kComm},
      {"dest", false, kFirst},
      {"tag", false, kSecond},
      {"bytes", true, kBytes}}},
    {"fgmpi_received",
     "the rank has been given a message; elements: handle of the communicator, rank of the source, "
     "tag, bytes",
     4,
     {{"comm", false, kComm},
      {"source", false, kFirst},
      {"tag", false, kSecond},
      {"bytes", true, kBytes}}},
    {"fgmpi_collective_begun",
     "the rank begins a collective; elements: handle of the communicator, operation (0 barrier, 1 "
     "bcast, 2 gather, 3 gatherv, 4 scatter, 5 scatterv, 6 allgather, 7 allgatherv, 8 alltoall, 9 "
     "alltoallv, 10 alltoallw, 11 reduce, 12 allreduce, 13 reduce_scatter, 14 "
     "reduce_scatter_block, 15 scan, 16 exscan, 17 neighbor_allgather, 18 neighbor_allgatherv, 19 "
     "neighbor_alltoall, 20 neighbor_alltoallv, 21 neighbor_alltoallw), number of the collective "
     "on the communicator (even of blocking ones, odd of the others)",
     3,
     {{"comm", false, kComm}, {"operation", false, kFirst}, {"number", false, kSecond}}},
    {"fgmpi_collective_ended",
     "a collective is over for the rank; elements as of fgmpi_collective_begun",
     3,
     {{"comm", false, kComm}, {"operation", false, kFirst}, {"number", false, kSecond}}},
    {"fgmpi_comm_made",
     "the rank has a new communicator; elements: its handle, its size, the rank in it",
     3,
     {{"comm", false, kComm}, {"size", false, kFirst}, {"rank", false, kSecond}}},
    {"fgmpi_comm_freed",
     "the rank has freed a communicator; element: the handle it had",
     1,
     {{"comm", false, kComm}}},
};
static_assert(static_cast<int>(coll::CollectiveKind::kLast) == 22, "named in the text above");

constexpr int kSafeties = MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE + 1;

/// The object of MPI_T_event_handle_alloc: a rank's callbacks for a kind of event, one for each
/// level of safety.
struct EventRegistration {
  ToolEventKind kind;
  MPI_T_event_cb_function* callbacks[kSafeties] = {};
  void* user_data[kSafeties] = {};
  MPI_T_event_dropped_cb_function* dropped_handler = nullptr;
  bool calling = false, freed = false;
  MPI_Count dropped = 0;
};

/// The argument of a callback.
struct Instance {
  const EventRegistration* of;
  Occurrence what;
  MPI_Count time;  ///< of the one source, in ns
};

/// The registrations of a rank.
struct OwnEvents {
  std::unordered_map<const void*, std::unique_ptr<EventRegistration>> registrations;
  std::vector<EventRegistration*> listening;  ///< those that have a callback
  ~OwnEvents() {
    if (!listening.empty()) events::update_wanted();
  }
};
auto& g_events = *new comm::OfRank<OwnEvents>;
/// Instances that callbacks are reading now.
std::vector<const Instance*> g_instances;

EventRegistration* find(MPI_T_event_registration handle) {
  OwnEvents* own = g_events.find_mine();
  if (!own) return nullptr;
  auto it = own->registrations.find(handle);
  return it != own->registrations.end() && !it->second->freed ? it->second.get() : nullptr;
}

const Instance* find(MPI_T_event_instance handle) {
  const auto* instance = reinterpret_cast<const Instance*>(handle);
  for (const Instance* known : g_instances)
    if (known == instance) return instance;
  return nullptr;
}

/// The callback with the fewest requirements on the moment of its call: all are allowed at the end
/// of a call of MPI.
int chosen(const EventRegistration& r) {
  int level = 0;
  while (level < kSafeties && !r.callbacks[level]) ++level;
  return level;
}

void update_listening(EventRegistration* r) {
  std::vector<EventRegistration*>& listening = g_events.mine().listening;
  std::erase(listening, r);
  if (!r->freed && chosen(*r) < kSafeties) listening.push_back(r);
  events::update_wanted();
}

void forget(EventRegistration* r) { g_events.mine().registrations.erase(r); }

void call(EventRegistration* r, const Occurrence& what) {
  if (r->calling) {
    ++r->dropped;
    return;
  }
  const int level = chosen(*r);
  if (level >= kSafeties) return;
  const auto safety = static_cast<MPI_T_cb_safety>(level);
  auto* handle = reinterpret_cast<MPI_T_event_registration>(r);
  const sched::UserCallback in_callback;
  Instance instance{r, what, now_ns()};
  g_instances.push_back(&instance);
  r->calling = true;
  r->callbacks[level](reinterpret_cast<MPI_T_event_instance>(&instance), handle, safety,
                      r->user_data[level]);
  std::erase(g_instances, &instance);
  if (const MPI_Count dropped = std::exchange(r->dropped, 0); dropped && r->dropped_handler)
    r->dropped_handler(dropped, handle, 0, safety, r->user_data[level]);
  r->calling = false;
  if (r->freed) forget(r);
}

/// Locks the engine for a caller that is outside of the library; not around a collective call,
/// which locks it itself.
class ToolEngineLock {
 public:
  ToolEngineLock() {
    if (sched::outside()) entry_.emplace();
  }
  /// False: the thread belongs to no rank.
  explicit operator bool() const { return !entry_ || *entry_; }

 private:
  std::optional<sched::EngineEntry> entry_;
};

void raise(ToolEventKind kind, const Occurrence& what) {
  OwnEvents* own = g_events.find_mine();
  if (!own || own->listening.empty()) return;
  // The loop runs over a copy: a callback may register others, or free its own.
  const std::vector<EventRegistration*> listening = own->listening;
  for (EventRegistration* r : listening)
    if (own->registrations.contains(r) && !r->freed && r->kind == kind) call(r, what);
}

}  // namespace

// ---- Where they come from -----------------------------------------------------------------------

namespace events {

uint32_t g_wanted = 0;

void update_wanted() {
  uint32_t wanted = 0;
  g_events.for_each([&](const OwnEvents& own) {
    for (const EventRegistration* r : own.listening) wanted |= 1u << r->kind;
  });
  if (comm_messages::counting()) wanted |= 1u << events::kSendBegun;
  events::g_wanted = wanted;
  if (wanted & (1u << events::kSendBegun | 1u << events::kReceived)) comm::close_all_fast_paths();
}

void detail::send_begun(const comm::Comm* comm, int dest, int tag, int64_t count,
                        MPI_Datatype datatype) {
  if (dest == MPI_PROC_NULL) return;
  datatype::Type type;
  const bool known = count >= 0 && datatype::Type::of(datatype, &type).ok();
  const int64_t bytes = known ? count * type.size() : 0;
  comm_messages::count(comm, dest, bytes);
  raise(kSendBegun, {comm->handle, dest, tag, bytes});
}

void detail::received(const comm::Comm* comm, const pt2pt::Outcome& outcome) {
  if (outcome.error.ok() && !outcome.cancelled)
    raise(kReceived,
          {comm->handle, outcome.source, outcome.tag, static_cast<int64_t>(outcome.bytes)});
}

void detail::comm_made(const comm::Comm* comm) {
  raise(kCommMade, {comm->handle, comm->size(), comm->rank, 0});
}

void detail::comm_freed(MPI_Comm handle) { raise(kCommFreed, {handle, 0, 0, 0}); }

void detail::started(const pt2pt::Request* request) {
  const auto* comm = static_cast<const comm::Comm*>(request->comm_ref);
  const pt2pt::Request::ToolEvent told = request->tool_event();
  if (!comm) return;
  if (told.what == pt2pt::Request::ToolEvent::kSend) {
    const int dest = told.first < 0 ? -1 : comm->shared->peers().rank_of(told.first);
    comm_messages::count(comm, dest, told.bytes);
    raise(kSendBegun, {comm->handle, dest, told.second, told.bytes});
  } else if (told.what == pt2pt::Request::ToolEvent::kCollective) {
    raise(kCollectiveBegun, {comm->handle, told.first, told.second, 0});
  }
}

void detail::completed(const pt2pt::Request* request) {
  const auto* comm = static_cast<const comm::Comm*>(request->comm_ref);
  const pt2pt::Request::ToolEvent told = request->tool_event();
  if (!comm) return;
  switch (told.what) {
    case pt2pt::Request::ToolEvent::kReceive:
      if (wanted(kReceived)) received(comm, request->outcome);
      break;
    case pt2pt::Request::ToolEvent::kCollective:
      raise(kCollectiveEnded, {comm->handle, told.first, told.second, 0});
      break;
    case pt2pt::Request::ToolEvent::kCommunicator:
      if (const comm::Comm* made = comm::find_inside(told.first); made && wanted(kCommMade))
        comm_made(made);
      break;
    default:
      break;
  }
}

void CollectiveEvents::begin(MPI_Comm handle, coll::CollectiveKind operation) {
  const ToolEngineLock inside;
  comm_ = inside ? comm::find_inside(handle) : nullptr;
  if (!comm_) return;
  comm_->retain();
  operation_ = operation;
  number_ = comm_->sequence;
  raise(kCollectiveBegun,
        {comm_->handle, static_cast<int32_t>(operation), static_cast<int32_t>(number_), 0});
}

void CollectiveEvents::end() {
  const ToolEngineLock inside;
  raise(kCollectiveEnded,
        {comm_->handle, static_cast<int32_t>(operation_), static_cast<int32_t>(number_), 0});
  comm_->release();
}

}  // namespace events

// ---- What tools call ----------------------------------------------------------------------------

namespace tool {
namespace {

int check_event(int index) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  return index >= 0 && index < static_cast<int>(events::kCount) ? MPI_SUCCESS
                                                                : MPI_T_ERR_INVALID_INDEX;
}

int look_up(MPI_T_event_registration handle, EventRegistration** out) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  *out = find(handle);
  return *out ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

int look_up(MPI_T_event_instance handle, const Instance** out) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  *out = find(handle);
  return *out ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

/// A program can pass numbers that the enumeration does not have.
bool is_safety(MPI_T_cb_safety safety) {
  const int number = safety;
  return number >= 0 && number < kSafeties;
}

/// Returns the hints that are in use: there are none.
int no_hints(MPI_Info* info) { return info ? PMPI_Info_create(info) : MPI_SUCCESS; }

void read(const Instance& instance, const Element& element, void* buffer) {
  const char* from = reinterpret_cast<const char*>(&instance.what) + element.offset;
  std::memcpy(buffer, from, element.wide ? sizeof(int64_t) : sizeof(int32_t));
}

}  // namespace

int events_in(int category, int length, int* indices) {
  constexpr int kMessages = static_cast<int>(settings::Component::kMessages),
                kCollectives = static_cast<int>(settings::Component::kCollectives);
  int count = 0;
  for (int i = 0; i < static_cast<int>(events::kCount); ++i) {
    if (category != (i <= int{events::kReceived} ? kMessages : kCollectives)) continue;
    if (count < length) indices[count] = i;
    ++count;
  }
  return count;
}

int event_get_num(int* num) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!num) return MPI_T_ERR_INVALID;
  *num = events::kCount;
  return MPI_SUCCESS;
}

int event_get_index(const char* name, int* index) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!name || !index) return MPI_T_ERR_INVALID;
  for (int i = 0; i < static_cast<int>(events::kCount); ++i) {
    if (std::strcmp(kTypes[i].name, name) != 0) continue;
    *index = i;
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int event_get_info(int index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatypes,
                   MPI_Aint* displacements, int* count, MPI_T_enum* enumtype, MPI_Info* info,
                   char* desc, int* desc_len, int* bind) {
  if (int code = check_event(index)) return code;
  const EventType& type = kTypes[index];
  copy_text_out(type.name, name, name_len);
  copy_text_out(type.text, desc, desc_len);
  give(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
  for (int i = 0; count && i < type.count && i < *count; ++i) {
    if (datatypes) datatypes[i] = type.elements[i].wide ? MPI_LONG_LONG : MPI_INT;
    if (displacements) displacements[i] = static_cast<MPI_Aint>(type.elements[i].offset);
  }
  give(count, type.count);
  if (enumtype) *enumtype = MPI_T_ENUM_NULL;
  give(bind, MPI_T_BIND_NO_OBJECT);
  return no_hints(info);
}

int event_handle_alloc(int index, void*, MPI_Info, MPI_T_event_registration* registration) {
  if (int code = check_event(index)) return code;
  if (!registration) return MPI_T_ERR_INVALID;
  auto made = std::make_unique<EventRegistration>();
  made->kind = static_cast<ToolEventKind>(index);
  *registration = reinterpret_cast<MPI_T_event_registration>(made.get());
  g_events.mine().registrations.emplace(made.get(), std::move(made));
  return MPI_SUCCESS;
}

int event_handle_set_info(MPI_T_event_registration registration, MPI_Info) {
  EventRegistration* r;
  return look_up(registration, &r);
}

int event_handle_get_info(MPI_T_event_registration registration, MPI_Info* info) {
  EventRegistration* r;
  if (int code = look_up(registration, &r)) return code;
  return info ? no_hints(info) : MPI_T_ERR_INVALID;
}

int event_register_callback(MPI_T_event_registration registration, MPI_T_cb_safety safety, MPI_Info,
                            void* user_data, MPI_T_event_cb_function* function) {
  EventRegistration* r;
  if (int code = look_up(registration, &r)) return code;
  if (!is_safety(safety)) return MPI_T_ERR_INVALID;
  r->callbacks[safety] = function;
  r->user_data[safety] = user_data;
  update_listening(r);
  return MPI_SUCCESS;
}

int event_callback_set_info(MPI_T_event_registration registration, MPI_T_cb_safety safety,
                            MPI_Info) {
  EventRegistration* r;
  if (int code = look_up(registration, &r)) return code;
  return is_safety(safety) ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int event_callback_get_info(MPI_T_event_registration registration, MPI_T_cb_safety safety,
                            MPI_Info* info) {
  EventRegistration* r;
  if (int code = look_up(registration, &r)) return code;
  return is_safety(safety) && info ? no_hints(info) : MPI_T_ERR_INVALID;
}

int event_set_dropped_handler(MPI_T_event_registration registration,
                              MPI_T_event_dropped_cb_function* function) {
  EventRegistration* r;
  if (int code = look_up(registration, &r)) return code;
  r->dropped_handler = function;
  return MPI_SUCCESS;
}

int event_handle_free(MPI_T_event_registration registration, void* user_data,
                      MPI_T_event_free_cb_function* function) {
  EventRegistration* r;
  if (int code = look_up(registration, &r)) return code;
  r->freed = true;
  update_listening(r);
  // The callback that frees its own registration is the only one that runs now.
  if (function) function(registration, MPI_T_CB_REQUIRE_NONE, user_data);
  if (!r->calling) forget(r);
  return MPI_SUCCESS;
}

void forget_events_of_rank() {
  OwnEvents* own = g_events.find_mine();
  if (!own) return;
  std::erase_if(own->registrations, [](const auto& entry) { return !entry.second->calling; });
  if (std::exchange(own->listening, {}).empty()) return;
  events::update_wanted();
}

int event_read(MPI_T_event_instance handle, int element, void* buffer) {
  const Instance* instance;
  if (int code = look_up(handle, &instance)) return code;
  const EventType& type = kTypes[instance->of->kind];
  if (element < 0 || element >= type.count) return MPI_T_ERR_INVALID_INDEX;
  if (!buffer) return MPI_T_ERR_INVALID;
  read(*instance, type.elements[element], buffer);
  return MPI_SUCCESS;
}

int event_copy(MPI_T_event_instance handle, void* buffer) {
  const Instance* instance;
  if (int code = look_up(handle, &instance)) return code;
  if (!buffer) return MPI_T_ERR_INVALID;
  const EventType& type = kTypes[instance->of->kind];
  for (int i = 0; i < type.count; ++i)
    read(*instance, type.elements[i], static_cast<char*>(buffer) + type.elements[i].offset);
  return MPI_SUCCESS;
}

int event_get_timestamp(MPI_T_event_instance handle, MPI_Count* timestamp) {
  const Instance* instance;
  if (int code = look_up(handle, &instance)) return code;
  if (!timestamp) return MPI_T_ERR_INVALID;
  *timestamp = instance->time;
  return MPI_SUCCESS;
}

int event_get_source(MPI_T_event_instance handle, int* source) {
  const Instance* instance;
  if (int code = look_up(handle, &instance)) return code;
  if (!source) return MPI_T_ERR_INVALID;
  *source = 0;
  return MPI_SUCCESS;
}

int source_get_num(int* num) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!num) return MPI_T_ERR_INVALID;
  *num = 1;
  return MPI_SUCCESS;
}

int source_get_info(int index, char* name, int* name_len, char* desc, int* desc_len,
                    MPI_T_source_order* ordering, MPI_Count* ticks_per_second, MPI_Count* max_ticks,
                    MPI_Info* info) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (index != 0) return MPI_T_ERR_INVALID_INDEX;
  copy_text_out("fgmpi", name, name_len);
  copy_text_out("Finegrain MPI: calls of the rank, by the monotonic clock", desc, desc_len);
  if (ordering) *ordering = MPI_T_SOURCE_ORDERED;
  give(ticks_per_second, kSecond);
  give(max_ticks, INT64_MAX);
  return no_hints(info);
}

int source_get_timestamp(int index, MPI_Count* timestamp) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (index != 0) return MPI_T_ERR_INVALID_INDEX;
  if (!timestamp) return MPI_T_ERR_INVALID;
  *timestamp = now_ns();
  return MPI_SUCCESS;
}

}  // namespace tool
}  // namespace fgmpi::mpi
