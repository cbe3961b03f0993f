// The checker that loops.py links with its loops. It owns bytes at addresses that change from round
// to round. For each run of a loop it prints a line with the number of reported accesses to these
// bytes, and a hash of the accesses in their order.
//
// The view's bounds reach from the first owned byte to the last: in most rounds they contain all
// memory that the loops use.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "gcc/access/view.h"

using fgmpi::access::AccessView;
using fgmpi::access::ProgramAccess;

extern "C" {
struct Area {
  char* at;
  size_t bytes;
};
extern long (*const loops[])(char**, int, int, long);
extern const int loop_count, area_count;
extern const Area areas[];
char arena[6][8192];
int places[64];
}

namespace {

struct Owned {
  uintptr_t low, high;
  bool writes;
};
std::vector<Owned> g_owned;
AccessView* g_view = nullptr;
unsigned long g_accesses = 0, g_hash = 0, g_calls = 0;

bool touches(uintptr_t address, size_t bytes, bool writes) {
  for (const Owned& o : g_owned)
    if ((writes || o.writes) && address < o.high && address + bytes > o.low) return true;
  return false;
}

/// Returns the number of an address's area and the offset in it, which are equal in both programs.
unsigned long place_of(uintptr_t address) {
  for (int i = 0; i < area_count; ++i) {
    const uintptr_t offset = address - reinterpret_cast<uintptr_t>(areas[i].at);
    if (offset < areas[i].bytes) return static_cast<unsigned long>(i) << 32 | offset;
  }
  return 0;
}

void show() {
  for (int how = 0; how < 2; ++how) {
    uintptr_t low = ~uintptr_t{0}, high = 0;
    for (const Owned& o : g_owned)
      if (how || o.writes) {
        if (o.low < low) low = o.low;
        if (o.high > high) high = o.high;
      }
    const bool none = high == 0;
    g_view->low[how] = none ? 0 : low - (fgmpi::access::kMost - 1);
    g_view->length[how] = none ? 0 : high - low + fgmpi::access::kMost - 1;
  }
}

unsigned long next_random() {
  static unsigned long state = 88172645463325252ul;
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

void own_something() {
  g_owned.clear();
  for (unsigned long n = 1 + next_random() % 4; n > 0; --n) {
    const Area& area = areas[next_random() % static_cast<unsigned long>(area_count)];
    const uintptr_t at = reinterpret_cast<uintptr_t>(area.at) + next_random() % (area.bytes - 400);
    g_owned.push_back({at, at + 1 + next_random() % 400, next_random() % 2 == 0});
  }
}

}  // namespace

extern "C" void fgmpi_check_access(AccessView* view, const ProgramAccess* access) {
  g_view = view;
  ++g_calls;
  if (!touches(access->address, access->bytes, access->writes)) return;
  ++g_accesses;
  for (const unsigned long word :
       {place_of(access->address), access->bytes, static_cast<uintptr_t>(access->writes)})
    g_hash = (g_hash ^ word) * 0x9e3779b97f4a7c15u + (g_hash >> 29);
}
extern "C" bool fgmpi_check_touches(AccessView*, uintptr_t address, size_t bytes, bool writes) {
  return touches(address, bytes, writes);
}
extern "C" void fgmpi_check_forget(AccessView*) {}

int main(int, char** argv) {
  char* at[6];
  const int rounds = std::atoi(argv[1]);
  for (int i = 0; i < 64; ++i) places[i] = i * 29 % 64;
  for (int i = 0; i < 6; ++i) at[i] = arena[i] + 2400;
  loops[0](at, 1, 1, 1);  // the first access registers the view
  if (!g_view) return 1;
  for (int round = 0; round < rounds; ++round)
    for (int k = 0; k < loop_count; ++k) {
      // The areas are cleared, since results computed from garbage may differ with the compiler's
      // options. No byte is owned meanwhile.
      g_owned.clear();
      show();
      for (int i = 0; i < area_count; ++i) std::memset(areas[i].at, 0, areas[i].bytes);
      own_something();
      show();
      g_accesses = g_hash = 0;
      loops[k](at, static_cast<int>(next_random() % 45), static_cast<int>(next_random() % 10),
               static_cast<long>(next_random() % 7) - 3);
      std::printf("%d %d %lu %lx\n", round, k, g_accesses, g_hash);
    }
  std::printf("calls %lu\n", g_calls);
}
