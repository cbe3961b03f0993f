// Which stacks are packed when, and how. See packing.h.

#include "proclet-sched/coroutine/packing.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/counters.h"
#include "base/page.h"
#include "base/settings.h"
#include "proclet-sched/coroutine/debug_table.h"
#include "proclet-sched/coroutine/jump.h"
#include "proclet-sched/coroutine/limits.h"
#include "proclet-sched/coroutine/pack_pool.h"

namespace fgmpi::sched {
namespace {

// The constants are newer than this system's headers.
constexpr int kMadvInstallGuard = 102;  // MADV_GUARD_INSTALL
constexpr int kMadvRemoveGuard = 103;   // MADV_GUARD_REMOVE

/// So many stacks may be resident in any case, by the mode: 16 MiB; with "on" few; with "always"
/// more than are visited at a time, so that the stack that has just become resident stays so.
constexpr uint32_t kLeastResident[] = {4096, 32, 0, 8};
/// Visits for each stack that becomes resident: to mark one, to pack another, and as many to become
/// fewer.
constexpr uint32_t kVisitsPerStack = 4;
/// Visits of one call of the trimmer.
constexpr uint32_t kVisitsPerTrim = 2048;
/// Visits of an idle process between two polls.
constexpr uint32_t kVisitsWhileIdle = 64;
/// The process looks at its page faults once in so many polls: in 256 switches.
constexpr uint32_t kPollsPerLook = 4;
/// The memory that is left is read once in so many faults, 4 MiB of pages, or when one part in
/// kReadingShare of what may be used yet has been used: many processes may use it at once.
constexpr int64_t kLeastFaults = 1024, kReadingShare = 64;
/// Stacks that a process without memory to spare visits for each page that it has touched: packing
/// one gives back a page or more.
constexpr int64_t kVisitsPerFault = 2;
/// Memory is short when less than 1 in so many bytes is left of what was when ranks were created.
constexpr int64_t kShortPart = 8;
/// The unit of time, by the clock's bits: 2^27 ns. It is read once in so many stacks that become
/// resident.
constexpr int kTimeBits = 27;
constexpr uint32_t kStacksPerTime = 256;
/// A marked rank has waited for long after so many units: 0.13 to 0.27 s.
constexpr uint16_t kLongWait = 2;

enum class PackMode : uint8_t { kAuto, kOn, kOff, kAlways };
static_assert(settings::has_choices(settings::kPackStacks, "auto|on|off|always"));

/// What the packer keeps of a rank, in one word: two bits of kind, and
///   kMarked   the context that was moved aside, and in the upper 16 bits when
///   kPacked   the address of its PackedStack
class PackWord {
 public:
  enum Kind : uint64_t { kResident, kMarked, kPacked, kKept };
  Kind kind() const { return static_cast<Kind>(word_ & 3); }
  void set(Kind kind) { word_ = kind; }
  void set(Kind kind, const void* address, uint16_t time = 0) {
    word_ = kind | reinterpret_cast<uint64_t>(address) | uint64_t{time} << 48;
  }
  template <class T>
  T* address() const {
    return reinterpret_cast<T*>(word_ & 0xfffffffffffcull);
  }
  uint16_t time() const { return static_cast<uint16_t>(word_ >> 48); }

 private:
  uint64_t word_ = 0;
};
static_assert(sizeof(PackWord) == 8, "read by the debugger script");

/// What is packed: this header, the bytes of the stack from `context` up, and those of the image.
struct PackedStack {
  char* context;
  uint32_t bytes;
  uint32_t rank;
  uint32_t image_bytes;
  bool has_image;
  char* data() { return reinterpret_cast<char*>(this + 1); }
  size_t size() const { return sizeof *this + bytes + image_bytes; }
};

/// The most bytes of a packed image.
constexpr size_t kMostImageBytes = PackPool::kMost - sizeof(PackedStack) - kMostPacked;

struct Packer {
  PackMode mode = PackMode::kOff;
  bool allowed = false;
  bool active = false;
  bool is_short = false;  ///< memory; always with kAlways
  uint16_t time = 0;      ///< counts calls of the trimmer
  uint32_t least_resident = 0;
  uint32_t count = 0;  ///< ranks that may be packed: 0 to count - 1
  uint32_t until_time = 0, until_look = 0;
  int64_t faults = 0;         ///< of this process, at the last look
  int64_t until_reading = 0;  ///< faults before the memory that is left is read again
  uint32_t visits_left = 0;   ///< that an idle process may make before the next call of the trimmer
  bool refused = false;       ///< the kernel has refused guard pages: memory is locked, say
  bool changed = false;       ///< since then, a stack has been marked or packed
  uint32_t resident = 0, packed = 0;
  uint64_t blocks = 0;  ///< bytes of them
  int64_t memory_at_start = 0, memory_left = 0;
  // By rank, in one mapping: of both only touched pages exist.
  PackWord* words = nullptr;
  /// The list of the ranks whose stacks are resident, the one that has become so first at `head`.
  /// Ranks that have ended, or are kept, are in it until they are visited.
  uint32_t* next = nullptr;
  uint32_t head = kNone, tail = kNone;
  PackPool pool;
  ImagePacker image{};

  static constexpr uint32_t kNone = ~uint32_t{0};
  void push(uint32_t rank) {
    next[rank] = kNone;
    (head == kNone ? head : next[tail]) = rank;
    tail = rank;
  }
  uint32_t pop() {
    const uint32_t rank = head;
    head = next[rank];
    return rank;
  }
};
/// The packed image of the rank that is being packed.
char g_image_bytes[kMostImageBytes];
constinit Immortal<Packer> g_immortal_packer;
constexpr Packer& g_packer = g_immortal_packer.value;

size_t bytes_of_words(uint32_t count) {
  return page_up(uint64_t{count} * (sizeof(PackWord) + sizeof(uint32_t)));
}

bool is_packable(const Proclet* p) {
  return p->kind == ProcletKind::kRank && g_packer.active && p->index < g_packer.count &&
         p == g_scheduler.ranks + p->index;
}

/// The pages that hold [context, top) of a rank's stack.
struct UsedPages {
  explicit UsedPages(const Proclet* p, const char* context)
      : first(reinterpret_cast<char*>(page_down(reinterpret_cast<uintptr_t>(context)))),
        bytes(static_cast<size_t>(p->stack_low + p->stack_size - first)) {}
  char* first;
  size_t bytes;
};

/// What is packed: the frames, and a record above them.
size_t used_bytes(const Proclet* p, const char* context) {
  const char* end = g_scheduler.places.record ? p->stack_low + p->stack_size : stack_top(p);
  return static_cast<size_t>(end - context);
}

/// May the stack of this rank, which has begun, be packed now?
bool may_pack(const Proclet* p, const char* context) {
  if (p->state != ProcletState::kParked && p->state != ProcletState::kReady) return false;
  if (p == g_hot.current || p == g_scheduler.finished || p->callbacks > 0) return false;
  if (context < p->stack_low || context >= stack_top(p) || used_bytes(p, context) > kMostPacked)
    return false;
  return p->wait && p->wait->deadlocks;
}

/// Moves a pointer between the stack, whose bytes in use are at `from`, and its copy at `to`.
void move_wait(Proclet* p, const char* from, const char* to, size_t bytes) {
  const auto offset = static_cast<size_t>(reinterpret_cast<const char*>(p->wait) - from);
  if (p->wait && offset < bytes) p->wait = reinterpret_cast<const WaitSite*>(to + offset);
}

/// Copies what is to be packed of a rank into a block; nullptr: there is no room. `context`
/// nullptr: its image only.
PackedStack* make_block(const Proclet* p, char* context) {
  const size_t bytes = context ? used_bytes(p, context) : 0;
  const int64_t size =
      g_packer.image.pack ? g_packer.image.pack(p, g_image_bytes, kMostImageBytes) : -1;
  const size_t image_bytes = size > 0 ? static_cast<size_t>(size) : 0;
  void* memory = g_packer.pool.take(sizeof(PackedStack) + bytes + image_bytes);
  if (!memory) return nullptr;
  auto* block = new (memory) PackedStack{context, static_cast<uint32_t>(bytes), p->index,
                                         static_cast<uint32_t>(image_bytes), size >= 0};
  if (bytes > 0) memcpy(block->data(), context, bytes);
  memcpy(block->data() + bytes, g_image_bytes, image_bytes);
  return block;
}

void add_packed(Proclet* p, PackedStack* block) {
  g_packer.words[p->index].set(PackWord::kPacked, block);
  g_packer.changed = true;
  ++g_packer.packed;
  --g_packer.resident;
  g_packer.blocks += block->size();
}

/// Packs the stack and the image of a rank, which has no context in its proclet. False, with
/// nothing changed: there is no room, or the kernel refuses.
bool pack(Proclet* p, char* context) {
  PackedStack* block = make_block(p, context);
  if (!block) return false;
  const UsedPages used(p, context);
  // Pages below were used by calls that have returned.
  madvise(p->stack_low, static_cast<size_t>(used.first - p->stack_low), MADV_DONTNEED);
  if (!give_back_pages(used.first, used.bytes)) {
    g_packer.refused = true;
    memcpy(context, block->data(), block->bytes);
    g_packer.pool.give_back(block, block->size());
    return false;
  }
  block->has_image = block->has_image && g_packer.image.drop(p);
  move_wait(p, context, block->data(), block->bytes);
  add_packed(p, block);
  return true;
}

/// Packs the image of a rank that has ended: others may have pointers to its variables. False: it
/// has none, or it cannot be packed.
bool pack_after_end(Proclet* p) {
  PackedStack* block = make_block(p, nullptr);
  if (!block) return false;
  block->has_image = block->has_image && g_packer.image.drop(p);
  if (!block->has_image) {
    g_packer.pool.give_back(block, block->size());
    return false;
  }
  add_packed(p, block);
  return true;
}

void unpack_stack_of(Proclet* p, const PackedStack& block, const char* data) {
  FGMPI_CHECK(block.context > p->stack_low && block.bytes == used_bytes(p, block.context));
  const UsedPages used(p, block.context);
  reclaim_pages(used.first, used.bytes);
  memcpy(block.context, data, block.bytes);
  p->context = block.context;
  move_wait(p, data, block.context, block.bytes);
}

/// Unpacks the stack and the image; they are resident now, and in the list.
void unpack(Proclet* p) {
  PackWord& word = g_packer.words[p->index];
  auto* block = word.address<PackedStack>();
  FGMPI_CHECK(block->rank == p->index);
  if (block->context) unpack_stack_of(p, *block, block->data());
  if (block->has_image) g_packer.image.unpack(p, block->data() + block->bytes, block->image_bytes);
  word.set(PackWord::kResident);
  g_packer.blocks -= block->size();
  g_packer.pool.give_back(block, block->size());
  if (--g_packer.packed == 0) g_packer.pool.clear();
  ++g_packer.resident;
  g_packer.push(p->index);
}

/// Makes the stack of a rank resident, and its context that of its proclet.
void make_resident(Proclet* p) {
  PackWord& word = g_packer.words[p->index];
  if (word.kind() == PackWord::kPacked) return unpack(p);
  if (word.kind() != PackWord::kMarked) return;
  p->context = word.address<void>();
  word.set(PackWord::kResident);
}

enum class Visit : uint8_t { kDone, kEnough };

/// Visits the rank whose stack has been resident for longest: marks it, or packs it.
Visit visit_next() {
  const uint32_t index = g_packer.pop();
  Proclet* p = g_scheduler.ranks + index;
  PackWord& word = g_packer.words[index];
  const bool kept = word.kind() == PackWord::kKept;
  if (kept || p->state == ProcletState::kFinished) {
    if (kept || !pack_after_end(p)) --g_packer.resident;
    return Visit::kDone;
  }
  const bool marked = word.kind() == PackWord::kMarked;
  auto* const context = marked ? word.address<char>() : static_cast<char*>(p->context);
  const auto waited = static_cast<uint16_t>(g_packer.time - word.time());
  if (marked && !g_packer.is_short && waited < kLongWait) {
    g_packer.push(index);
    return Visit::kEnough;  // those behind it have waited for less
  }
  p->context = context;
  word.set(PackWord::kResident);
  if (may_pack(p, context)) {
    // Without memory to spare none is only marked first.
    if ((marked || g_packer.is_short) && pack(p, context)) {
      p->context = nullptr;
      return Visit::kDone;
    }
    word.set(PackWord::kMarked, context, g_packer.time);
    p->context = nullptr;
    g_packer.changed = true;
  }
  g_packer.push(index);
  return Visit::kDone;
}

/// Makes at most so many visits, until no stack is left that has waited for long.
void visit(uint32_t most) {
  if (threads_enabled()) return;
  most = std::min(most, g_packer.resident);
  for (uint32_t i = 0; i < most && g_packer.resident > g_packer.least_resident; ++i) {
    if (visit_next() == Visit::kEnough) {
      g_packer.visits_left = 0;
      return;
    }
  }
}

bool wants_fewer() {
  return g_packer.resident > g_packer.least_resident && !g_packer.refused &&
         (g_packer.is_short || g_packer.mode == PackMode::kOn);
}

void read_memory_left() {
  if (g_packer.mode == PackMode::kAlways) return;
  const int64_t left = g_packer.memory_left = memory_left();
  const int64_t enough = g_packer.memory_at_start / kShortPart;
  g_packer.is_short = left >= 0 && left < enough;
  g_packer.until_reading =
      std::max(kLeastFaults, (left - enough) / kReadingShare / static_cast<int64_t>(page_bytes()));
}

/// The page faults of this process so far: no memory is touched first without one.
int64_t count_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// Has half of the memory been used that there was at the start? Then others may need what this
/// process could give back, so that it looks at times even while it is idle.
bool is_half_used() {
  return g_packer.mode == PackMode::kAuto && g_packer.memory_left >= 0 &&
         g_packer.memory_left < g_packer.memory_at_start / 2;
}

void read_time() { g_packer.time = static_cast<uint16_t>(now_ns() >> kTimeBits); }

/// Called when a stack has become resident, and nothing uses the stacks of other ranks.
void make_room() {
  if (--g_packer.until_time == 0) {
    g_packer.until_time = kStacksPerTime;
    read_time();
  }
  if (wants_fewer()) visit(kVisitsPerStack);
}

}  // namespace

bool give_back_pages(char* first, size_t bytes) {
  if (madvise(first, bytes, kMadvInstallGuard) == 0) return true;
  madvise(first, bytes, kMadvRemoveGuard);
  return false;
}

void reclaim_pages(char* first, size_t bytes) {
  FGMPI_CHECK(madvise(first, bytes, kMadvRemoveGuard) == 0);
}

void set_image_packer(const ImagePacker& packer) { g_packer.image = packer; }

bool packing_is_possible() {
#ifdef FGMPI_SANITIZE
  return false;
#else
  if (settings::choice<PackMode>(settings::kPackStacks) == PackMode::kOff ||
      annotate::under_valgrind())
    return false;
  void* page =
      mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  // An emulator of processes accepts any advice, and does nothing.
  constexpr int kNoAdvice = -1;
  const bool can = madvise(page, page_bytes(), kNoAdvice) != 0 &&
                   madvise(page, page_bytes(), kMadvInstallGuard) == 0;
  munmap(page, page_bytes());
  return can;
#endif
}

bool packing_is_asked_for() {
  return settings::choice<PackMode>(settings::kPackStacks) != PackMode::kAuto &&
         packing_is_possible();
}

void allow_packing() { g_packer.allowed = true; }
bool packing_is_allowed() { return g_packer.allowed; }

void begin_packing(uint32_t ranks) {
  end_packing();
  g_packer.mode = settings::choice<PackMode>(settings::kPackStacks);
  const uint32_t least = kLeastResident[static_cast<size_t>(g_packer.mode)];
  if (!g_packer.allowed || g_scheduler.places.in_file || ranks <= least || !packing_is_possible() ||
      g_scheduler.stacks.guard() != StackGuard::kGuardPages)
    return;
  void* words = mmap(nullptr, bytes_of_words(ranks), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (words == MAP_FAILED) return;
  if (!g_packer.pool.reserve(uint64_t{ranks} * PackPool::kMost)) {
    munmap(words, bytes_of_words(ranks));
    return;
  }
  g_packer.count = ranks;
  g_packer.least_resident = least;
  g_packer.is_short = g_packer.mode == PackMode::kAlways;
  g_packer.words = static_cast<PackWord*>(words);
  g_packer.next = reinterpret_cast<uint32_t*>(g_packer.words + ranks);
  g_packer.head = g_packer.tail = Packer::kNone;
  g_packer.resident = g_packer.packed = 0;
  g_packer.refused = false;
  g_packer.until_time = kStacksPerTime;
  g_packer.until_look = kPollsPerLook;
  g_packer.faults = count_faults();
  read_time();
  g_packer.memory_at_start = g_packer.memory_left = memory_left();
  g_packer.until_reading = kLeastFaults;
  g_packer.active = true;
  fgmpi_debug_table.pack_words = reinterpret_cast<const uint64_t*>(words);
  add_trimmer(pack_cold_stacks);
}

void end_packing() {
  if (!g_packer.active) return;
  g_packer.active = false;
  fgmpi_debug_table.pack_words = nullptr;
  munmap(g_packer.words, bytes_of_words(g_packer.count));
  g_packer.pool.release();
}

void record_first_run(const Proclet* p) {
  if (!is_packable(p)) return;
  if (g_packer.words[p->index].kind() == PackWord::kKept) return;
  ++g_packer.resident;
  g_packer.push(p->index);
  make_room();
}

bool restore_context(Proclet* p) {
  if (!is_packable(p)) return false;
  const PackWord::Kind kind = g_packer.words[p->index].kind();
  if (kind != PackWord::kMarked && kind != PackWord::kPacked) return false;
  make_resident(p);
  if (kind == PackWord::kPacked) make_room();
  return true;
}

bool has_begun(const Proclet* rank) {
  if (rank->context) return true;
  if (!is_packable(rank)) return false;
  const PackWord::Kind kind = g_packer.words[rank->index].kind();
  return kind == PackWord::kMarked || kind == PackWord::kPacked;
}

void unpack_stack(const Proclet* rank) {
  if (!is_packable(rank) || g_packer.words[rank->index].kind() != PackWord::kPacked) return;
  unpack(g_scheduler.ranks + rank->index);
  if (wants_fewer()) visit(kVisitsPerStack);
}

namespace {
/// The number of the rank that has the memory at this address, or -1.
int64_t rank_of_memory(const void* address, bool stack_too) {
  bool in_guard = false;
  const int64_t rank = stack_too ? g_scheduler.stacks.slot_of(address, &in_guard) : -1;
  if (rank >= 0) return in_guard ? -1 : rank;
  return g_packer.image.rank_of ? g_packer.image.rank_of(address) : -1;
}
}  // namespace

bool unpack_at_fault(const void* address) {
  if (g_packer.packed == 0) return false;
  const int64_t rank = rank_of_memory(address, true);
  if (rank < 0 || g_packer.words[rank].kind() != PackWord::kPacked) return false;
  const int saved_errno = errno;
  unpack(g_scheduler.ranks + rank);
  // Whoever accesses the memory of many ranks, one after the other, would make all of them
  // resident. The one of `rank` is the last that is packed again.
  if (wants_fewer()) visit(kVisitsPerStack);
  errno = saved_errno;
  return true;
}

void unpack_all() {
  for (uint32_t i = 0; i < g_packer.count && g_packer.packed > 0; ++i)
    if (g_packer.words[i].kind() == PackWord::kPacked) unpack(g_scheduler.ranks + i);
}

void keep_unpacked(const void* memory, uint64_t bytes) {
  if (!g_packer.active) return;
  if (!memory) {
    if (current()) keep_unpacked(current());
    return;
  }
  const int64_t rank = rank_of_memory(memory, bytes <= kMostPacked);
  if (rank >= 0) keep_unpacked(g_scheduler.ranks + rank);
}

void keep_unpacked(const Proclet* rank) {
  if (!is_packable(rank)) return;
  make_resident(g_scheduler.ranks + rank->index);
  g_packer.words[rank->index].set(PackWord::kKept);
}

void look_at_memory() {
  if (!g_packer.active || (--g_packer.until_look > 0 && !g_packer.is_short)) return;
  g_packer.until_look = kPollsPerLook;
  const int64_t faults = count_faults() - g_packer.faults;
  g_packer.faults += faults;
  g_packer.until_reading -= faults;
  if (g_packer.until_reading <= 0) read_memory_left();
  if (wants_fewer())
    visit(static_cast<uint32_t>(std::min<int64_t>(faults * kVisitsPerFault, kVisitsPerTrim)));
}

bool pack_cold_stacks() {
  if (!g_packer.active) return false;
  read_time();
  if (g_packer.resident > g_packer.least_resident && g_packer.mode != PackMode::kAlways)
    read_memory_left();
  const bool any_before = std::exchange(g_packer.changed, false);
  if (!wants_fewer()) return g_packer.resident > g_packer.least_resident && is_half_used();
  g_packer.visits_left = 2 * g_packer.resident;
  visit(kVisitsPerTrim);
  return any_before || g_packer.changed;
}

bool pack_while_idle() {
  if (g_packer.visits_left == 0 || !wants_fewer()) return false;
  const uint32_t now = std::min(g_packer.visits_left, kVisitsWhileIdle);
  g_packer.visits_left -= now;
  visit(now);
  return g_packer.visits_left > 0;
}

uint64_t packed_stacks() { return g_packer.packed; }
uint64_t packed_bytes() { return g_packer.blocks; }

namespace {
[[maybe_unused]] const bool g_provided =
    (counters::provide(counters::kPackedStacks, [](const void*) { return packed_stacks(); }),
     counters::provide(counters::kPackedBytes, [](const void*) { return packed_bytes(); }), true);
}  // namespace

}  // namespace fgmpi::sched
