// Creation and freeing. The collocated members meet at the window's own communicator. The last to
// arrive makes the process's memory object and exchanges the Parts of all processes: one message to
// the first process and one back.

#include <algorithm>

#include "base/attach.h"
#include "base/count_words.h"
#include "base/hash.h"
#include "base/strings.h"
#include "ch4-av-rankmap/process_groups.h"
#include "coll/coll.h"
#include "comm/create.h"
#include "comm/errhandler.h"
#include "comm/hierarchy.h"
#include "proclet-sched/coroutine/packing.h"
#include "pt2pt/engine.h"
#include "rma/internal.h"
#include "rma/message.h"
#include "rma/provider.h"
#include "transport/host_id.h"
#include "transport/registry.h"

namespace fgmpi::rma {
namespace {

constexpr uint8_t kOpCreate = comm::kFirstOther + 48;  ///< behind those of src/comm
constexpr int32_t kTagGather = 1, kTagSpread = 2;
constexpr int64_t kLeastAlignment = 64;  ///< a cache line: members do not share one

struct WinArrival : comm::Arrival {
  Creation* what = nullptr;
  Win* out = nullptr;
};

bool is_of_another_job(uint32_t process) { return process >= g_av.processes(); }

/// True also for a process of another job on this host, although messages to it go through sockets.
bool uses_shared_memory(uint32_t process) {
  if (is_of_another_job(process)) return true;
  const transport::FrameCarrier* t = pt2pt::g_engine.transports.to(process);
  return t && std::string_view(t->name()) == "shm";
}

/// A number that is equal for processes that share memory, also of different jobs. Windows of
/// MPI_Win_allocate_shared share memory with every transport.
uint64_t host_of_mine(int flavor) {
  if (flavor == MPI_WIN_FLAVOR_SHARED || transport::is_wanted("shm"))
    return hash_text(transport::host_id());
  return mix(0x77696e646f77, mix(g_process_groups.own().low, g_av.me()));
}

int64_t aligned(int64_t n, int64_t alignment) {
  return (n + alignment - 1) / alignment * alignment;
}

bool hint_is(const comm::Hints& hints, const char* key, const char* value) {
  return std::any_of(hints.begin(), hints.end(),
                     [&](const auto& hint) { return hint.first == key && hint.second == value; });
}

int64_t alignment_of(const comm::Hints& hints) {
  int64_t alignment = kLeastAlignment;
  for (const auto& [key, value] : hints) {
    if (key != "mpi_minimum_memory_alignment") continue;
    const auto asked = parse_int(value);
    if (asked && *asked > 0 && *asked <= (int64_t{1} << 30) && !(*asked & (*asked - 1)))
      alignment = std::max(alignment, *asked);
  }
  return alignment;
}

void write_part(const WindowPart& part, std::vector<uint8_t>* out) {
  append(out, part.object);
  append(out, part.control_bytes);
  append(out, part.object_base);
  append(out, part.host);
  append(out, part.access_key);
  for (const MemberNumbers* p : {&part.locals, &part.ranks, &part.bases, &part.sizes, &part.units})
    p->write(out);
}

/// `process`: the number that this process has for it. A process of another job may have another
/// number for itself.
void read_part(FieldReader* in, uint32_t process, WindowPart* part) {
  part->process = process;
  part->object = in->get<MemoryObjectName>();
  part->control_bytes = in->get<uint64_t>();
  part->object_base = in->get<uint64_t>();
  part->host = in->get<uint64_t>();
  part->access_key = in->get<uint64_t>();
  for (MemberNumbers* p : {&part->locals, &part->ranks, &part->bases, &part->sizes, &part->units})
    p->read(in);
}

class Maker {
 public:
  Maker(comm::SharedComm* shared, comm::Meeting* meeting)
      : comm_(shared), meeting_(meeting), call_(meeting->call) {}

  /// Makes the window. May switch.
  Status run(SharedWin** out) {
    for (comm::Arrival* a = meeting_->arrivals; a; a = a->next)
      members_.push_back(static_cast<WinArrival*>(a));
    auto local = [&](const WinArrival* a) { return comm::state_of(*comm_, *a)->local; };
    std::sort(members_.begin(), members_.end(),
              [&](auto* a, auto* b) { return local(a) < local(b); });
    first_ = members_[0]->what;
    win_ = new SharedWin;
    win_->id = comm_->id;
    win_->flavor = first_->flavor;
    win_->creating_call = call_;
    win_->parts.resize(1);
    register_shared(win_);
    Status status = make_own_part(&win_->parts[0]);
    status = exchange(std::move(status));
    if (!status.ok()) {
      drop_shared(win_);
      return status;
    }
    settle();
    *out = win_;
    return {};
  }

 private:
  /// near: true where another process of the window may share memory with this one. !near: true
  /// where one may not.
  bool has_other(bool near) {
    if (comm_->processes == 1) return false;
    if (win_->flavor == MPI_WIN_FLAVOR_SHARED) return near;
    const comm::Series& processes = comm::hierarchy(comm_).processes;
    for (uint32_t i = 0; i < processes.size(); ++i)
      if (is_of_another_job(processes[i]) ||
          (processes[i] != g_av.me() && uses_shared_memory(processes[i]) == near))
        return true;
    return false;
  }

  Status make_own_part(WindowPart* part) {
    std::vector<int64_t> locals, ranks, bases, sizes, units;
    for (const WinArrival* a : members_) {
      locals.push_back(comm::state_of(*comm_, *a)->local);
      ranks.push_back(a->rank);
      sizes.push_back(a->what->bytes);
      units.push_back(a->what->unit);
    }
    const auto count = static_cast<uint32_t>(members_.size());
    part->process = g_av.me();
    part->host = host_of_mine(win_->flavor);
    if (has_other(false)) part->access_key = grant_access();
    win_->granted = part->access_key != 0;
    part->control_bytes =
        Control::bytes(count, static_cast<uint32_t>(comm_->size)) + access_table_bytes();
    uint64_t bytes = part->control_bytes;
    if (win_->flavor == MPI_WIN_FLAVOR_ALLOCATE) {
      for (const WinArrival* a : members_) {
        bytes = static_cast<uint64_t>(
            aligned(static_cast<int64_t>(bytes), alignment_of(a->what->hints)));
        bases.push_back(static_cast<int64_t>(bytes));
        if (__builtin_add_overflow(bytes, static_cast<uint64_t>(a->what->bytes), &bytes) ||
            bytes > uint64_t{1} << 62)
          return error(MPI_ERR_NO_MEM,
                       "the sizes of %s of process %u are together more than an address space has",
                       count_words(count, "member").c_str(), g_av.me());
      }
    } else {
      for (const WinArrival* a : members_) {
        if (a->what->base)
          sched::keep_unpacked(a->what->base, static_cast<uint64_t>(a->what->bytes));
        bases.push_back(reinterpret_cast<int64_t>(a->what->base));
      }
    }
    part->memory = std::make_unique<MemoryObject>();
    FGMPI_TRY(part->memory->make(bytes, has_other(true), true));
    part->control = std::make_unique<Control>(part->memory->base(), count);
    part->table = access_table(part->memory->base(), part->control_bytes);
    part->object = part->memory->name();
    part->object_base = reinterpret_cast<uint64_t>(part->memory->base());
    if (win_->flavor == MPI_WIN_FLAVOR_ALLOCATE)
      for (int64_t& base : bases) base += static_cast<int64_t>(part->object_base);
    part->locals = MemberNumbers(locals);
    part->ranks = MemberNumbers(ranks);
    part->bases = MemberNumbers(bases);
    part->sizes = MemberNumbers(sizes);
    part->units = MemberNumbers(units);
    return {};
  }

  /// Encodes the answer of one process: | failed 1 | its error: class 4, text | or its part |.
  static void write_answer(const Status& status, const WindowPart& part,
                           std::vector<uint8_t>* out) {
    append(out, static_cast<uint8_t>(!status.ok()));
    if (status.ok()) return write_part(part, out);
    append(out, status.error_class());
    append_text(out, status.what());
  }
  static Status read_answer(FieldReader* in, uint32_t process, WindowPart* part) {
    if (in->get<uint8_t>()) {
      const int error_class = in->get<int>();
      return error(error_class, "%s", std::string(in->get_text()).c_str());
    }
    read_part(in, process, part);
    return in->failed() ? error(MPI_ERR_INTERN, "a process's part of the window cannot be read")
                        : Status();
  }

  /// Gives every process the parts of all, or the first error of any. May switch.
  Status exchange(Status mine) {
    const uint64_t ctx = comm_->id.plane(comm::kPlaneInternal);
    if (comm_->processes == 1) {
      FGMPI_TRY(std::move(mine));
      return lay_out_common(&win_->parts);
    }
    const comm::Series& processes = comm::hierarchy(comm_).processes;
    const uint32_t root = processes[0];
    std::vector<uint8_t> bytes;
    if (g_av.me() != root) {
      write_answer(mine, win_->parts[0], &bytes);
      FGMPI_TRY(pt2pt::process_send(root, ctx, kTagGather, bytes.data(), bytes.size(), call_));
      FGMPI_TRY(pt2pt::process_recv(root, ctx, kTagSpread, &bytes, call_));
      return adopt_published_parts(bytes);
    }
    std::vector<WindowPart> all(1);
    Status verdict = std::move(mine);
    if (verdict.ok()) {
      write_part(win_->parts[0], &bytes);
      FieldReader copy(bytes.data(), bytes.size());
      read_part(&copy, root, &all[0]);
    }
    for (uint32_t i = 1; i < processes.size(); ++i) {
      FGMPI_TRY(pt2pt::process_recv(processes[i], ctx, kTagGather, &bytes, call_));
      FieldReader in(bytes.data(), bytes.size());
      all.emplace_back();
      Status theirs = read_answer(&in, processes[i], &all.back());
      if (verdict.ok() && !theirs.ok()) verdict = std::move(theirs);
    }
    if (verdict.ok()) verdict = lay_out_common(&all);
    bytes.clear();
    append(&bytes, static_cast<uint8_t>(!verdict.ok()));
    if (verdict.ok()) {
      append(&bytes, win_->common.name());
      append(&bytes, static_cast<uint32_t>(all.size()));
      for (const WindowPart& part : all) write_part(part, &bytes);
    } else {
      append(&bytes, verdict.error_class());
      append_text(&bytes, verdict.what());
    }
    std::vector<pt2pt::Request*> sends;
    for (uint32_t i = 1; i < processes.size(); ++i) {
      pt2pt::Request* send = nullptr;
      Status sent = pt2pt::process_isend(processes[i], ctx, kTagSpread, bytes.data(), bytes.size(),
                                         call_, &send);
      if (verdict.ok() && !sent.ok()) verdict = std::move(sent);
      if (send) sends.push_back(send);
    }
    pt2pt::wait_all(sends.data(), sends.size(), call_);
    for (pt2pt::Request* send : sends) pt2pt::free_request(send);
    if (!verdict.ok()) return verdict;
    return adopt(std::move(all));
  }

  Status adopt_published_parts(const std::vector<uint8_t>& bytes) {
    FieldReader in(bytes.data(), bytes.size());
    if (in.get<uint8_t>()) {
      const int error_class = in.get<int>();
      return error(error_class, "%s", std::string(in.get_text()).c_str());
    }
    const auto common = in.get<MemoryObjectName>();
    const auto count = in.get<uint32_t>();
    const comm::Series& processes = comm::hierarchy(comm_).processes;
    std::vector<WindowPart> all;
    for (uint32_t i = 0; i < count && i < processes.size() && !in.failed(); ++i) {
      all.emplace_back();
      read_part(&in, processes[i], &all.back());
    }
    if (in.failed() || all.size() != processes.size())
      return error(MPI_ERR_INTERN, "what the processes say of the window cannot be read");
    if (win_->flavor == MPI_WIN_FLAVOR_SHARED) FGMPI_TRY(win_->common.open(common));
    return adopt(std::move(all));
  }

  /// Stores the parts of all processes; this process's part keeps its memory.
  Status adopt(std::vector<WindowPart> all) {
    // The processes of several jobs come in an order that is equal in all of these, not in that of
    // their numbers here.
    std::sort(all.begin(), all.end(),
              [](const WindowPart& a, const WindowPart& b) { return a.process < b.process; });
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].process != g_av.me()) continue;
      all[i].memory = std::move(win_->parts[0].memory);
      all[i].control = std::move(win_->parts[0].control);
      all[i].table = win_->parts[0].table;
      win_->me = static_cast<uint32_t>(i);
    }
    win_->parts = std::move(all);
    return {};
  }

  /// Checks what the info key `key` promises: the numbers are equal at all members.
  Status check_same(const std::vector<WindowPart>& parts, const char* key,
                    MemberNumbers WindowPart::*numbers, int error_class, const char* argument) {
    if (!hint_is(first_->hints, key, "true")) return {};
    for (const WindowPart& part : parts)
      for (uint32_t m = 0; m < part.ranks.size(); ++m)
        if ((part.*numbers)[m] != (parts[0].*numbers)[0])
          return error(
              error_class,
              "%s is %lld at rank %lld and %lld at rank %lld; allowed with the info key %s "
              "is the same at all",
              argument, static_cast<long long>((part.*numbers)[m]),
              static_cast<long long>(part.ranks[m]), static_cast<long long>((parts[0].*numbers)[0]),
              static_cast<long long>(parts[0].ranks[0]), key);
    return {};
  }

  /// Lays out the memory of MPI_Win_allocate_shared: members one behind the other in rank order, in
  /// an object that this process makes.
  Status lay_out_common(std::vector<WindowPart>* parts) {
    FGMPI_TRY(check_same(*parts, "same_size", &WindowPart::sizes, MPI_ERR_SIZE, "size"));
    FGMPI_TRY(check_same(*parts, "same_disp_unit", &WindowPart::units, MPI_ERR_DISP, "disp_unit"));
    if (win_->flavor != MPI_WIN_FLAVOR_SHARED) return {};
    struct SharedSegment {
      int64_t rank, size;
      uint32_t part, member;
    };
    std::vector<SharedSegment> places;
    for (uint32_t p = 0; p < parts->size(); ++p) {
      const WindowPart& part = (*parts)[p];
      if (part.host != (*parts)[0].host)
        return error(MPI_ERR_RMA_SHARED,
                     "processes %u and %u are on different hosts; allowed are communicators as "
                     "MPI_COMM_TYPE_SHARED makes them",
                     (*parts)[0].process, part.process);
      for (uint32_t m = 0; m < part.locals.size(); ++m)
        places.push_back({part.ranks[m], part.sizes[m], p, m});
    }
    std::sort(places.begin(), places.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
    std::vector<std::vector<int64_t>> bases(parts->size());
    for (uint32_t p = 0; p < parts->size(); ++p) bases[p].resize((*parts)[p].locals.size());
    const bool apart = hint_is(first_->hints, "alloc_shared_noncontig", "true");
    const int64_t alignment = alignment_of(first_->hints);
    int64_t offset = 0;
    for (const SharedSegment& place : places) {
      if (apart) offset = aligned(offset, alignment);
      bases[place.part][place.member] = offset;
      if (__builtin_add_overflow(offset, place.size, &offset) || offset > int64_t{1} << 62)
        return error(MPI_ERR_NO_MEM, "the sizes of all ranks are more than an address space has");
    }
    for (uint32_t p = 0; p < parts->size(); ++p) (*parts)[p].bases = MemberNumbers(bases[p]);
    const auto bytes = page_up(static_cast<size_t>(std::max<int64_t>(offset, 1)));
    return win_->common.make(bytes, comm_->processes > 1, false);
  }

  /// Decides which parts are near, and what follows from that; makes the members' windows.
  void settle() {
    const bool users =
        win_->flavor == MPI_WIN_FLAVOR_CREATE || win_->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    win_->no_locks = hint_is(first_->hints, "no_locks", "true");
    std::unordered_map<uint64_t, uint32_t> on_host;
    for (const WindowPart& part : win_->parts) ++on_host[part.host];
    for (WindowPart& part : win_->parts) {
      part.locked = users && on_host[part.host] > 1;
      part.alone = on_host[part.host] == 1;
      part.near = part.process != g_av.me() && part.host == win_->own().host &&
                  (win_->flavor == MPI_WIN_FLAVOR_SHARED || uses_shared_memory(part.process));
      if (part.near && users) attach_permission().allow(part.object.pid);
    }
    const WindowPart& own = win_->own();
    for (uint32_t m = 0; m < members_.size(); ++m) {
      Creation* what = members_[m]->what;
      if (win_->flavor == MPI_WIN_FLAVOR_SHARED)  // null without memory, as under MPICH
        what->base = what->bytes > 0 ? win_->common.base() + own.bases[m] : nullptr;
      else if (win_->flavor == MPI_WIN_FLAVOR_ALLOCATE)
        what->base = reinterpret_cast<void*>(own.bases[m]);
      members_[m]->status = enter(win_, members_[m]->comm, &members_[m]->out);
    }
  }

  comm::SharedComm* comm_;
  comm::Meeting* meeting_;
  const char* call_;
  std::vector<WinArrival*> members_;
  const Creation* first_ = nullptr;
  SharedWin* win_ = nullptr;
};

void make_window(comm::SharedComm* shared, comm::Meeting* meeting) {
  start_messages();
  SharedWin* made = nullptr;
  Status status = Maker(shared, meeting).run(&made);
  if (!status.ok()) comm::fail_all(meeting, status);
}

Status check(const comm::Comm* comm, const Creation& what) {
  if (comm->shared->inter)
    return error(MPI_ERR_COMM, "comm is an intercommunicator; allowed is an intracommunicator");
  if (what.bytes < 0)
    return error(MPI_ERR_SIZE, "size is %lld; allowed is 0 or more",
                 static_cast<long long>(what.bytes));
  if (what.unit <= 0)
    return error(MPI_ERR_DISP, "disp_unit is %lld; allowed is 1 or more",
                 static_cast<long long>(what.unit));
  if (what.flavor == MPI_WIN_FLAVOR_CREATE && !what.base && what.bytes > 0)
    return error(MPI_ERR_BASE, "base is a null pointer with size %lld; allowed is null with size 0",
                 static_cast<long long>(what.bytes));
  return {};
}

}  // namespace

Status create(comm::Comm* comm, Creation* what, Win** out) {
  FGMPI_TRY(check(comm, *what));
  comm::Comm* own = nullptr;
  FGMPI_TRY(comm::dup(comm, &own, what->call));
  comm::release_errhandler(own->errhandler);
  own->errhandler = MPI_ERRHANDLER_NULL;
  WinArrival mine;
  mine.what = what;
  Status status = comm::meet(own, &mine, kOpCreate, what->call, make_window);
  if (!status.ok()) {
    comm::free(own);
    return status;
  }
  *out = mine.out;
  return {};
}

Status free(Win* win, const char* call) {
  if (const MemberEpochs* a = win->access.get()) {
    if (a->epoch == Epoch::kLock || a->epoch == Epoch::kLockAll || a->epoch == Epoch::kStart ||
        a->exposed)
      return error(MPI_ERR_RMA_SYNC,
                   "%s is in %s; allowed is freeing it when all epochs are closed",
                   name_of(win).c_str(),
                   a->exposed ? "an exposure epoch of MPI_Win_post" : "an access epoch");
    drain(win, call);
  }
  FGMPI_TRY(coll::barrier(win->comm, call));
  leave(win);
  return {};
}

}  // namespace fgmpi::rma
