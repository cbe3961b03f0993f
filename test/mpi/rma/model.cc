// Randomised one-sided programs against a sequential model of the window. In each phase every rank
// has regions of every target for itself (puts and gets of all layouts) and shares others
// (accumulates, whose sums do not depend on the order); all ranks draw the same numbers, so each
// knows what every window holds after the phase.
#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "mpitest.h"

namespace {

enum Sync { kFence, kPscw, kLock, kLockAll, kSyncs };
enum Flavor { kCreate, kAllocate, kShared, kDynamic, kFlavors };

int g_rank, g_size;
constexpr int kSlots = 48;  // a slot: 8 longs of one origin at one target
constexpr int kSlot = 8;
constexpr int kCounters = 16;

struct Window {
  MPI_Win win;
  long* memory;
  std::vector<MPI_Aint> bases;  // dynamic: addresses
  Flavor flavor;
  MPI_Aint disp(int target, int index) const {
    if (flavor == kDynamic) return MPI_Aint_add(bases[target], index * (MPI_Aint)sizeof(long));
    return index;
  }
};

int words() { return kCounters + kSlots * kSlot; }

Window make(Flavor flavor) {
  Window w;
  w.flavor = flavor;
  const MPI_Aint bytes = words() * sizeof(long);
  switch (flavor) {
    case kCreate:
      w.memory = static_cast<long*>(malloc(bytes));
      OK(MPI_Win_create(w.memory, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &w.win));
      break;
    case kAllocate:
      OK(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &w.memory, &w.win));
      break;
    case kShared:
      OK(MPI_Win_allocate_shared(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &w.memory,
                                 &w.win));
      break;
    default: {
      w.memory = static_cast<long*>(malloc(bytes));
      OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w.win));
      OK(MPI_Win_attach(w.win, w.memory, bytes));
      MPI_Aint mine;
      OK(MPI_Get_address(w.memory, &mine));
      w.bases.resize(g_size);
      OK(MPI_Allgather(&mine, 1, MPI_AINT, w.bases.data(), 1, MPI_AINT, MPI_COMM_WORLD));
    }
  }
  memset(w.memory, 0, bytes);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return w;
}

void drop(Window* w) {
  if (w->flavor == kDynamic) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_detach(w->win, w->memory));
  }
  OK(MPI_Win_free(&w->win));
  CHECK(w->win == MPI_WIN_NULL);
  if (w->flavor == kCreate || w->flavor == kDynamic) free(w->memory);
}

struct Step {
  int origin, target, slot, kind, seed;
};

long value_of(const Step& s, int i) { return s.seed * 1000L + i * 7 + s.origin; }

// What a step does to the model of the target's window.
void apply(const Step& s, long* m) {
  long* slot = m + kCounters + s.slot * kSlot;
  switch (s.kind) {
    case 0:  // contiguous put
      for (int i = 0; i < kSlot; ++i) slot[i] = value_of(s, i);
      break;
    case 1:  // every second word
      for (int i = 0; i < kSlot / 2; ++i) slot[2 * i] = value_of(s, i);
      break;
    case 2:  // the words backwards
      for (int i = 0; i < kSlot; ++i) slot[kSlot - 1 - i] = value_of(s, i);
      break;
    case 3:
    case 4:
    case 5:  // sums
      m[s.seed % kCounters] += s.seed;
      break;
    default:  // every second word, summed
      for (int i = 0; i < kSlot / 2; ++i) slot[2 * i] += value_of(s, i);
  }
}

MPI_Datatype g_second, g_backwards;

void make_types() {
  OK(MPI_Type_vector(kSlot / 2, 1, 2, MPI_LONG, &g_second));
  OK(MPI_Type_commit(&g_second));
  int lengths[kSlot], places[kSlot];
  for (int i = 0; i < kSlot; ++i) {
    lengths[i] = 1;
    places[i] = kSlot - 1 - i;
  }
  OK(MPI_Type_indexed(kSlot, lengths, places, MPI_LONG, &g_backwards));
  OK(MPI_Type_commit(&g_backwards));
}

// Origin memory must stay as it is until the operation is complete.
struct Origin {
  long words[kSlot];
  long result;
};

void perform(const Window& w, const Step& s, Origin* o) {
  for (int i = 0; i < kSlot; ++i) o->words[i] = value_of(s, i);
  const MPI_Aint at = w.disp(s.target, kCounters + s.slot * kSlot);
  const MPI_Aint counter = w.disp(s.target, s.seed % kCounters);
  long* amount = &o->words[0];
  switch (s.kind) {
    case 0:
      OK(MPI_Put(o->words, kSlot, MPI_LONG, s.target, at, kSlot, MPI_LONG, w.win));
      break;
    case 1:
      OK(MPI_Put(o->words, kSlot / 2, MPI_LONG, s.target, at, 1, g_second, w.win));
      break;
    case 2:
      OK(MPI_Put(o->words, kSlot * sizeof(long), MPI_BYTE, s.target, at, 1, g_backwards, w.win));
      break;
    case 3:
      *amount = s.seed;
      OK(MPI_Accumulate(amount, 1, MPI_LONG, s.target, counter, 1, MPI_LONG, MPI_SUM, w.win));
      break;
    case 4:
      *amount = s.seed;
      OK(MPI_Fetch_and_op(amount, &o->result, MPI_LONG, s.target, counter, MPI_SUM, w.win));
      break;
    case 5:
      *amount = s.seed;
      OK(MPI_Get_accumulate(amount, 1, MPI_LONG, &o->result, 1, MPI_LONG, s.target, counter, 1,
                            MPI_LONG, MPI_SUM, w.win));
      break;
    default:
      OK(MPI_Accumulate(o->words, kSlot / 2, MPI_LONG, s.target, at, 1, g_second, MPI_SUM, w.win));
  }
}

void begin(Sync sync, MPI_Win win, MPI_Group all) {
  if (sync == kFence) OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
  if (sync == kPscw) {
    OK(MPI_Win_post(all, 0, win));
    OK(MPI_Win_start(all, 0, win));
  }
  if (sync == kLockAll) OK(MPI_Win_lock_all(0, win));
}

void end(Sync sync, MPI_Win win) {
  if (sync == kFence) OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  if (sync == kPscw) {
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
  }
  if (sync == kLockAll) OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void phase(const Window& w, Sync sync, MPI_Group all, std::mt19937* random,
           std::vector<std::vector<long>>* model) {
  // A slot of a target has one origin in a phase.
  std::vector<Step> steps;
  const int count = std::min(g_size * 6, 200);
  std::vector<int> owner(g_size * kSlots, -1);
  for (int i = 0; i < count; ++i) {
    Step s;
    s.origin = static_cast<int>((*random)() % g_size);
    s.target = static_cast<int>((*random)() % g_size);
    s.slot = static_cast<int>((*random)() % kSlots);
    s.kind = static_cast<int>((*random)() % 7);
    s.seed = static_cast<int>((*random)() % 100000);
    int& o = owner[s.target * kSlots + s.slot];
    if (o >= 0) continue;
    if (s.kind < 3 || s.kind > 5) o = s.origin;
    steps.push_back(s);
  }
  std::vector<Origin> origins(steps.size());
  begin(sync, w.win, all);
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& s = steps[i];
    if (s.origin == g_rank) {
      if (sync == kLock)
        OK(MPI_Win_lock(s.seed % 3 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, s.target, 0, w.win));
      perform(w, s, &origins[i]);
      if (sync == kLock) OK(MPI_Win_unlock(s.target, w.win));
    }
    apply(s, (*model)[s.target].data());
  }
  end(sync, w.win);
  // Everybody looks at its own window, and one other through MPI_Get with a layout.
  const int other = (g_rank + 1) % g_size;
  std::vector<long> seen(words()), second(kSlot);
  OK(MPI_Win_lock(MPI_LOCK_SHARED, g_rank, 0, w.win));
  CHECK(memcmp(w.memory, (*model)[g_rank].data(), words() * sizeof(long)) == 0);
  OK(MPI_Win_unlock(g_rank, w.win));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, w.win));
  OK(MPI_Get(seen.data(), words(), MPI_LONG, other, w.disp(other, 0), words(), MPI_LONG, w.win));
  OK(MPI_Get(second.data(), kSlot / 2, MPI_LONG, other, w.disp(other, kCounters), 1, g_second,
             w.win));
  OK(MPI_Win_unlock(other, w.win));
  CHECK(memcmp(seen.data(), (*model)[other].data(), words() * sizeof(long)) == 0);
  for (int i = 0; i < kSlot / 2; ++i) CHECK(second[i] == (*model)[other][kCounters + 2 * i]);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &g_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &g_size));
  // Over a network there is no window of MPI_Win_allocate_shared.
  const bool can_share = argc < 2 && !getenv("FGMPI_TRANSPORT");
  MPI_Group all;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  make_types();
  std::mt19937 random(20260801);
  for (int flavor = 0; flavor < kFlavors; ++flavor) {
    if (flavor == kShared && !can_share) continue;
    Window w = make(static_cast<Flavor>(flavor));
    std::vector<std::vector<long>> model(g_size, std::vector<long>(words()));
    const int rounds = g_size > 16 ? 2 : 6;
    for (int round = 0; round < rounds; ++round)
      for (int sync = 0; sync < kSyncs; ++sync)
        phase(w, static_cast<Sync>(sync), all, &random, &model);
    drop(&w);
  }
  OK(MPI_Type_free(&g_second));
  OK(MPI_Type_free(&g_backwards));
  OK(MPI_Group_free(&all));
  return finish();
}
