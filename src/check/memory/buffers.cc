// Buffers: the memory that a call reads and writes, compared with the memory of pending operations.
#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "base/processor.h"
#include "check/call.h"
#include "check/memory/accesses.h"
#include "check/threads/strands.h"

namespace fgmpi::check {
namespace {

/// The most bytes that a checksum covers; for larger buffers, the first and the last half of this.
constexpr int64_t kMostChecked = 256 << 10;
constexpr int64_t kMostBlocks = 1 << 14;

}  // namespace

void set_reach(Region* r, const TypeLayout& layout) {
  const TypeLayout* l = &layout;
  const int64_t last = (r->count - 1) * l->extent;
  r->low = r->base + l->low + std::min<int64_t>(last, 0);
  r->high = r->base + l->high + std::max<int64_t>(last, 0);
  r->exact = l->contiguous() || (r->count == 1 && l->exact && l->blocks.size() == 1);
  if (r->exact || !l->exact || static_cast<int64_t>(l->blocks.size()) * r->count > kMostBlocks)
    return;
  for (int64_t i = 0; i < r->count; ++i)
    for (const ByteBlock& b : l->blocks) r->blocks.push_back({i * l->extent + b.offset, b.bytes});
  std::sort(r->blocks.begin(), r->blocks.end(),
            [](const ByteBlock& a, const ByteBlock& b) { return a.offset < b.offset; });
}

namespace {

/// Are the region's bytes known?
bool is_known(const Region& r) { return r.exact || !r.blocks.empty(); }

bool overlap(const Region& a, const Region& b) {
  if (a.low >= b.high || b.low >= a.high) return false;
  if (a.exact && b.exact) return true;
  if (!is_known(a) || !is_known(b)) return false;
  const ByteBlock whole_a{a.low - a.base, a.high - a.low}, whole_b{b.low - b.base, b.high - b.low};
  const ByteBlock *x = a.exact ? &whole_a : a.blocks.data(),
                  *y = b.exact ? &whole_b : b.blocks.data();
  const ByteBlock *x_end = x + (a.exact ? 1 : a.blocks.size()),
                  *y_end = y + (b.exact ? 1 : b.blocks.size());
  while (x < x_end && y < y_end) {
    const char *xl = a.base + x->offset, *yl = b.base + y->offset;
    if (xl < yl + y->bytes && yl < xl + x->bytes) return true;
    (xl + x->bytes <= yl + y->bytes ? x : y)++;
  }
  return false;
}

#ifdef __clang__
#define FGMPI_VECTORISED  // clang does so at -O2
#else
#define FGMPI_VECTORISED [[gnu::optimize("O3")]]
#endif

/// A checksum that the compiler vectorises: 16 lanes, each a rotating sum.
FGMPI_FOR_EACH_WIDTH FGMPI_VECTORISED uint64_t sum_of_bytes(const char* at, size_t bytes,
                                                            uint64_t seed) {
  constexpr size_t kLanes = 16, kStep = kLanes * sizeof(uint32_t);
  uint32_t lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kStep <= bytes; i += kStep) {
    uint32_t words[kLanes];
    std::memcpy(words, at + i, kStep);
    for (size_t k = 0; k < kLanes; ++k) lanes[k] = (lanes[k] << 5 | lanes[k] >> 27) + words[k];
  }
  return hash_bytes(at + i, bytes - i, hash_bytes(lanes, sizeof lanes, seed));
}

/// For few bytes: adds whole words one by one, and the rest by hash_bytes().
uint64_t sum_of_words(const char* at, size_t bytes) {
  uint64_t sum = bytes;
  for (; bytes >= 8; at += 8, bytes -= 8) sum = add_word(sum, at);
  return bytes ? hash_bytes(at, bytes, sum) : sum;
}

}  // namespace

uint64_t checksum_of_any(const char* low, const char* high) {
  const auto bytes = high - low;
  if (bytes <= 128) return sum_of_words(low, static_cast<size_t>(bytes));
  if (bytes <= kMostChecked) return sum_of_bytes(low, static_cast<size_t>(bytes), 0);
  return sum_of_bytes(high - kMostChecked / 2, kMostChecked / 2,
                      sum_of_bytes(low, kMostChecked / 2, 0));
}

namespace {

uint64_t checksum(const Region& r) {
  if (r.exact) return checksum_between(r.low, r.high);
  uint64_t sum = 0;
  for (const ByteBlock& b : r.blocks)
    sum = hash_bytes(r.base + b.offset, static_cast<size_t>(b.bytes), sum);
  return sum;
}

bool is_root(const CheckedCall& call, const OwnComm& own) {
  return check::is_root(call.info(), call.record().words, own);
}

/// The number of ranks for which the counts of a buffer's parts stand.
int parts_with(const OwnComm& own) {
  return own.comm->inter ? static_cast<int>(own.comm->remote.size()) : own.comm->size;
}

/// times() for an intercommunicator.
int64_t times_between(const CheckedCall& call, bool sends, const OwnComm& own) {
  const bool rooted = call.has(&Positions::root), root = is_root(call, own);
  if (rooted && call.value(&Positions::root) == MPI_PROC_NULL) return 0;
  switch (call.info().collective) {
    case Collective::kGather:
      return sends == root ? 0 : root ? parts_with(own) : 1;
    case Collective::kScatter:
      return sends != root ? 0 : root ? parts_with(own) : 1;
    case Collective::kReduce:
      return sends != root;
    case Collective::kAllgather:
      return sends ? 1 : parts_with(own);
    case Collective::kAlltoall:
      return parts_with(own);
    case Collective::kReduceScatterBlock:
      return sends ? own.comm->size : 1;
    case Collective::kGatherv:  // what its non-root ranks send and receive
      return sends && !root;
    case Collective::kScatterv:
      return !sends && !root;
    default:
      return 1;
  }
}

/// The number of times that a collective's buffer holds its count; 0 where this rank does
/// not use the buffer.
int64_t times(const CheckedCall& call, bool sends, const OwnComm& own) {
  if (own.comm->inter) return times_between(call, sends, own);
  const bool root = is_root(call, own);
  switch (call.info().collective) {
    case Collective::kGather:
      return sends ? 1 : root ? own.comm->size : 0;
    case Collective::kScatter:
      return !sends ? 1 : root ? own.comm->size : 0;
    case Collective::kAllgather:
      return sends ? 1 : own.comm->size;
    case Collective::kAlltoall:
      return own.comm->size;
    case Collective::kReduce:
      return sends || root ? 1 : 0;
    case Collective::kReduceScatterBlock:
      return sends ? own.comm->size : 1;
    default:
      return 1;
  }
}

/// MPI_Reduce_scatter: the send buffer has the elements of all ranks, the receive buffer
/// the rank's share.
bool add_shares(CheckedCall* call, const Parameter& p, const OwnComm& own, Region r) {
  const int64_t counts = call->at(p.length);
  if (!counts) return false;
  for (int i = 0; i < own.comm->size; ++i)
    if (!r.writes || i == own.rank) r.count += number_in(*call, counts, i);
  if (r.count <= 0) return false;
  set_reach(&r, *layout_of(r.type));
  call->lists().regions.push_back(std::move(r));
  return true;
}

/// Adds a part of a buffer. `place` is the displacement of its first element, in elements.
void add_block(Region* r, const TypeLayout& l, int64_t place, int64_t count) {
  if (count > 0)
    r->blocks.push_back({place * l.extent + l.blocks.front().offset, count * l.extent});
}

/// Adds a region for the parts in `blocks`.
bool add_blocks(CheckedCall* call, Region r) {
  if (r.blocks.empty()) return false;
  std::sort(r.blocks.begin(), r.blocks.end(),
            [](const ByteBlock& a, const ByteBlock& b) { return a.offset < b.offset; });
  if (r.writes)
    for (size_t i = 1; i < r.blocks.size(); ++i)
      if (r.blocks[i].offset < r.blocks[i - 1].offset + r.blocks[i - 1].bytes) {
        report(FindingKind::kArguments, "two parts of a receive buffer overlap",
               "what comes from each rank has a place of its own", {call->me()});
        break;
      }
  int64_t high = INT64_MIN;
  for (const ByteBlock& b : r.blocks) high = std::max(high, b.offset + b.bytes);
  r.low = r.base + r.blocks.front().offset;
  r.high = r.base + high;
  call->lists().regions.push_back(std::move(r));
  return true;
}

/// The position of the displacements of a buffer's parts; -1 where the call has none.
int displacements_of(const CheckedCall& call, bool sends) {
  const int both = call.find("displs");
  return both >= 0 ? both : call.find(sends ? "sdispls" : "rdispls");
}

/// Adds the buffer of a neighbourhood collective. Parts for MPI_PROC_NULL are not accessed.
void add_of_neighbours(CheckedCall* call, const Parameter& p, OwnComm* own, Region r) {
  const CallInfo& info = call->info();
  const bool sends = p.what == ParameterUse::kRead;
  const Neighbours& all = neighbours_of(static_cast<MPI_Comm>(call->value(&Positions::comm)), own);
  const std::vector<int>& others = sends ? all.destinations : all.sources;
  const TypeLayout* l = layout_of(r.type);
  const int64_t length = call->at(p.length);
  if (sends && std::strstr(info.name, "allgather")) {  // every neighbour gets the same
    r.count = length;
    const bool any =
        std::any_of(others.begin(), others.end(), [](int rank) { return rank != MPI_PROC_NULL; });
    if (!any || r.count <= 0) return;
    set_reach(&r, *l);
    call->lists().regions.push_back(std::move(r));
    return;
  }
  const bool varies = info.parameters[p.length].what == ParameterUse::kCounts;
  const int displs_at = varies ? displacements_of(*call, sends) : 0;
  if (!l->contiguous() || displs_at < 0 || (varies && (!length || !call->at(displs_at)))) return;
  for (size_t i = 0; i < others.size(); ++i) {
    if (others[i] == MPI_PROC_NULL) continue;
    const auto k = static_cast<int64_t>(i);
    if (varies)
      add_block(&r, *l, number_in(*call, call->at(displs_at), k), number_in(*call, length, k));
    else
      add_block(&r, *l, k * length, length);
  }
  add_blocks(call, std::move(r));
}

/// Adds the parts that the counts and displacements of a v-collective describe.
bool add_parts(CheckedCall* call, const Parameter& p, const OwnComm& own, Region r) {
  const Collective collective = call->info().collective;
  if (collective == Collective::kReduceScatter) return add_shares(call, p, own, std::move(r));
  const int displs_at = displacements_of(*call, p.what == ParameterUse::kRead);
  if (!is_root(*call, own) || displs_at < 0) return false;
  const auto counts = call->at(p.length), displs = call->at(displs_at);
  const TypeLayout* l = layout_of(r.type);
  const int parts = parts_with(own);
  if (!counts || !displs || !l || !l->contiguous() || parts > kMostBlocks) return false;
  for (int i = 0; i < parts; ++i)
    add_block(&r, *l, number_in(*call, displs, i), number_in(*call, counts, i));
  return add_blocks(call, std::move(r));
}

/// Adds a part of a buffer whose parts have types of their own. Returns false where the type's
/// bytes are unknown.
bool add_elements(Region* r, MPI_Datatype type, int64_t place, int64_t count) {
  if (count <= 0) return true;
  const TypeLayout* l = layout_of(type);
  if (!l || !l->exact) return false;
  if (l->size == 0) return true;
  if (l->contiguous()) {
    r->blocks.push_back({place + l->blocks.front().offset, count * l->extent});
    return true;
  }
  const auto a_time = static_cast<int64_t>(l->blocks.size()),
             before = static_cast<int64_t>(r->blocks.size());
  if (count > kMostBlocks || before + a_time * count > kMostBlocks) return false;
  for (int64_t i = 0; i < count; ++i)
    for (const ByteBlock& b : l->blocks)
      r->blocks.push_back({place + i * l->extent + b.offset, b.bytes});
  return true;
}

/// Adds a buffer of the w forms, with displacements in bytes and an array of types.
void add_of_types(CheckedCall* call, const Parameter& p, OwnComm* own, Region r) {
  const CallInfo& info = call->info();
  const bool sends = p.what == ParameterUse::kRead;
  const int displs_at = displacements_of(*call, sends);
  if (displs_at < 0) return;
  const int64_t counts = call->at(p.length), displs = call->at(displs_at);
  const auto* types = reinterpret_cast<const MPI_Datatype*>(call->at(p.second));
  if (!counts || !displs || !types) return;
  // The displacements of neighbourhood collectives always have type MPI_Aint.
  const bool wide = info.large || info.parameters[displs_at].what != ParameterUse::kDispls;
  const std::vector<int>* others = nullptr;
  const int64_t n = parts_of(*call, sends, own, &others);
  if (n > kMostBlocks) return;
  for (int64_t i = 0; i < n; ++i) {
    if (others && (*others)[static_cast<size_t>(i)] == MPI_PROC_NULL) continue;
    const int64_t place = wide ? reinterpret_cast<const MPI_Aint*>(displs)[i]
                               : reinterpret_cast<const int*>(displs)[i];
    if (!add_elements(&r, types[i], place, number_in(*call, counts, i))) return;
  }
  std::erase_if(r.blocks, [](const ByteBlock& b) { return b.bytes == 0; });
  add_blocks(call, std::move(r));
}

/// Does the buffer belong to MPI_PROC_NULL, so that it is not accessed?
bool goes_nowhere(const CheckedCall& call, const Parameter& p) {
  const bool sends = p.what == ParameterUse::kRead;
  const bool both = p.what == ParameterUse::kBoth;
  auto nowhere = [&](int8_t Positions::*rank) {
    return call.has(rank) && call.value(rank) == MPI_PROC_NULL;
  };
  if (nowhere(&Positions::target)) return true;
  if (both) return false;
  return nowhere(sends ? &Positions::dest : &Positions::source);
}

/// A buffer of MPI_Fetch_and_op or MPI_Compare_and_swap, which have no counts.
void add_element(CheckedCall* call, const Parameter& p, int64_t word) {
  const int type = call->find("datatype");
  Region r;
  r.base = reinterpret_cast<const char*>(word);
  r.writes = p.what != ParameterUse::kRead;
  r.type = static_cast<MPI_Datatype>(call->at(type));
  r.count = 1;
  const TypeLayout* l = layout_of(r.type);
  if (!l || l->size == 0) return;
  set_reach(&r, *l);
  call->lists().regions.push_back(std::move(r));
}

/// Is it the origin of an operation that only reads the target, so that it is not accessed?
bool is_unused_origin(const CheckedCall& call, const Parameter& p) {
  return call.has(&Positions::target) && p.what == ParameterUse::kRead &&
         call.has(&Positions::op) && call.value(&Positions::op) == MPI_NO_OP;
}

void add_region(CheckedCall* call, const Parameter& p, int64_t word, OwnComm* own) {
  if (call->has(&Positions::target) && (is_unused_origin(*call, p) || goes_nowhere(*call, p)))
    return;
  if (call->has(&Positions::target) && p.length < 0) return add_element(call, p, word);
  const Parameter* second = p.second < 0 ? nullptr : &call->info().parameters[p.second];
  if (p.length < 0 || !second || second->object != Object::kDatatype) return;
  Region r;
  r.base = reinterpret_cast<const char*>(word);
  r.writes = p.what != ParameterUse::kRead;
  if (second->array) {
    if (own && word != word_of_in_place()) add_of_types(call, p, own, std::move(r));
    return;
  }
  r.type = static_cast<MPI_Datatype>(call->at(p.second));
  const TypeLayout* l = layout_of(r.type);
  if (!l || word == word_of_in_place() || l->size == 0 || goes_nowhere(*call, p)) return;
  if (own && call->info().collective == Collective::kNeighbor) {
    if (!own->comm->inter) add_of_neighbours(call, p, own, std::move(r));
    return;
  }
  if (call->info().collective == Collective::kBcast) r.writes = !is_root(*call, *own);
  if (call->info().parameters[p.length].what == ParameterUse::kCounts) {
    if (own) add_parts(call, p, *own, std::move(r));
    return;
  }
  r.count = call->at(p.length);
  if (own)
    r.count *= times(*call, &p == &call->info().parameters[call->info().at.send_buffer], *own);
  if (r.count <= 0) return;
  set_reach(&r, *l);
  call->lists().regions.push_back(std::move(r));
}

/// Adds a region for each partition, unless there are too many.
void add_partitions(CheckedCall* call, const Parameter& p, int64_t word) {
  add_region(call, p, word, nullptr);
  if (call->lists().regions.empty()) return;
  const Region first = std::move(*call->lists().regions.begin());
  call->lists().regions.clear();
  const int64_t n = partitions_followed(call->record());
  if (n * static_cast<int64_t>(first.blocks.size()) > kMostBlocks) return;
  int64_t step = 0, whole = 0;
  if (__builtin_mul_overflow(first.count, layout_of(first.type)->extent, &step) ||
      __builtin_mul_overflow(step, n, &whole))
    return;  // MPI rejects these sizes
  call->lists().regions.assign(static_cast<size_t>(n), first, step);
}

bool has_one_plain_buffer(const CallInfo& info) {
  return info.role == CallRole::kSend || info.role == CallRole::kReceive;
}

/// Adds the buffer of a send or receive. For the next call like it the record remembers a
/// contiguous buffer.
void add_one(CheckedCall* call, const Parameter& p, int64_t word) {
  add_region(call, p, word, nullptr);
  RememberedCall* kept = call->remembered_record();
  if (!kept || call->lists().regions.size() != 1 || !call->lists().regions[0].exact) return;
  const Region& r = call->lists().regions[0];
  if (r.high - r.low > UINT32_MAX) return;
  kept->set_known(call->rank()->epoch, RememberedCall::kReach);
  kept->messages.low = r.low;
  kept->messages.bytes = static_cast<uint32_t>(r.high - r.low);
  kept->base = r.base;
}

/// The first pending region that begins at or behind `low`. REQUIRES: there are more than
/// kFewPending.
std::vector<PendingRegion>::iterator first_from(Rank* rank, const char* low) {
  return std::lower_bound(rank->regions.begin(), rank->regions.end(), low,
                          [](const PendingRegion& p, const char* at) { return p.low < at; });
}

/// Might a pending operation use bytes in [low, high), so that each must be compared?
bool meets_pending(const Rank& rank, const char* low, const char* high, bool writes) {
  if (rank.regions.size() > kFewPending) return true;
  for (const PendingRegion& p : rank.regions)
    if (conflict({low, high, writes}, {p.low, p.high, p.writes})) return true;
  return false;
}

/// `made`: the call that made a persistent request, where `call` starts the request; else null.
void compare_with(CheckedCall* call, const Region& r, const PendingRegion& pending,
                  const CallRecord* made) {
  const Region& other = *pending.region;
  Rank* rank = call->rank();
  if (!(r.writes || other.writes) || !overlap(r, other)) return;
  auto op = rank->requests.find(pending.request);
  if (!op) return;
  const char* how = !r.writes       ? "a buffer is read that a pending operation writes"
                    : !other.writes ? "a buffer is written that a pending operation reads"
                                    : "a buffer is written that a pending operation writes, too";
  std::vector<findings::Participant> calls = {
      call->me(), participant(rank, op->second.call, "is not complete")};
  if (made) calls.insert(calls.begin() + 1, participant(rank, *made, "made it"));
  report(FindingKind::kBuffers, how,
         "an operation's buffer is left alone until the operation is complete", std::move(calls));
}

void check_pending_regions(CheckedCall* call, const Region& r, const CallRecord* made = nullptr) {
  Rank* rank = call->rank();
  if (rank->regions.size() <= kFewPending) {
    for (const PendingRegion& p : rank->regions)
      if (p.low < r.high && r.low < p.high) compare_with(call, r, p, made);
    return;
  }
  for (auto at = first_from(rank, r.low - rank->longest_region);
       at != rank->regions.end() && at->low < r.high; ++at)
    compare_with(call, r, *at, made);
}

}  // namespace

void collect_buffers(CheckedCall* call) {
  if (call->buffers_collected) return;
  call->buffers_collected = true;
  const CallInfo& info = call->info();
  OwnComm* own = nullptr;
  if (info.role == CallRole::kCollective) {
    own = call->rank()->comm_of(static_cast<MPI_Comm>(call->value(&Positions::comm)));
    if (!own) return;
  }
  if (has_one_plain_buffer(info)) {
    const int i = __builtin_ctz(info.sets.buffers);
    add_one(call, info.parameters[i], call->at(i));
  } else if (is_partitioned(info)) {
    const int i = __builtin_ctz(info.sets.buffers);
    add_partitions(call, info.parameters[i], call->at(i));
  } else {
    for (unsigned set = info.sets.buffers; set; set &= set - 1) {
      const int i = __builtin_ctz(set);
      add_region(call, info.parameters[i], call->at(i), own);
    }
  }
}

const Regions& buffers_of(CheckedCall* call) {
  collect_buffers(call);
  return call->lists().regions;
}

void check_own_buffers(CheckedCall* call) {
  collect_buffers(call);
  if (!call->has_lists()) return;
  Regions& all = call->lists().regions;
  // The second buffer of a compare-and-swap, which it compares with, may be that of the result.
  const bool compares = call->record().id == kCall_MPI_Compare_and_swap;
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (!(compares && (i == 1 || k == 1)) && (all[i].writes || all[k].writes) &&
          overlap(all[i], all[k]))
        report(FindingKind::kArguments, "two buffers of a call overlap",
               "what a call writes overlaps nothing else that it is given; MPI_IN_PLACE where the "
               "call takes it",
               {call->me()});
}

void check_pending_buffers(CheckedCall* call) {
  const CallInfo& info = call->info();
  Rank* rank = call->rank();
  const bool alone = rank->regions.empty();
  if (alone && info.starts == Starts::kBlocking) return;
  const RememberedCall* kept = has_one_plain_buffer(info) ? call->remembered_record() : nullptr;
  if (kept && kept->is_known(rank->epoch, RememberedCall::kReach)) {
    const bool writes = info.role == CallRole::kReceive;
    if (info.starts != Starts::kBlocking) call->reach = kept;
    if (alone || info.starts == Starts::kPersistent ||
        !meets_pending(*rank, kept->messages.low, kept->high(), writes))
      return;
    Regions own_region;
    own_region.set(*kept, writes);
    return check_pending_regions(call, own_region[0]);
  }
  collect_buffers(call);
  if (alone || info.starts == Starts::kPersistent || !call->has_lists()) return;
  for (const Region& r : call->lists().regions) check_pending_regions(call, r);
}

namespace {

/// Adds the region to those of pending operations.
void add_pending(Rank* rank, int request, Region* r) {
  std::vector<PendingRegion>& all = rank->regions;
  const PendingRegion added = {r->low, r->high, r, request, r->writes};
  rank->longest_region = std::max<int64_t>(rank->longest_region, r->high - r->low);
  if (all.size() < kFewPending) {
    r->slot = static_cast<uint8_t>(all.size());
    all.push_back(added);
    return;
  }
  if (all.size() == kFewPending)
    std::sort(all.begin(), all.end(),
              [](const PendingRegion& a, const PendingRegion& b) { return a.low < b.low; });
  all.insert(first_from(rank, r->low), added);
}

void drop_pending(Rank* rank, const Region& r) {
  std::vector<PendingRegion>& all = rank->regions;
  if (all.size() <= kFewPending) {
    auto at = all.begin() + r.slot;
    // Its slot is from a time when the list was sorted.
    if (r.slot >= all.size() || at->region != &r)
      at = std::find_if(all.begin(), all.end(),
                        [&](const PendingRegion& p) { return p.region == &r; });
    if (at == all.end()) return;
    *at = all.back();
    at->region->slot = static_cast<uint8_t>(at - all.begin());
    all.pop_back();
  } else {
    for (auto at = first_from(rank, r.low); at != all.end() && at->low == r.low; ++at)
      if (at->region == &r) {
        all.erase(at);
        break;
      }
  }
  if (all.empty()) rank->longest_region = 0;
}

}  // namespace

void report_changed(Rank* rank, const CallRecord& operation) {
  std::vector<findings::Participant> calls = {participant(rank, operation)};
  if (const CallRecord* call = call_here(rank))
    calls.push_back(participant(rank, *call, "completed it"));
  report(FindingKind::kBuffers,
         "a buffer was changed before the operation that reads it was complete",
         "an operation's buffer is left alone until the operation is complete", std::move(calls));
}

namespace {

void begin_one(Rank* rank, int request, Region* r) {
  r->begun = true;
  add_pending(rank, request, r);
  if (!r->writes && is_known(*r) && g_process.wants(FindingKind::kBuffers))
    r->checksum = checksum(*r);
}

void end_one(Rank* rank, int request, const RequestOperation& operation, Region* r) {
  r->begun = false;
  // A store that was seen has been reported already, with its line.
  if (request && !operation.touched && !r->writes && is_known(*r) &&
      g_process.wants(FindingKind::kBuffers) && checksum(*r) != r->checksum)
    report_changed(rank, operation.call);
  drop_pending(rank, *r);
}

}  // namespace

bool may_meet_pending(const Rank& rank, const Regions& regions) {
  if (rank.regions.empty()) return false;
  return std::any_of(regions.begin(), regions.end(),
                     [&](const Region& r) { return meets_pending(rank, r.low, r.high, r.writes); });
}

void begin_regions(Rank* rank, int request, RequestOperation* operation) {
  operation->released = operation->touched = false;
  if (operation->call->info().role == CallRole::kPartitionedSend) return;
  for (Region& r : operation->regions) begin_one(rank, request, &r);
  if (rank->owned) rank->owned->add(operation);
  if (rank->order) begin_threaded_use(rank, *operation);
}

void check_started_buffers(CheckedCall* call, const RequestOperation& operation) {
  const CallRecord& made = operation.call;
  if (made.info().role == CallRole::kPartitionedSend) return;
  for (const Region& r : operation.regions) check_pending_regions(call, r, &made);
}

void end_regions(Rank* rank, int request, RequestOperation* operation) {
  if (!operation->active) return;
  if (operation->released) {  // by another thread's flush, perhaps
    if (rank->order) rank->order->end_use_again(operation);
    return;
  }
  operation->released = true;
  if (rank->owned) rank->owned->remove(operation);
  if (rank->order) end_threaded_use(rank, *operation);
  for (Region& r : operation->regions)
    if (r.begun) end_one(rank, request, *operation, &r);
}

void begin_region(CheckedCall* call, int request, RequestOperation* operation, Region* region) {
  if (region->begun) return;
  Rank* rank = call->rank();
  check_pending_regions(call, *region);
  begin_one(rank, request, region);
  if (rank->owned) rank->owned->add(operation, *region);
}

void end_region(Rank* rank, int request, RequestOperation* operation, Region* region) {
  if (!region->begun) return;
  if (rank->owned) rank->owned->remove(*region);
  end_one(rank, request, *operation, region);
}

}  // namespace fgmpi::check
