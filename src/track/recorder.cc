// The record of a call, its requests, and their completion.

#include "track/recorder.h"

#include <time.h>

#include <algorithm>
#include <cstring>

namespace fgmpi::track {

constinit Next g_next{};
TrackedProcess g_process;

namespace {

/// The library is loaded: what this stores in g_process must come after its constructor.
[[maybe_unused]] const bool g_prepared = (prepare_process(), true);

/// The number of this thread of a rank: 0 for the first, the others in the order of
/// their first call.
struct ThreadNumber {
  uint8_t number = 0;
  bool known = false;
};
thread_local ThreadNumber t_thread;

uint8_t thread_number(TrackedRank* rank) {
  if (!rank->threads) return 0;
  if (!t_thread.known) {
    t_thread.number = static_cast<uint8_t>(std::min(rank->thread_numbers.fetch_add(1), 255));
    t_thread.known = true;
  }
  return t_thread.number;
}

}  // namespace

void this_is_the_first_thread() { t_thread.known = true; }

namespace {

constexpr size_t kFirstEvents = 4096 - sizeof(ChunkHeader);

}  // namespace

uint64_t derived_type_size(MPI_Datatype type) {
  MPI_Count size = 0;
  if (type == MPI_DATATYPE_NULL || g_next.MPI_Type_size_x(type, &size) != MPI_SUCCESS) return 0;
  return size > 0 ? static_cast<uint64_t>(size) : 0;
}

void* ChunkWriter::next(TraceSpool& spool, ChunkKind kind, int32_t rank, size_t size, size_t first,
                        size_t most) {
  if (!chunk || chunk->used + size > chunk->capacity) {
    const size_t room = chunk ? std::min(chunk->capacity * 2, most) : first;
    ChunkHeader* made = spool.make_chunk(kind, rank, parts, std::max(room, size));
    if (!made) return nullptr;
    ++parts;
    chunk = made;
  }
  void* place = records_of(chunk) + chunk->used;
  chunk->used += size;
  return place;
}

CallEvent* TrackedRank::next_event_in_new_chunk() {
  if (events_left == 0) return nullptr;
  const uint64_t begin = ticks();
  const size_t most = g_process.settings.buffer;
  const size_t room = events ? std::min<size_t>(events->capacity * 2, most) : kFirstEvents;
  ChunkHeader* made = g_process.spool.make_chunk(ChunkKind::kEvents, world_rank, event_parts, room);
  if (!made) {
    events_left = 0;
    recording = false;
    return nullptr;
  }
  ChunkHeader* full = events;
  ++event_parts;
  events = made;
  next_event = reinterpret_cast<CallEvent*>(records_of(made));
  const uint64_t n = std::min<uint64_t>(made->capacity / sizeof(CallEvent), events_left);
  last_event = next_event + n;
  events_left -= n;
  if (full) {
    TraceSpool::give_back(full);
    record_ticks(&g_process.spool.header());
    CallEvent* e = next_event++;
    events->used += sizeof(CallEvent);
    *e = {begin,
          ticks(),
          0,
          static_cast<uint8_t>(EventKind::kFlush),
          thread_number(this),
          kNoComm,
          0,
          0,
          full->used,
          0};
    if (next_event == last_event) return next_event_in_new_chunk();
  }
  CallEvent* e = next_event++;
  events->used += sizeof(CallEvent);
  return e;
}

uint32_t TrackedRank::find_or_add_comm(MPI_Comm comm) {
  const uint32_t id = comms.find(comm);
  if (id != HandleTable::kNone) {
    last_comm = comm;
    last_id = id;
    return id;
  }
  return kNoComm;
}

CommRecord& TrackedRank::comm(uint32_t id) {
  // The first chunk has room for `first` records, each further one for twice as many as the one
  // before, up to a bound.
  for (CommRecord* records : records) {
    auto* chunk = reinterpret_cast<ChunkHeader*>(records) - 1;
    const auto n = static_cast<uint32_t>(chunk->used / sizeof(CommRecord));
    if (id < n) return records[id];
    id -= n;
  }
  static CommRecord none;
  return none;
}

// ---- Calls --------------------------------------------------------------------------------------

void TrackedCall::begin() {
  RankLock lock(rank_);
  event_ = rank_->next_event_slot();
  if (!event_) return;
  event_->call = static_cast<uint16_t>(id_);
  event_->kind = static_cast<uint8_t>(EventKind::kCall);
  event_->thread = thread_number(rank_);
  event_->comm = kNoComm;
  event_->begin = ticks();
}

void TrackedCall::fill(EventKind kind, uint32_t comm, int peer, int tag, uint64_t bytes,
                       uint64_t extra) {
  CallEvent* e = event_;
  if (filled_) {
    e = rank_->next_event_slot();
    if (!e) return;
    e->begin = event_->begin;
    e->end = event_->end;
    e->call = event_->call;
    e->thread = event_->thread;
    e->kind = static_cast<uint8_t>(kind) | kPart;
  } else {
    e->kind = static_cast<uint8_t>(kind);
    filled_ = true;
  }
  if (__builtin_expect(g_process.settings.record == RecordedCalls::kGlobal, 0)) {
    extern int world_rank_of(TrackedRank*, uint32_t, int);
    peer = world_rank_of(rank_, comm, peer);
  }
  e->comm = comm;
  e->peer = peer;
  e->tag = tag;
  e->bytes = bytes;
  e->extra = extra;
}

namespace {
/// The number of received bytes, by MPICH's layout of a status.
uint64_t received_bytes(const MPI_Status& status) {
  return static_cast<uint32_t>(status.count_lo) |
         static_cast<uint64_t>(static_cast<uint32_t>(status.count_hi_and_cancelled) >> 1) << 32;
}
bool is_cancelled(const MPI_Status& status) { return status.count_hi_and_cancelled & 1; }
}  // namespace

void TrackedCall::received(MPI_Comm comm, const MPI_Status& status) {
  message(EventKind::kRecv, comm, status.MPI_SOURCE, status.MPI_TAG, received_bytes(status));
}

CommShape TrackedCall::shape_of(MPI_Comm comm) {
  if (!rank_) return {kNoComm, -1, 0, 0};
  RankLock lock(rank_);
  const uint32_t id = rank_->id_of(comm);
  if (id == kNoComm) return {id, -1, 0, 0};
  const CommRecord& r = rank_->comm(id);
  return {id, r.rank, r.size, r.flags & kInter ? r.remote_size : r.size};
}

void TrackedCall::collective(uint32_t comm, int root, uint64_t sent, uint64_t received) {
  if (!event_) return;
  RankLock lock(rank_);
  fill(EventKind::kColl, comm, root, 0, sent, received);
}

void TrackedRank::new_entry(MPI_Request request, const RequestEntry& entry) {
  uint32_t index;
  if (free_entries.empty()) {
    index = static_cast<uint32_t>(entries.size());
    entries.push_back(entry);
  } else {
    index = free_entries.back();
    free_entries.pop_back();
    const uint32_t uses = entries[index].uses;
    entries[index] = entry;
    entries[index].uses = uses;
  }
  entries[index].last = index;
  const uint32_t first = requests.find_or_put(request, index);
  if (__builtin_expect(first == HandleTable::kNone, 1)) return;
  // Only sends share a handle. Any other entry with this handle is about to be removed by another
  // thread, or was completed unseen.
  if (entries[first].kind != RequestKind::kSend || entry.kind != RequestKind::kSend) {
    requests.put(request, index);
  } else {
    entries[entries[first].last].next = index;
    entries[first].last = index;
  }
}

void TrackedRank::drop_entry(MPI_Request request, uint32_t index) {
  RequestEntry& e = entries[index];
  if (e.next == HandleTable::kNone) {
    requests.remove(request, index);
  } else if (requests.find(request) == index) {
    entries[e.next].last = e.last;
    requests.put(request, e.next);
  }
  ++e.uses;
  free_entries.push_back(index);
}

RequestDescription TrackedRank::describe_request(MPI_Request request) const {
  const uint32_t entry = requests.find(request);
  return {request, entry, entry == HandleTable::kNone ? 0 : entries[entry].uses};
}

uint32_t TrackedRank::entry_of(const RequestDescription& known) const {
  if (known.entry == HandleTable::kNone || entries[known.entry].uses == known.uses)
    return known.entry;
  return requests.find(known.request);
}

void TrackedCall::requested(RequestKind kind, bool persistent, MPI_Request request, MPI_Comm comm,
                            int peer, int tag, uint64_t bytes, uint64_t extra) {
  if (!rank_ || !rank_->recording || request == MPI_REQUEST_NULL || peer == MPI_PROC_NULL) return;
  if (!persistent && !event_) return;
  RankLock lock(rank_);
  RequestEntry entry;
  entry.kind = kind;
  entry.persistent = persistent;
  entry.active = !persistent;
  entry.recorded = event_ != nullptr;
  entry.call = static_cast<uint16_t>(id_);
  entry.comm = rank_->id_of(comm);
  entry.peer = peer;
  entry.tag = tag;
  entry.bytes = bytes;
  entry.extra = extra;
  entry.number = rank_->next_request++;
  rank_->new_entry(request, entry);
  if (persistent) return;
  if (kind == RequestKind::kSend)
    fill(EventKind::kIsend, entry.comm, peer, tag, bytes, entry.number);
  else
    fill(kind == RequestKind::kRecv ? EventKind::kIrecvPost : EventKind::kIcollPost, entry.comm,
         kNoRoot, 0, 0, entry.number);
}

void TrackedCall::started(MPI_Request request) {
  if (!rank_ || rank_->requests.size() == 0) return;
  RankLock lock(rank_);
  const uint32_t index = rank_->requests.find(request);
  if (index == HandleTable::kNone) return;
  RequestEntry& e = rank_->entries[index];
  e.active = true;
  e.cancelled = false;
  e.recorded = event_ != nullptr;
  if (!e.recorded) return;
  e.number = rank_->next_request++;
  if (e.kind == RequestKind::kSend)
    fill(EventKind::kIsend, e.comm, e.peer, e.tag, e.bytes, e.number);
  else
    fill(e.kind == RequestKind::kRecv ? EventKind::kIrecvPost : EventKind::kIcollPost, e.comm,
         kNoRoot, 0, 0, e.number);
}

void TrackedCall::matched(MPI_Message message, MPI_Comm comm) {
  if (!event_ || message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return;
  RankLock lock(rank_);
  RequestEntry entry;
  entry.kind = RequestKind::kMessage;
  entry.comm = static_cast<uint32_t>(comm);
  rank_->new_entry(message, entry);
}

MPI_Comm TrackedCall::remove_message(MPI_Message message) {
  if (!rank_ || rank_->requests.size() == 0) return MPI_COMM_NULL;
  RankLock lock(rank_);
  const uint32_t index = rank_->requests.find(message);
  if (index == HandleTable::kNone) return MPI_COMM_NULL;
  const auto comm = static_cast<MPI_Comm>(rank_->entries[index].comm);
  rank_->drop_entry(message, index);
  return comm;
}

void TrackedCall::complete(uint32_t index, MPI_Request before, const MPI_Status* status) {
  const RequestEntry e = rank_->entries[index];
  if (!e.active) return;
  if (e.persistent)
    rank_->entries[index].active = false;
  else
    rank_->drop_entry(before, index);
  if (e.kind == RequestKind::kIdup) {
    // The variable of the program holds the new communicator from now on.
    MPI_Comm made;
    std::memcpy(&made, reinterpret_cast<const void*>(e.extra), sizeof made);
    if (made == MPI_COMM_NULL) return;
    const uint32_t parent = rank_->find_or_add_comm(static_cast<MPI_Comm>(e.comm));
    const uint32_t id = rank_->add_comm(made, parent, e.call, kSameGroup, e.place);
    if (event_) fill(EventKind::kCommCreate, id, kNoRoot, 0, 0, 0);
    return;
  }
  if (!event_ || !e.recorded) return;
  if (e.cancelled && status && is_cancelled(*status)) {
    fill(EventKind::kCancelled, e.comm, kNoRoot, 0, 0, e.number);
  } else if (e.kind == RequestKind::kSend) {
    fill(EventKind::kIsendDone, e.comm, kNoRoot, 0, 0, e.number);
  } else if (e.kind == RequestKind::kColl) {
    fill(EventKind::kIcollDone, e.comm, e.peer, e.call, e.bytes, e.number);
  } else if (status && status->MPI_SOURCE != MPI_PROC_NULL) {
    fill(EventKind::kIrecvDone, e.comm, status->MPI_SOURCE, status->MPI_TAG,
         received_bytes(*status), e.number);
  }
}

void TrackedCall::created(MPI_Comm parent, MPI_Comm comm, uint16_t flags) {
  if (!rank_ || comm == MPI_COMM_NULL) return;
  RankLock lock(rank_);
  const uint32_t from = parent == MPI_COMM_NULL ? kNoComm : rank_->id_of(parent);
  const uint32_t id = rank_->add_comm(comm, from, static_cast<uint16_t>(id_), flags, place_);
  if (event_) fill(EventKind::kCommCreate, id, kNoRoot, 0, 0, 0);
}

void TrackedCall::idup_started(MPI_Comm parent, MPI_Comm* comm, MPI_Request request) {
  if (!rank_ || request == MPI_REQUEST_NULL) return;
  RankLock lock(rank_);
  RequestEntry entry;
  entry.kind = RequestKind::kIdup;
  entry.call = static_cast<uint16_t>(id_);
  entry.comm = static_cast<uint32_t>(parent);
  entry.extra = reinterpret_cast<uint64_t>(comm);
  entry.place = place_;
  rank_->new_entry(request, entry);
}

uint32_t TrackedCall::id_of(MPI_Comm comm) {
  if (!rank_) return kNoComm;
  RankLock lock(rank_);
  return rank_->id_of(comm);
}

RequestDescription TrackedCall::describe_request(MPI_Request request) {
  if (!rank_ || rank_->requests.size() == 0) return {};
  RankLock lock(rank_);
  return rank_->describe_request(request);
}

void TrackedCall::freed(MPI_Comm comm, uint32_t id) {
  if (id == kNoComm) return;
  RankLock lock(rank_);
  rank_->drop_comm(comm, id);
  if (event_) fill(EventKind::kCommFree, id, kNoRoot, 0, 0, 0);
}

void TrackedCall::request_freed(const RequestDescription& request) {
  if (request.entry == HandleTable::kNone) return;
  RankLock lock(rank_);
  const uint32_t index = rank_->entry_of(request);
  if (index == HandleTable::kNone) return;
  const RequestEntry e = rank_->entries[index];
  rank_->drop_entry(request.request, index);
  if (event_ && e.active && e.recorded && e.kind == RequestKind::kSend)
    fill(EventKind::kIsendDone, e.comm, kNoRoot, 0, 0, e.number);
}

void TrackedCall::cancelled(MPI_Request request) {
  if (!rank_ || rank_->requests.size() == 0) return;
  RankLock lock(rank_);
  const uint32_t index = rank_->requests.find(request);
  if (index != HandleTable::kNone) rank_->entries[index].cancelled = true;
}

void TrackedCall::named(MPI_Comm comm, const char* name) {
  if (!rank_ || !name) return;
  RankLock lock(rank_);
  const uint32_t id = rank_->id_of(comm);
  if (id == kNoComm || rank_->comm(id).rank != 0) return;
  const size_t length = strnlen(name, MPI_MAX_OBJECT_NAME);
  std::vector<char> bytes(sizeof(NameRecord) + length);
  const NameRecord record = {id, static_cast<uint32_t>(length)};
  std::memcpy(bytes.data(), &record, sizeof record);
  std::memcpy(bytes.data() + sizeof record, name, length);
  g_process.spool.put(ChunkKind::kNames, rank_->world_rank, bytes.data(), bytes.size());
}

void TrackedCall::advance_slowly() {
  RankLock lock(rank_);
  advance_keys(rank_, false);
}

// ---- Completion ---------------------------------------------------------------------------------

RequestCompletion::RequestCompletion(TrackedCall* call, int count, const MPI_Request* requests)
    : call_(call), count_(count) {
  TrackedRank* rank = call->rank_;
  if (!rank || rank->requests.size() == 0 || count <= 0) return;
  RankLock lock(rank);
  if (count > kFew) {
    many_.resize(static_cast<size_t>(count));
    known_ = many_.data();
  }
  for (int i = 0; i < count; ++i) {
    known_[i] = rank->describe_request(requests[i]);
    if (known_[i].entry == HandleTable::kNone) continue;
    any_ = true;
    const RequestEntry& e = rank->entries[known_[i].entry];
    receives_ |= e.kind == RequestKind::kRecv || e.cancelled;
  }
}

MPI_Status* RequestCompletion::statuses(MPI_Status* of_program) {
  told_ = of_program;
  if (!receives_ || (of_program != MPI_STATUS_IGNORE && of_program != MPI_STATUSES_IGNORE)) {
    if (of_program == MPI_STATUS_IGNORE || of_program == MPI_STATUSES_IGNORE) told_ = nullptr;
    return of_program;
  }
  MPI_Status* own = few_statuses_;
  if (count_ > kFew) {
    many_statuses_.resize(static_cast<size_t>(count_));
    own = many_statuses_.data();
  }
  told_ = own;
  return own;
}

void RequestCompletion::done(int i, int status) {
  if (!any_ || i < 0 || i >= count_ || known_[i].entry == HandleTable::kNone) return;
  RankLock lock(call_->rank_);
  const uint32_t entry = call_->rank_->entry_of(known_[i]);
  if (entry != HandleTable::kNone)
    call_->complete(entry, known_[i].request, told_ ? told_ + status : nullptr);
}

}  // namespace fgmpi::track
