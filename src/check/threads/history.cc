// What strands have done with memory: their accesses, and the calls of MPI that have used it.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "check/threads/strands.h"

namespace fgmpi::check {

// ---- AccessHistory ------------------------------------------------------------------------------
std::array<uint64_t, AccessHistory::kCells>* AccessHistory::cells_of(uintptr_t address, bool make,
                                                                     LastPage* last) {
  const uintptr_t number = address >> kPageBits;
  if (number != last->number || !last->page) {
    const auto found = pages_.find(number);
    if (found == pages_.end() && (!make || pages_.size() >= kMostPages)) return nullptr;
    last->page = found != pages_.end() ? found->second.get()
                                       : (pages_[number] = std::make_unique<Page>()).get();
    last->number = number;
  }
  return &(*last->page)[(address >> kWordBits) % last->page->size()];
}

template <class F>
void AccessHistory::for_each_word(uintptr_t low, uintptr_t high, F&& f) {
  constexpr uintptr_t kWord = 1u << kWordBits, kPage = uintptr_t{1} << kPageBits;
  for (uintptr_t page = low >> kPageBits; page <= (high - 1) >> kPageBits; ++page) {
    const auto found = pages_.find(page);
    if (found == pages_.end()) continue;
    const uintptr_t first = std::max(low / kWord * kWord, page * kPage);
    for (uintptr_t at = first; at < std::min(high, (page + 1) * kPage); at += kWord)
      f(at, (*found->second)[(at >> kWordBits) % found->second->size()]);
  }
}

void AccessHistory::forget(uintptr_t low, uintptr_t high) {
  for_each_word(low, high, [](uintptr_t, auto& cells) { cells = {}; });
}

namespace {

using HistoryCell = AccessHistory::HistoryCell;

HistoryCell cell_of(uint64_t bits) {
  HistoryCell cell;
  std::memcpy(&cell, &bits, sizeof cell);
  return cell;
}

uint64_t bits_of(const HistoryCell& cell) {
  uint64_t bits;
  std::memcpy(&bits, &cell, sizeof bits);
  return bits;
}

StrandEvent event_of(const HistoryCell& cell) {
  return {static_cast<uint8_t>(cell.strand), static_cast<LockSet>(cell.locks),
          static_cast<uint32_t>(cell.count)};
}

constexpr uintptr_t kWord = 4;

/// The bytes of the word that are in [low, high).
unsigned bytes_in(uintptr_t word, uintptr_t low, uintptr_t high) {
  unsigned bytes = 15;
  if (low > word) bytes &= 15u << (low - word);
  if (high < word + kWord) bytes &= 15u >> (word + kWord - high);
  return bytes & 15;
}

bool is_private(const Strand& me, uintptr_t low, uintptr_t frame) {
  return low < me.private_end && low >= frame;
}

/// f(low, high) for each piece of a region whose bytes are known.
template <class F>
void for_each_piece(const Region& r, F&& f) {
  const auto low = reinterpret_cast<uintptr_t>(r.low), high = reinterpret_cast<uintptr_t>(r.high);
  if (r.exact) return low < high ? f(low, high) : void();
  for (const ByteBlock& b : r.blocks) {
    const auto at = reinterpret_cast<uintptr_t>(r.base + b.offset);
    if (b.bytes > 0) f(at, at + static_cast<uintptr_t>(b.bytes));
  }
}

/// Does the use have any of these bytes?
bool meets(const StrandUse& use, uintptr_t low, uintptr_t high) {
  if (use.low >= high || low >= use.high) return false;
  if (use.blocks.empty()) return true;
  const auto base = reinterpret_cast<uintptr_t>(use.base);
  return std::any_of(use.blocks.begin(), use.blocks.end(), [&](const ByteBlock& b) {
    const uintptr_t at = base + static_cast<uintptr_t>(b.offset);
    return at < high && low < at + static_cast<uintptr_t>(b.bytes);
  });
}

bool is_own(const Strand& me, const StrandEvent& event) {
  return event.strand == me.number && event.count >= me.first;
}

bool has_known_bytes(const Region& r) { return r.exact || !r.blocks.empty(); }

/// The run that the strand's accesses from the place are in.
AccessSpan& run_of(Strand* me, const void* place) {
  const auto at = reinterpret_cast<uintptr_t>(place);
  return me->runs[(at ^ at >> 4) % Strand::kRuns];
}

constexpr uintptr_t kMostRun = 16384;
constexpr size_t kMostUses = 256;
constexpr size_t kMostConflicts = 4;

}  // namespace

uint32_t ThreadOrder::number_of_place(Strand* me, const void* place) {
  constexpr size_t kMostPlaces = size_t{1} << 22;
  const size_t at = (reinterpret_cast<uintptr_t>(place) >> 1) % std::size(me->shown_place);
  if (me->shown_place[at] == place) return me->shown_number[at];
  auto [found, fresh] = place_numbers_.try_emplace(place, static_cast<uint32_t>(places_.size()));
  if (fresh && places_.size() < kMostPlaces) places_.push_back(place);
  const uint32_t number = found->second < places_.size() ? found->second : 0;
  me->shown_place[at] = place;
  return me->shown_number[at] = number;
}

void ThreadOrder::read_from(Strand* me, const HistoryCell& cell) {
  if (cell.strand == me->number || !cell.writes) return;
  // What a mutex protects tells this strand that the other came first.
  if (cell.count <= me->offered.of(cell.strand) &&
      !knows(*me, me->knows.firm, cell.strand, cell.count))
    me->knows.firm.learn(me->offered);
}

void ThreadOrder::read_before_fence(Strand* me) {
  // A store behind a fence, and a load before one, as `omp flush` makes them. The words are looked
  // at now because a load is told before it happens.
  for (uintptr_t word : me->read) {
    const auto* cells = word ? history_.cells_of(word, false, &me->last_page) : nullptr;
    if (!cells) continue;
    for (uint64_t bits : *cells) {
      const HistoryCell cell = cell_of(bits);
      const auto& fences = fences_[cell.strand];
      if (!cell.writes || cell.strand == me->number || fences.empty()) continue;
      const auto before = std::ranges::find_if(
          fences, [&](const Fence& fence) { return fence.count < cell.count; });
      // The last ones may all be later than the store.
      if (before != fences.end())
        me->next_fence.learn(before->knew);
      else if (fences.size() == kMostFences)
        me->next_fence.learn(fences.front().knew);
    }
  }
}

void ThreadOrder::record_word(Strand* me, uintptr_t word, unsigned bytes, bool writes,
                              uint32_t place) {
  auto* cells = history_.cells_of(word, true, &me->last_page);
  if (!cells) return;
  if (!writes && any_fence_) me->read[me->next_read++ % std::size(me->read)] = word;
  uint64_t *own = nullptr, *free = nullptr;
  for (uint64_t& bits : *cells) {
    const HistoryCell cell = cell_of(bits);
    if (cell.count == 0) {
      if (!free) free = &bits;
      continue;
    }
    if (!writes && (cell.bytes & bytes)) read_from(me, cell);
    const bool mine = is_own(*me, event_of(cell));
    if (mine && cell.writes == writes) own = &bits;
    // An access that comes before this one in every run, and does no more, may be replaced.
    if (!free && (writes || !cell.writes) && (cell.bytes & ~bytes) == 0 &&
        (mine || knows(*me, me->knows.firm, cell.strand, static_cast<uint32_t>(cell.count))))
      free = &bits;
  }
  if (own) {
    const HistoryCell cell = cell_of(*own);
    const bool same = cell.count == me->now && cell.locks == me->lock_set;
    if (same && (cell.bytes & bytes) == bytes) return;
    if (same) bytes |= cell.bytes;
    free = own;
  }
  if (!free) free = &(*cells)[me->number % AccessHistory::kCells];
  *free = bits_of({writes, bytes & 15, me->lock_set, me->number, me->now, place});
}

StrandUse ThreadOrder::record_access(const access::ProgramAccess& a, uintptr_t frame) {
  std::lock_guard guard(lock_);
  Strand* me = active_ ? here() : nullptr;
  if (!me || me->now >= kMostCount || is_private(*me, a.address, frame)) return {};
  const uintptr_t low = a.address, high = a.address + a.bytes;
  const StrandUse* use = find_conflict(*me, low, high, a.writes);
  add_to_run(me, a);
  if (use) return *use;
  find_clear(me, low, high);
  return {};
}

bool ThreadOrder::join_run(const access::ProgramAccess& a, uintptr_t frame) {
  Strand* me = running();
  const uintptr_t high = a.address + a.bytes;
  if (!me || a.address < me->clear.low || high > me->clear.high ||
      me->clear.uses != uses_changes_.load(std::memory_order_relaxed) ||
      me->clear.owned != rank_->owned->changes())
    return false;
  if (is_private(*me, a.address, frame)) return true;
  AccessSpan& run = run_of(me, a.place);
  if (run.place != a.place || run.writes != a.writes || run.reads != a.reads) return false;
  if (a.address >= run.low && high <= run.high) return true;
  if (a.address != run.high || high - run.low > kMostRun) return false;
  run.high = high;
  return true;
}

void ThreadOrder::add_to_run(Strand* me, const access::ProgramAccess& a) {
  constexpr uintptr_t kMostBytes = uintptr_t{1} << 26;
  const uintptr_t high = a.address + a.bytes;
  if (a.bytes > kMostBytes) return;
  AccessSpan& run = run_of(me, a.place);
  if (run.place == a.place && run.writes == a.writes && run.reads == a.reads &&
      a.address >= run.low && a.address <= run.high && high - run.low <= kMostRun) {
    run.high = std::max(run.high, high);
    return;
  }
  end_run(me, &run);
  run = {a.place, a.address, high, a.function, a.writes, a.reads, forgotten_};
  me->any_run = true;
}

void ThreadOrder::end_run(Strand* me, AccessSpan* run) {
  if (!run->place) return;
  const AccessSpan ended = std::exchange(*run, {});
  if (me->now >= kMostCount || forgotten_ - ended.since > kMostForgotten) return;
  // The parts of the run whose memory has had no new owner.
  std::vector<ForgottenMemory> parts = {{ended.low, ended.high}};
  for (uint64_t i = ended.since; i < forgotten_; ++i) {
    const ForgottenMemory& gone = last_forgotten_[i % kMostForgotten];
    for (size_t k = 0, n = parts.size(); k < n; ++k) {
      ForgottenMemory& part = parts[k];
      if (gone.high <= part.low || part.high <= gone.low) continue;
      if (gone.high < part.high) parts.push_back({gone.high, part.high});
      parts[k].high = std::max(parts[k].low, gone.low);
    }
  }
  for (const ForgottenMemory& part : parts)
    if (part.low < part.high) record_range(me, ended, part.low, part.high);
}

void ThreadOrder::record_range(Strand* me, const AccessSpan& run, uintptr_t low, uintptr_t high) {
  const uint32_t place = number_of_place(me, run.place);
  for (uintptr_t word = low / kWord * kWord; word < high; word += kWord) {
    const unsigned bytes = bytes_in(word, low, high);
    if (run.reads) record_word(me, word, bytes, false, place);
    if (run.writes) record_word(me, word, bytes, true, place);
  }
  // A call that has begun since the access was compared.
  if (const StrandUse* use = find_conflict(*me, low, high, run.writes))
    record_late_conflict(rank_, {low, high - low, run.writes, run.reads, run.function, run.place},
                         *use);
}

void ThreadOrder::settle(Strand* me) {
  if (!me || !me->any_run) return;
  me->any_run = false;
  for (AccessSpan& run : me->runs) end_run(me, &run);
}

void ThreadOrder::settle() { settle(running()); }

bool ThreadOrder::conflicts_with(const Strand& me, const StrandUse& use, bool writes) const {
  return (writes || use.writes) && !is_own(me, use.event) &&
         (use.open || is_unordered(me, use.event, me.lock_set));
}

const StrandUse* ThreadOrder::find_conflict(const Strand& me, uintptr_t low, uintptr_t high,
                                            bool writes) const {
  if (low >= uses_high_ || high <= uses_low_) return nullptr;
  for (const StrandUse& use : uses_)
    if (meets(use, low, high) && conflicts_with(me, use, writes)) return &use;
  return nullptr;
}

void ThreadOrder::find_clear(Strand* me, uintptr_t low, uintptr_t high) {
  // The search costs as much as some accesses.
  constexpr uint32_t kFewCompared = 8;
  if (++me->compared < kFewCompared) return;
  me->compared = 0;
  ClearMemory clear = {0, ~uintptr_t{0}, uses_changes_.load(std::memory_order_relaxed),
                       rank_->owned->changes()};
  const auto cut = [&](uintptr_t from, uintptr_t to) {
    if (to <= low)
      clear.low = std::max(clear.low, to);
    else
      clear.high = std::min(clear.high, std::max(from, low));
  };
  for (const StrandUse& use : uses_)
    if (conflicts_with(*me, use, true)) cut(use.low, use.high);
  if (!rank_->owned->cut_clear(low, &clear.low, &clear.high) || clear.high < high) return;
  me->clear = clear;
}

void ThreadOrder::forget_memory(uintptr_t low, uintptr_t high) {
  if (!active_) return;
  std::lock_guard guard(lock_);
  settle();
  forget_locked(low, high);
}

void ThreadOrder::forget_locked(uintptr_t low, uintptr_t high) {
  history_.forget(low, high);
  last_forgotten_[forgotten_++ % kMostForgotten] = {low, high};
  std::erase_if(
      uses_, [&](const StrandUse& use) { return !use.open && use.low < high && low < use.high; });
}

std::vector<StrandConflict> ThreadOrder::conflicts_of(const Strand& me, LockSet locks,
                                                      const void* of, const Region& r) {
  std::vector<StrandConflict> found;
  auto add = [&](StrandConflict conflict) {
    const bool twice = std::any_of(found.begin(), found.end(), [&](const StrandConflict& c) {
      return conflict.place ? c.place == conflict.place
                            : !c.place && c.call.site == conflict.call.site;
    });
    if (!twice && found.size() < kMostConflicts) found.push_back(std::move(conflict));
  };
  for_each_piece(r, [&](uintptr_t low, uintptr_t high) {
    history_.for_each_word(low, high, [&](uintptr_t word, auto& cells) {
      for (uint64_t bits : cells) {
        const HistoryCell cell = cell_of(bits);
        if (cell.count && (cell.writes || r.writes) && (cell.bytes & bytes_in(word, low, high)) &&
            is_unordered(me, event_of(cell), locks))
          add({places_[cell.place], cell.writes != 0, r.writes, {}, false});
      }
    });
    for (const StrandUse& use : uses_)
      if ((r.writes || use.writes) && !(use.open && use.of == of) && meets(use, low, high) &&
          !is_own(me, use.event) && (use.open || is_unordered(me, use.event, locks)))
        add({nullptr, use.writes, r.writes, use.call, use.open});
  });
  return found;
}

std::vector<StrandConflict> ThreadOrder::begin_use(const void* of, const Regions& regions,
                                                   const CallRecord& call, bool blocks,
                                                   uintptr_t frame) {
  std::lock_guard guard(lock_);
  std::vector<StrandConflict> found;
  settle();
  Strand* me = active_ ? here() : nullptr;
  if (!me) return found;
  begun_[of] = me->event();
  for (const Region& r : regions) {
    if (!has_known_bytes(r) || is_private(*me, reinterpret_cast<uintptr_t>(r.low), frame)) continue;
    std::ranges::move(conflicts_of(*me, me->lock_set, of, r), std::back_inserter(found));
    if (blocks) add_use(of, r, call, me->event(), true);
  }
  return found;
}

void ThreadOrder::add_use(const void* of, const Region& r, const CallRecord& call,
                          const StrandEvent& event, bool open) {
  StrandUse use;
  use.low = reinterpret_cast<uintptr_t>(r.low);
  use.high = reinterpret_cast<uintptr_t>(r.high);
  if (use.low >= use.high) return;
  use.writes = r.writes;
  use.open = open;
  use.event = event;
  use.of = of;
  use.base = r.base;
  if (!r.exact) use.blocks = r.blocks;
  use.call = call;
  if (uses_.size() >= kMostUses) {
    const auto oldest =
        std::find_if(uses_.begin(), uses_.end(), [](const StrandUse& u) { return !u.open; });
    if (oldest != uses_.end()) uses_.erase(oldest);
  }
  if (uses_.empty()) uses_low_ = ~uintptr_t{0}, uses_high_ = 0;
  uses_low_ = std::min(uses_low_, use.low);
  uses_high_ = std::max(uses_high_, use.high);
  uses_.push_back(std::move(use));
  uses_changes_.fetch_add(1, std::memory_order_relaxed);
}

std::vector<StrandConflict> ThreadOrder::end_use(const void* of, const Regions& regions,
                                                 const CallRecord& call, uintptr_t frame) {
  std::lock_guard guard(lock_);
  std::vector<StrandConflict> found;
  settle();
  std::erase_if(uses_, [&](const StrandUse& use) { return use.of == of && use.open; });
  const auto begun = begun_.find(of);
  Strand* me = active_ ? here() : nullptr;
  if (me) {
    StrandEvent end = me->event();
    end.locks = begun == begun_.end() ? 0 : held_since(*me, begun->second);
    for (const Region& r : regions) {
      if (!has_known_bytes(r) || is_private(*me, reinterpret_cast<uintptr_t>(r.low), frame))
        continue;
      // Mutexes that were held at the begin only do not protect the whole of the use.
      if (begun != begun_.end() && begun->second.locks != end.locks)
        std::ranges::move(conflicts_of(*me, end.locks, of, r), std::back_inserter(found));
      add_use(of, r, call, end, false);
    }
  }
  if (begun != begun_.end()) begun_.erase(begun);
  return found;
}

void ThreadOrder::end_use_again(const void* of) {
  std::lock_guard guard(lock_);
  settle();
  const Strand* me = active_ ? here() : nullptr;
  if (!me) return;
  for (StrandUse& use : uses_)
    if (use.of == of && !use.open) use.event = me->event();
  uses_changes_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace fgmpi::check
