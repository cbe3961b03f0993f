// The run-time library of mpicc -check against naive models: which accesses reach the checker, what
// the wrappers of the C library's functions report, and what atomic operations do.
//
// This program plays the checker. Its own calls of the C library are wrapped as a program's are, so
// accesses are recorded only during the call under test.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <type_traits>

#include "gcc/access/look.h"

namespace {

using fgmpi::access::AccessView;
using fgmpi::access::g_view;
using fgmpi::access::granule;
using fgmpi::access::is_poll;
using fgmpi::access::kGranules;
using fgmpi::access::kMost;
using fgmpi::access::ProgramAccess;

ProgramAccess g_seen[8];
int g_count = 0;
bool g_records = false;
bool g_touches_answer = false;

}  // namespace

extern "C" {
[[gnu::visibility("default")]] void fgmpi_check_access(AccessView*, const ProgramAccess* access) {
  if (g_records && g_count < 8) g_seen[g_count++] = *access;
}
[[gnu::visibility("default")]] bool fgmpi_check_touches(AccessView*, uintptr_t, size_t, bool) {
  return g_touches_answer;
}

#define DECLARE(bytes)                       \
  void __tsan_read##bytes(void*);            \
  void __tsan_write##bytes(void*);           \
  void __tsan_unaligned_read##bytes(void*);  \
  void __tsan_unaligned_write##bytes(void*); \
  void __tsan_volatile_read##bytes(void*);   \
  void __tsan_volatile_write##bytes(void*);
DECLARE(1) DECLARE(2) DECLARE(4) DECLARE(8) DECLARE(16) void __tsan_read_range(void*, size_t);
void __tsan_write_range(void*, size_t);
void __tsan_vptr_read(void**);
void __tsan_vptr_update(void**, void*);
int fgmpi_access_touches(uintptr_t low, size_t bytes, int writes);
void fgmpi_access_read(void* at, size_t bytes);
void fgmpi_access_write(void* at, size_t bytes);

void* __memcpy_chk(void*, const void*, size_t, size_t);
void* __mempcpy_chk(void*, const void*, size_t, size_t);
void* __memmove_chk(void*, const void*, size_t, size_t);
void* __memset_chk(void*, int, size_t, size_t);
char* __strcpy_chk(char*, const char*, size_t);
char* __stpcpy_chk(char*, const char*, size_t);
char* __strncpy_chk(char*, const char*, size_t, size_t);
char* __strcat_chk(char*, const char*, size_t);
char* __strncat_chk(char*, const char*, size_t, size_t);
}

namespace {

constexpr uintptr_t kAll = ~uintptr_t{0};

void set_view(uintptr_t low, uintptr_t length, const uint8_t* filter) {
  g_view.filter = filter;
  for (uintptr_t& l : g_view.low) l = low;
  for (uintptr_t& l : g_view.length) l = length;
}

/// No access is checked any more.
void close_view() { set_view(0, 0, nullptr); }

/// Records what `call` reports. Without inlining, so that nothing else is recorded.
template <class Call>
[[gnu::noinline]] void record(Call call) {
  g_count = 0;
  g_records = true;
  call();
  g_records = false;
}

/// The first call finds the checker; before and after a test no access is checked.
class AccessTest : public testing::Test {
 protected:
  void SetUp() override {
    set_view(0, kAll, nullptr);
    char byte = 0;
    record([&] { __tsan_read1(&byte); });
    ASSERT_EQ(g_count, 1) << "the checker was not found";
    close_view();
  }
  void TearDown() override { close_view(); }
};

// ---- Loads and stores ---------------------------------------------------------------------------

struct Entry {
  void (*read)(void*);
  void (*write)(void*);
  uintptr_t bytes;
};
#define ENTRIES(bytes)                                                        \
  {__tsan_read##bytes, __tsan_write##bytes, bytes},                           \
      {__tsan_unaligned_read##bytes, __tsan_unaligned_write##bytes, bytes}, { \
    __tsan_volatile_read##bytes, __tsan_volatile_write##bytes, bytes          \
  }
constexpr Entry kEntries[] = {ENTRIES(1), ENTRIES(2), ENTRIES(4), ENTRIES(8), ENTRIES(16)};

/// Memory that operations own, as the checker describes it in a view.
struct Owned {
  uint8_t filter[kGranules] = {};
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges;
  uintptr_t low = kAll, high = 0;

  Owned(std::mt19937_64* random, uintptr_t base) {
    for (uint64_t n = 1 + (*random)() % 3; n > 0; --n) {
      const uintptr_t from = base + (*random)() % 20'000, past = from + 1 + (*random)() % 2000;
      ranges.push_back({from, past});
      low = std::min(low, from), high = std::max(high, past);
      for (uintptr_t at = from; at < past; ++at) filter[granule(at)] = 1;
    }
  }
  bool owns_any(uintptr_t at, uintptr_t bytes) const {
    for (const auto& [from, past] : ranges)
      if (at < past && at + bytes > from) return true;
    return false;
  }
  void show() const { set_view(low - (kMost - 1), high - (low - (kMost - 1)), filter); }
};

// Each access that touches owned memory reaches the checker. One that does not is kept from it
// unless it lies in the bounds, in a granule of owned memory.
TEST_F(AccessTest, ViewsLoseNoAccessToOwnedMemory) {
  std::mt19937_64 random(3);
  int reported = 0, kept = 0;
  for (int round = 0; round < 200; ++round) {
    const uintptr_t base = 0x7f0000000000 + random() % 100'000;
    const Owned owned(&random, base);
    for (int i = 0; i < 300; ++i) {
      // Half of them at the ends of what is owned.
      const auto& range = owned.ranges[random() % owned.ranges.size()];
      const uintptr_t at = random() % 2
                               ? base - 500 + random() % 24'000
                               : (random() % 2 ? range.first : range.second) - 40 + random() % 80;
      const bool writes = random() % 2;
      const Entry& entry = kEntries[random() % std::size(kEntries)];
      const bool is_range = random() % 3 == 0;
      const uintptr_t bytes = is_range ? random() % 3000 : entry.bytes;
      owned.show();
      record([&] {
        auto* p = reinterpret_cast<void*>(at);
        if (is_range)
          (writes ? __tsan_write_range : __tsan_read_range)(p, bytes);
        else
          (writes ? entry.write : entry.read)(p);
      });
      close_view();
      bool near = at + bytes > owned.low && at < owned.high;
      if (!is_range) near = at + (kMost - 1) >= owned.low && at < owned.high;
      if (bytes <= 512 && bytes > 0)
        near = near && (owned.filter[granule(at)] || owned.filter[granule(at + bytes - 1)]);
      if (owned.owns_any(at, bytes) && bytes > 0) {
        ASSERT_EQ(g_count, 1) << at - base << " " << bytes;
      }
      ASSERT_EQ(g_count, near && bytes > 0) << at - base << " " << bytes;
      ++(g_count ? reported : kept);
      if (!g_count) continue;
      EXPECT_EQ(g_seen[0].address, at);
      EXPECT_EQ(g_seen[0].bytes, bytes);
      EXPECT_EQ(g_seen[0].writes, writes);
      EXPECT_EQ(g_seen[0].reads, !writes);
      EXPECT_EQ(g_seen[0].function, nullptr);
    }
  }
  EXPECT_GT(reported, 10'000);
  EXPECT_GT(kept, 10'000);
}

TEST_F(AccessTest, ARangeWithoutEndIsNoShortOne) {
  set_view(0x1000, 0x100, nullptr);
  record([&] {
    __tsan_write_range(reinterpret_cast<void*>(0x800), SIZE_MAX);
    __tsan_write_range(reinterpret_cast<void*>(0x800), 0x80f);
    __tsan_write_range(reinterpret_cast<void*>(0x800), 0x810);
  });
  close_view();
  ASSERT_EQ(g_count, 2);
  EXPECT_EQ(g_seen[0].bytes, SIZE_MAX);
  EXPECT_EQ(g_seen[1].bytes, 0x810u);
}

TEST_F(AccessTest, LoopsThatTouchNothingOwnedNeedNoCalls) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 20'000; ++round) {
    const uintptr_t base = 0x7f0000000000;
    const Owned owned(&random, base);
    const uintptr_t at = base - 3000 + random() % 28'000, bytes = 1 + random() % 5000;
    g_touches_answer = true;
    owned.show();
    const int touches = fgmpi_access_touches(at, bytes, round % 2);
    g_touches_answer = false;
    const int refused = fgmpi_access_touches(at, bytes, round % 2);
    close_view();
    if (owned.owns_any(at, bytes)) {
      EXPECT_EQ(touches, 1);
    }
    EXPECT_EQ(touches, at + bytes > owned.low - (kMost - 1) && at < owned.high);
    EXPECT_EQ(refused, 0) << "the checker knows better";
  }
  EXPECT_EQ(fgmpi_access_touches(0x1000, 100, 1), 0) << "no operation owns memory";
  set_view(0, kAll, nullptr);
  const int unknown = fgmpi_access_touches(0x1000, 100, 1);
  close_view();
  EXPECT_EQ(unknown, 1);
}

TEST_F(AccessTest, ReadsAndWritesHaveBoundsOfTheirOwn) {
  char bytes[4] = {};
  set_view(0, kAll, nullptr);
  g_view.length[false] = 0;  // no operation writes memory: reads do not matter
  record([&] {
    __tsan_read4(bytes);
    __tsan_vptr_read(reinterpret_cast<void**>(bytes));
    __tsan_read_range(bytes, 4);
    __tsan_write4(bytes);
    __tsan_vptr_update(reinterpret_cast<void**>(bytes), nullptr);
    __tsan_write_range(bytes, 0);
  });
  close_view();
  ASSERT_EQ(g_count, 2);
  EXPECT_EQ(g_seen[0].bytes, 4u);
  EXPECT_EQ(g_seen[1].bytes, sizeof(void*));
  EXPECT_TRUE(g_seen[0].writes && g_seen[1].writes);
}

// ---- Atomic operations --------------------------------------------------------------------------

#define ATOMICS(bits, T)                                                                       \
  extern "C" T __tsan_atomic##bits##_load(const volatile T*, int);                             \
  extern "C" void __tsan_atomic##bits##_store(volatile T*, T, int);                            \
  extern "C" T __tsan_atomic##bits##_exchange(volatile T*, T, int);                            \
  extern "C" T __tsan_atomic##bits##_fetch_add(volatile T*, T, int);                           \
  extern "C" T __tsan_atomic##bits##_fetch_sub(volatile T*, T, int);                           \
  extern "C" T __tsan_atomic##bits##_fetch_and(volatile T*, T, int);                           \
  extern "C" T __tsan_atomic##bits##_fetch_or(volatile T*, T, int);                            \
  extern "C" T __tsan_atomic##bits##_fetch_xor(volatile T*, T, int);                           \
  extern "C" T __tsan_atomic##bits##_fetch_nand(volatile T*, T, int);                          \
  extern "C" bool __tsan_atomic##bits##_compare_exchange_strong(volatile T*, T*, T, int, int); \
  extern "C" bool __tsan_atomic##bits##_compare_exchange_weak(volatile T*, T*, T, int, int);   \
  struct Atomics##bits {                                                                       \
    using Type = T;                                                                            \
    static inline auto* const load = __tsan_atomic##bits##_load;                               \
    static inline auto* const store = __tsan_atomic##bits##_store;                             \
    static inline auto* const strong = __tsan_atomic##bits##_compare_exchange_strong;          \
    static inline auto* const weak = __tsan_atomic##bits##_compare_exchange_weak;              \
    static constexpr T (*changes[])(volatile T*, T, int) = {                                   \
        __tsan_atomic##bits##_exchange,  __tsan_atomic##bits##_fetch_add,                      \
        __tsan_atomic##bits##_fetch_sub, __tsan_atomic##bits##_fetch_and,                      \
        __tsan_atomic##bits##_fetch_or,  __tsan_atomic##bits##_fetch_xor,                      \
        __tsan_atomic##bits##_fetch_nand};                                                     \
  };
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
ATOMICS(128, unsigned __int128)

template <class T>
T changed(int change, T old, T value) {
  const T results[] = {value,
                       static_cast<T>(old + value),
                       static_cast<T>(old - value),
                       static_cast<T>(old & value),
                       static_cast<T>(old | value),
                       static_cast<T>(old ^ value),
                       static_cast<T>(~(old & value))};
  return results[change];
}

template <class Atomics>
void check_atomics() {
  using T = typename Atomics::Type;
  std::mt19937_64 random(6);
  auto any = [&] { return static_cast<T>(static_cast<T>(random()) * static_cast<T>(random())); };
  alignas(16) volatile T cell = any();
  for (int round = 0; round < 2000; ++round) {
    const T old = cell, value = any();
    const int change = round % 7, order = round % 6;
    T result = 0;
    set_view(0, kAll, nullptr);
    record([&] { result = Atomics::changes[change](&cell, value, order); });
    close_view();
    ASSERT_TRUE(result == old);
    ASSERT_TRUE(cell == changed(change, old, value)) << change;
    ASSERT_EQ(g_count, 1);
    EXPECT_EQ(g_seen[0].address, reinterpret_cast<uintptr_t>(&cell));
    EXPECT_EQ(g_seen[0].bytes, sizeof(T));
    EXPECT_TRUE(g_seen[0].writes && g_seen[0].reads);

    T expected = round % 2 ? T(cell) : any();
    const T before = cell, wanted = expected;
    bool same = false;
    set_view(0, kAll, nullptr);
    record([&] {
      same =
          (round % 4 < 2 ? Atomics::strong : Atomics::weak)(&cell, &expected, value, order, order);
    });
    close_view();
    ASSERT_EQ(same, wanted == before);
    ASSERT_TRUE(expected == before);
    ASSERT_TRUE(cell == (same ? value : before));
    ASSERT_EQ(g_count, 1);
    EXPECT_EQ(g_seen[0].writes, same) << "one that fails only reads";
    EXPECT_TRUE(g_seen[0].reads);

    set_view(0, kAll, nullptr);
    record([&] {
      Atomics::store(&cell, value, order);
      result = Atomics::load(&cell, order);
    });
    close_view();
    ASSERT_TRUE(result == value);
    ASSERT_EQ(g_count, 3);
    EXPECT_TRUE(g_seen[0].writes && !g_seen[0].reads);
    EXPECT_TRUE(is_poll(g_seen[1])) << "an atomic load may be one of a loop that waits";
    EXPECT_TRUE(!g_seen[2].writes && g_seen[2].reads && !is_poll(g_seen[2]));
  }
}

TEST_F(AccessTest, AtomicOperationsAreThoseOfAModel) {
  check_atomics<Atomics8>();
  check_atomics<Atomics16>();
  check_atomics<Atomics32>();
  check_atomics<Atomics64>();
  check_atomics<Atomics128>();
}

// ---- Functions of the C library -----------------------------------------------------------------

struct Expected {
  const void* at;
  size_t bytes;
  bool writes;
};

class WrapperTest : public AccessTest {
 protected:
  /// Calls a function through a pointer, which the compiler cannot replace by code of its own, and
  /// compares its reports.
  template <class Function, class... Arguments>
  auto call(const char* name, std::initializer_list<Expected> expected, Function* function,
            Arguments... arguments) {
    Function* volatile pointer = function;
    set_view(0, kAll, nullptr);
    g_count = 0;
    g_records = true;
    if constexpr (std::is_void_v<decltype(pointer(arguments...))>) {
      pointer(arguments...);
      compare(name, expected);
    } else {
      auto result = pointer(arguments...);
      compare(name, expected);
      return result;
    }
  }
  /// Ends the recording.
  static void compare(const char* name, std::initializer_list<Expected> expected) {
    g_records = false;
    close_view();
    EXPECT_EQ(static_cast<size_t>(g_count), expected.size()) << name;
    int i = 0;
    for (const Expected& e : expected) {
      const ProgramAccess& seen = g_seen[i++];
      EXPECT_EQ(seen.address, reinterpret_cast<uintptr_t>(e.at)) << name << ", access " << i;
      EXPECT_EQ(seen.bytes, e.bytes) << name << ", access " << i;
      EXPECT_EQ(seen.writes, e.writes) << name << ", access " << i;
      EXPECT_STREQ(seen.function, name);
    }
  }
};

TEST_F(WrapperTest, BytesThatAreCopiedSetAndCompared) {
  char from[100], to[100];
  for (int i = 0; i < 100; ++i) from[i] = static_cast<char>(i);
  const Expected reads{from, 33, false}, writes{to, 33, true}, others{to, 33, false};
  EXPECT_EQ(call("memcpy", {reads, writes}, memcpy, to, from, 33), to);
  EXPECT_EQ(to[32], 32);
  EXPECT_EQ(call("mempcpy", {reads, writes}, mempcpy, to, from, 33), to + 33);
  EXPECT_EQ(call("memmove", {reads, writes}, memmove, to, from, 33), to);
  EXPECT_EQ(call("__memcpy_chk", {reads, writes}, __memcpy_chk, to, from, 33, 100), to);
  EXPECT_EQ(call("__mempcpy_chk", {reads, writes}, __mempcpy_chk, to, from, 33, 100), to + 33);
  EXPECT_EQ(call("__memmove_chk", {reads, writes}, __memmove_chk, to, from, 33, 100), to);
  EXPECT_EQ(call("memcmp", {reads, others}, memcmp, from, to, 33), 0);
  EXPECT_EQ(call("bcmp", {reads, others}, bcmp, from, to, 33), 0);
  EXPECT_EQ(call("memset", {writes}, memset, to, 7, 33), to);
  EXPECT_EQ(call("__memset_chk", {writes}, __memset_chk, to, 9, 33, 100), to);
  EXPECT_EQ(to[32], 9);
  EXPECT_EQ(call("memcpy", {}, memcpy, to, from, 0), to) << "no bytes are no access";
}

// All lengths of a text, of what it is appended to, and of the most bytes that are taken.
TEST_F(WrapperTest, TextsEndWithTheirZero) {
  for (size_t length = 0; length < 6; ++length)
    for (size_t most = 0; most < 8; ++most)
      for (size_t old = 0; old < 4; ++old) {
        char from[8] = {}, to[32] = {};
        std::fill_n(from, length, 'f');
        std::fill_n(to, old, 'o');
        const size_t whole = length + 1, part = std::min(length, most),
                     taken = std::min(whole, most);
        const Expected text{from, whole, false}, start{from, taken, false},
            before{to, old + 1, false};
        char* end = to + old;
        EXPECT_EQ(call("strlen", {text}, strlen, from), length);
        // strncat() writes a zero behind the bytes that it takes, also where it takes `most`.
        const Expected added{end, part + 1, true}, all{end, whole, true};
        if (taken == 0) {
          EXPECT_EQ(call("strncat", {before, added}, strncat, to, from, most), to);
          *end = 0;
          EXPECT_EQ(call("__strncat_chk", {before, added}, __strncat_chk, to, from, most, 32), to);
        } else {
          EXPECT_EQ(call("strncat", {start, before, added}, strncat, to, from, most), to);
          *end = 0;
          EXPECT_EQ(
              call("__strncat_chk", {start, before, added}, __strncat_chk, to, from, most, 32), to);
        }
        EXPECT_EQ(std::string(to), std::string(old, 'o') + std::string(part, 'f'));
        *end = 0;
        EXPECT_EQ(call("strcat", {text, before, all}, strcat, to, from), to);
        *end = 0;
        EXPECT_EQ(call("__strcat_chk", {text, before, all}, __strcat_chk, to, from, 32), to);
        const Expected copied{to, whole, true}, field{to, most, true};
        EXPECT_EQ(call("strcpy", {text, copied}, strcpy, to, from), to);
        EXPECT_EQ(call("stpcpy", {text, copied}, stpcpy, to, from), to + length);
        EXPECT_EQ(call("__strcpy_chk", {text, copied}, __strcpy_chk, to, from, 32), to);
        EXPECT_EQ(call("__stpcpy_chk", {text, copied}, __stpcpy_chk, to, from, 32), to + length);
        if (most == 0) continue;
        EXPECT_EQ(call("strncpy", {start, field}, strncpy, to, from, most), to);
        EXPECT_EQ(call("__strncpy_chk", {start, field}, __strncpy_chk, to, from, most, 32), to);
      }
}

TEST_F(WrapperTest, FunctionsWithoutResult) {
  int numbers[] = {5, 3, 9, 1};
  int copy[4];
  auto ascending = [](const void* a, const void* b) {
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  };
  int (*compare_them)(const void*, const void*) = ascending;
  call("qsort", {{numbers, sizeof numbers, true}}, qsort, numbers, size_t{4}, sizeof(int),
       compare_them);
  EXPECT_TRUE(std::is_sorted(numbers, numbers + 4));
  call("bcopy", {{numbers, 16, false}, {copy, 16, true}}, bcopy, numbers, copy, size_t{16});
  EXPECT_EQ(copy[3], 9);
  call("bzero", {{copy, 12, true}}, bzero, copy, size_t{12});
  EXPECT_EQ(copy[2], 0);
  EXPECT_EQ(copy[3], 9);
}

TEST_F(WrapperTest, FilesAreReadAndWritten) {
  char bytes[12] = "hello world", back[12] = {};
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(call("write", {{bytes, 12, false}}, write, ends[1], bytes, 12), 12);
  EXPECT_EQ(call("read", {{back, 12, true}}, read, ends[0], back, 12), 12);
  EXPECT_STREQ(back, bytes);
  FILE* file = tmpfile();
  EXPECT_EQ(call("fwrite", {{bytes, 12, false}}, fwrite, bytes, 4, 3, file), 3u);
  rewind(file);
  EXPECT_EQ(call("fread", {{back, 12, true}}, fread, back, 3, 4, file), 4u);
  fclose(file);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
