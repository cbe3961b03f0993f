// Windows: what the layer remembers of them, and how they are freed and made again.
//
// MPI has windows of MPI_Win_create and MPI_Win_create_dynamic only. The memory of MPI_Win_allocate
// is allocated here, so that it lies in the rank's slot, and attributes answer as for the program's
// call. So is that of MPI_Alloc_mem. Memory that other ranks load and store
// (MPI_Win_allocate_shared with several members) cannot be carried: these ranks may go on in
// different processes.
#include <sys/mman.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "checkpoint/deputy.h"
#include "checkpoint/describe.h"
#include "checkpoint/stop.h"
#include "checkpoint/windows_files.h"
#include "checkpoint/wrappers.h"

namespace fgmpi::checkpoint {

VirtualWin* find_win(const LayerRank& rank, MPI_Win win) { return rank.windows.find(win); }

void count_win_collective(LayerRank& rank, MPI_Win win) {
  if (VirtualWin* found = find_win(rank, win)) ++found->collectives;
}

namespace {

// ---- Making and freeing by the program

/// What the program asks for.
struct WinRequest {
  int flavor = MPI_WIN_FLAVOR_CREATE;
  void* base = nullptr;
  MPI_Aint bytes = 0, unit = 1;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm comm = MPI_COMM_NULL;  ///< virtual
  bool is_shared = false;
};

/// The memory model of MPI's window. Called at home, where MPI's answer is in the process's memory.
int model_of(MPI_Win real) {
  int flag = 0, *model = nullptr;
  g_mpi.MPI_Win_get_attr(real, MPI_WIN_MODEL, &model, &flag);
  return flag ? *model : 0;
}

/// `make(comm, info, win)` calls MPI with its own handles.
template <class Make>
int make_win(LayerRank& rank, const WinRequest& asked, MPI_Win* win, Make&& make) {
  stop_point(rank, "MPI_Win_create", {NextCollective::Begins::kBlocking, asked.comm});
  count_collective(rank, asked.comm, true);
  before_collective(rank, asked.comm);
  const MPI_Comm comm = real_of(rank, Object::kComm, asked.comm);
  MPI_Win real = MPI_WIN_NULL;
  const int code = make(comm, real_of(rank, Object::kInfo, asked.info), &real);
  if (code != MPI_SUCCESS) return code;
  VirtualWin* made = nullptr;
  *win = rank.windows.add(&made);
  made->real = real;
  made->key = key_of_latest(rank, asked.comm);
  made->flavor = asked.flavor;
  made->base = asked.base;
  made->bytes = asked.bytes;
  made->unit = static_cast<int>(std::min<MPI_Aint>(asked.unit, INT_MAX));
  made->large_unit = asked.unit;
  made->is_shared = asked.is_shared;
  g_home.MPI_Comm_rank(comm, &made->rank);
  g_home.MPI_Comm_size(comm, &made->size);
  if (const int model = by_deputy("a window", model_of, real)) made->model = model;
  return code;
}

template <class Unit, class Next>
int create_win(Next next, void* base, MPI_Aint size, Unit unit, MPI_Info info, MPI_Comm comm,
               MPI_Win* win) {
  LayerRank* rank = current_rank();
  if (!rank || !win) return next(base, size, unit, info, comm, win);
  const WinRequest asked{MPI_WIN_FLAVOR_CREATE, base, size, unit, info, comm};
  return make_win(*rank, asked, win, [&](MPI_Comm real, MPI_Info hints, MPI_Win* made) {
    return next(base, size, unit, hints, real, made);
  });
}

int create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  LayerRank* rank = current_rank();
  if (!rank || !win) return g_next.MPI_Win_create_dynamic(info, comm, win);
  const WinRequest asked{MPI_WIN_FLAVOR_DYNAMIC, nullptr, 0, 1, info, comm};
  return make_win(*rank, asked, win, [](MPI_Comm real, MPI_Info hints, MPI_Win* made) {
    return g_next.MPI_Win_create_dynamic(hints, real, made);
  });
}

/// Whole pages of zeros; nullptr: none are left.
void* allocate_pages(size_t bytes) {
  if (bytes == 0) return nullptr;
  void* const pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

bool has_one_member(const LayerRank& rank, MPI_Comm comm) {
  int size = 0, inter = 0;
  const MPI_Comm real = real_of(rank, Object::kComm, comm);
  return g_home.MPI_Comm_size(real, &size) == MPI_SUCCESS && size == 1 &&
         g_home.MPI_Comm_test_inter(real, &inter) == MPI_SUCCESS && !inter;
}

/// MPI_Win_allocate, and MPI_Win_allocate_shared. `create` is MPI_Win_create with units of the same
/// type.
template <class Unit, class Next, class Create>
int allocate_win(Next next, Create create, int flavor, MPI_Aint size, Unit unit, MPI_Info info,
                 MPI_Comm comm, void* baseptr, MPI_Win* win) {
  LayerRank* rank = current_rank();
  if (!rank || !win || !baseptr) return next(size, unit, info, comm, baseptr, win);
  WinRequest asked{flavor, nullptr, size, unit, info, comm};
  if (size < 0 || (flavor == MPI_WIN_FLAVOR_SHARED && !has_one_member(*rank, comm))) {
    asked.is_shared = true;
    const int code = make_win(*rank, asked, win, [&](MPI_Comm real, MPI_Info hints, MPI_Win* made) {
      return next(size, unit, hints, real, baseptr, made);
    });
    if (code == MPI_SUCCESS) std::memcpy(&find_win(*rank, *win)->base, baseptr, sizeof(void*));
    return code;
  }
  const auto bytes = static_cast<size_t>(size);
  asked.base = allocate_pages(bytes);
  // Without memory the call fails at all members.
  const MPI_Aint asked_of_mpi = bytes > 0 && !asked.base ? -1 : size;
  const int code = make_win(*rank, asked, win, [&](MPI_Comm real, MPI_Info hints, MPI_Win* made) {
    return create(asked.base, asked_of_mpi, unit, hints, real, made);
  });
  if (code == MPI_SUCCESS) {
    find_win(*rank, *win)->mapped = bytes;
    std::memcpy(baseptr, &asked.base, sizeof(void*));
  } else if (asked.base) {
    munmap(asked.base, bytes);
  }
  return code;
}

int free_win(MPI_Win* win) {
  LayerRank* rank = current_rank();
  VirtualWin* found = rank && win ? find_win(*rank, *win) : nullptr;
  if (!found) return g_next.MPI_Win_free(win);
  stop_point(*rank, "MPI_Win_free");
  MPI_Win real = found->real;
  const int code = g_next.MPI_Win_free(&real);
  if (real != MPI_WIN_NULL) return code;
  if (found->mapped > 0) munmap(found->base, found->mapped);
  rank->windows.remove(*win);
  *win = MPI_WIN_NULL;
  return code;
}

/// MPI_Alloc_mem: memory of the rank, which MPI's own would not be.
int allocate_memory(MPI_Aint size, MPI_Info info, void* baseptr) {
  LayerRank* rank = current_rank();
  void* const memory =
      rank && size >= 0 && baseptr ? malloc(static_cast<size_t>(size > 0 ? size : 1)) : nullptr;
  if (!memory)  // an error, but without a rank
    return g_next.MPI_Alloc_mem(size, rank ? real_of(*rank, Object::kInfo, info) : info, baseptr);
  std::memcpy(baseptr, &memory, sizeof memory);
  return MPI_SUCCESS;
}

int free_memory(void* memory) {
  if (!current_rank()) return g_next.MPI_Free_mem(memory);
  free(memory);
  return MPI_SUCCESS;
}

// ---- Questions of the program

/// Where the window keeps the value of a predefined attribute (of which Fortran's number is one
/// more); nullptr for another one.
template <class Give>
bool give_predefined(VirtualWin* win, int keyval, Give&& give) {
  switch (keyval & 1 ? keyval : keyval - 1) {
    case MPI_WIN_SIZE:
      give(&win->bytes);
      return true;
    case MPI_WIN_DISP_UNIT:
      give(&win->unit);
      return true;
    case MPI_WIN_CREATE_FLAVOR:
      give(&win->flavor);
      return true;
    case MPI_WIN_MODEL:
      give(&win->model);
      return true;
    default:
      return false;
  }
}

constexpr int kFormOfC = 0;  ///< in which C gets attributes

/// C gets a pointer to the value, Fortran the value.
int win_attribute(MPI_Win win, int keyval, void* value, int* flag, fgmpi_attr_kind kind) {
  LayerRank* rank = current_rank();
  VirtualWin* found = rank ? find_win(*rank, win) : nullptr;
  if (rank) {
    keyval = real_of(*rank, Object::kKeyval, keyval);
    win = real_of(*rank, Object::kWin, win);
  }
  const int code = kind == kFormOfC ? g_next.MPI_Win_get_attr(win, keyval, value, flag)
                                    : next_internal().win_get_attr(win, keyval, value, flag, kind);
  if (code != MPI_SUCCESS || !*flag || !found || is_virtual(keyval)) return code;
  const bool is_base = (keyval & 1 ? keyval : keyval - 1) == MPI_WIN_BASE;
  if (is_base && found->flavor != MPI_WIN_FLAVOR_DYNAMIC)
    std::memcpy(value, &found->base, sizeof found->base);
  give_predefined(found, keyval, [&](auto* kept) {
    const auto number = static_cast<intptr_t>(*kept);
    if (kind == kFormOfC)
      std::memcpy(value, &kept, sizeof kept);
    else
      std::memcpy(value, &number, sizeof number);
  });
  return code;
}

/// Only the rank's own memory can be loaded and stored where the window is to be carried.
template <class Next, class Unit>
int shared_query(Next next, MPI_Win win, int target, MPI_Aint* size, Unit* unit, void* baseptr) {
  LayerRank* rank = current_rank();
  const VirtualWin* found = rank ? find_win(*rank, win) : nullptr;
  const int code =
      next(rank ? real_of(*rank, Object::kWin, win) : win, target, size, unit, baseptr);
  if (code != MPI_SUCCESS || !found || found->is_shared) return code;
  const bool is_own = target == found->rank || (target == MPI_PROC_NULL && found->bytes > 0);
  if (is_own) *unit = static_cast<Unit>(found->large_unit);
  *size = is_own ? found->bytes : 0;
  std::memset(baseptr, 0, sizeof(void*));
  if (is_own && *size > 0) std::memcpy(baseptr, &found->base, sizeof(void*));
  return code;
}

}  // namespace

// ---- Checkpoints

std::string reason_of_windows(const LayerRank& rank) {
  std::string reason;
  rank.windows.for_each([&](MPI_Win, const VirtualWin* win) {
    if (win->is_shared)
      reason =
          "other ranks load and store the memory of its window (MPI_Win_allocate_shared), and may "
          "go on in other processes";
    if (win->started) reason = "an epoch of MPI_Win_start is open";
    if (win->exposed) reason = "an epoch of MPI_Win_post is open";
  });
  return reason;
}

namespace {

void describe_win(LayerRank& rank, VirtualWin* win) {
  win->described = std::make_unique<WinDescription>();
  WinDescription* d = win->described.get();
  MPI_Group group = MPI_GROUP_NULL;
  g_next.MPI_Win_get_group(win->real, &group);
  d->members = members_of(rank, group);
  g_next.MPI_Group_free(&group);
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  g_next.MPI_Win_get_name(win->real, name, &length);
  d->name.assign(name, static_cast<size_t>(length));
  d->errhandler = own_errhandler(rank, win->real);
  MPI_Info info = MPI_INFO_NULL;
  g_next.MPI_Win_get_info(win->real, &info);
  d->info = contents_of(info);
  g_next.MPI_Info_free(&info);
  d->attributes = take_attributes(rank, Callbacks::Form::kWin, [&](int keyval) {
    g_next.MPI_Win_delete_attr(win->real, keyval);
  });
  g_next.MPI_Win_set_errhandler(win->real, MPI_ERRORS_RETURN);
}

/// An operation of the program's has failed, of which its call has not told: it went by messages.
void report_failed(const LayerRank& rank, const VirtualWin& win, int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  g_next.MPI_Error_string(code, text, &length);
  dprintf(STDERR_FILENO,
          "fgmpi-checkpoint: rank %d has operations on a window (\"%s\") that have failed: %s\n",
          rank.world_rank, win.described->name.c_str(), text);
}

void end_epochs(const LayerRank& rank, const VirtualWin& win) {
  for (const auto& [target, lock] : win.locks)
    report_failed(rank, win, g_next.MPI_Win_unlock(target, win.real));
  if (win.locked_all) report_failed(rank, win, g_next.MPI_Win_unlock_all(win.real));
  if (win.fenced) report_failed(rank, win, g_next.MPI_Win_fence(MPI_MODE_NOSUCCEED, win.real));
}

void remake_win(LayerRank& rank, VirtualWin* win) {
  const WinDescription& d = *win->described;
  const CommOfMembers comm(rank, d.members);
  MPI_Info info = info_of(d.info);
  if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
    g_next.MPI_Win_create_dynamic(info, comm.real(), &win->real);
  else
    g_next.MPI_Win_create_c(win->base, win->bytes, win->large_unit, info, comm.real(), &win->real);
  g_next.MPI_Info_free(&info);
  for (const auto& [base, bytes] : win->attached) g_next.MPI_Win_attach(win->real, base, bytes);
  if (!d.name.empty()) g_next.MPI_Win_set_name(win->real, d.name.c_str());
  set_own_errhandler(rank, win->real, d.errhandler);
  for (const StoredAttribute& a : d.attributes)
    next_internal().win_set_attr(win->real, real_of(rank, Object::kKeyval, a.keyval), a.value,
                                 a.kind);
  if (win->fenced) g_next.MPI_Win_fence(MPI_MODE_NOPRECEDE, win->real);
  win->described.reset();
}

/// No rank waits for another one here: what is locked again was locked at one time.
void lock_again(const VirtualWin& win) {
  for (const auto& [target, lock] : win.locks)
    g_next.MPI_Win_lock(lock.type, target, lock.assertion, win.real);
  if (win.locked_all) g_next.MPI_Win_lock_all(win.lock_all_assertion, win.real);
}

}  // namespace

void describe_windows(LayerRank& rank) {
  rank.windows.for_each([&](MPI_Win, VirtualWin* win) { describe_win(rank, win); });
}

void discard_windows(LayerRank& rank) {
  for_each_by_key(rank.windows, [&](VirtualWin* win) {
    end_epochs(rank, *win);
    g_next.MPI_Win_free(&win->real);
  });
}

void remake_windows(LayerRank& rank) {
  for_each_by_key(rank.windows, [&](VirtualWin* win) { remake_win(rank, win); });
  for_each_by_key(rank.windows, [](const VirtualWin* win) { lock_again(*win); });
}

}  // namespace fgmpi::checkpoint

using namespace fgmpi::checkpoint;

FGMPI_BOTH(MPI_Win_create,
           (void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* win),
           create_win(g_next.MPI_Win_create, base, size, unit, info, comm, win))
FGMPI_BOTH(MPI_Win_create_c,
           (void* base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, MPI_Win* win),
           create_win(g_next.MPI_Win_create_c, base, size, unit, info, comm, win))
FGMPI_BOTH(MPI_Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* win),
           create_dynamic(info, comm, win))
FGMPI_BOTH(MPI_Win_allocate,
           (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
           allocate_win(g_next.MPI_Win_allocate, g_next.MPI_Win_create, MPI_WIN_FLAVOR_ALLOCATE,
                        size, unit, info, comm, baseptr, win))
FGMPI_BOTH(MPI_Win_allocate_c,
           (MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* baseptr,
            MPI_Win* win),
           allocate_win(g_next.MPI_Win_allocate_c, g_next.MPI_Win_create_c, MPI_WIN_FLAVOR_ALLOCATE,
                        size, unit, info, comm, baseptr, win))
FGMPI_BOTH(MPI_Win_allocate_shared,
           (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
           allocate_win(g_next.MPI_Win_allocate_shared, g_next.MPI_Win_create,
                        MPI_WIN_FLAVOR_SHARED, size, unit, info, comm, baseptr, win))
FGMPI_BOTH(MPI_Win_allocate_shared_c,
           (MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* baseptr,
            MPI_Win* win),
           allocate_win(g_next.MPI_Win_allocate_shared_c, g_next.MPI_Win_create_c,
                        MPI_WIN_FLAVOR_SHARED, size, unit, info, comm, baseptr, win))
FGMPI_BOTH(MPI_Win_free, (MPI_Win * win), free_win(win))
FGMPI_BOTH(MPI_Alloc_mem, (MPI_Aint size, MPI_Info info, void* baseptr),
           allocate_memory(size, info, baseptr))
FGMPI_BOTH(MPI_Free_mem, (void* memory), free_memory(memory))
FGMPI_BOTH(MPI_Win_get_attr, (MPI_Win win, int keyval, void* value, int* flag),
           win_attribute(win, keyval, value, flag, kFormOfC))
FGMPI_BOTH(MPI_Win_shared_query,
           (MPI_Win win, int target, MPI_Aint* size, int* unit, void* baseptr),
           shared_query(g_next.MPI_Win_shared_query, win, target, size, unit, baseptr))
FGMPI_BOTH(MPI_Win_shared_query_c,
           (MPI_Win win, int target, MPI_Aint* size, MPI_Aint* unit, void* baseptr),
           shared_query(g_next.MPI_Win_shared_query_c, win, target, size, unit, baseptr))
EXPORT int MPII_Win_get_attr(MPI_Win win, int keyval, void* value, int* flag,
                             fgmpi_attr_kind kind) {
  return win_attribute(win, keyval, value, flag, kind);
}
EXPORT int MPII_Win_set_attr(MPI_Win win, int keyval, void* value, fgmpi_attr_kind kind) {
  LayerRank* rank = current_rank();
  if (!rank) return next_internal().win_set_attr(win, keyval, value, kind);
  return next_internal().win_set_attr(real_of(*rank, Object::kWin, win),
                                      real_of(*rank, Object::kKeyval, keyval), value, kind);
}
