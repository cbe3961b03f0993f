// Opening and closing; sizes, views, modes and hints, which all members agree on.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <random>

#include "base/count_words.h"
#include "base/environment.h"
#include "base/hash.h"
#include "base/host_name.h"
#include "base/slab.h"
#include "base/strings.h"
#include "coll/coll.h"
#include "comm/create.h"
#include "comm/errhandler.h"
#include "file/access.h"
#include "file/aggregators.h"
#include "file/hints.h"
#include "file/processes.h"
#include "file/shared_pointer.h"
#include "host/handle_bits.h"
#include "transport/host_id.h"

namespace fgmpi::file {
namespace {

constexpr uint8_t kOpOpen = comm::kFirstOther + 64, kOpTogether = kOpOpen + 1;
constexpr uint32_t kHandleBase =
    host::handle_base(host::HandleKind::kDirect, host::HandleObject::kFile);

Slab<File> g_files;

// ---- What all members do together ---------------------------------------------------------------

/// Members meet with a value that must be equal at all of them; then one member of each process
/// (and the first member of the first process) acts.
struct Together : comm::Arrival {
  File* file = nullptr;
  int64_t value = 0;
  uint8_t flags = 0;  ///< afterwards: any member's
  Status bad;
  const char* what = "";  ///< the value's name
  Status (*root)(SharedFile* shared, int64_t value) = nullptr;
  Status (*each)(SharedFile* shared, int64_t value) = nullptr;
};

Status act_together(comm::SharedComm* shared, comm::Meeting* meeting) {
  const Processes processes(shared, meeting);
  const auto* first = static_cast<Together*>(meeting->arrivals);
  Status mine;
  for (comm::Arrival* a = meeting->arrivals; a; a = a->next) {
    const auto* t = static_cast<Together*>(a);
    if (mine.ok() && !t->bad.ok()) mine = comm::copy_status(t->bad);
  }
  for (comm::Arrival* a = meeting->arrivals; a; a = a->next) {
    const auto* t = static_cast<Together*>(a);
    if (mine.ok() && t->value != first->value)
      mine =
          error(MPI_ERR_NOT_SAME, "%s is %lld at rank %d and %lld at rank %d; allowed is one value",
                first->what, static_cast<long long>(first->value), first->rank,
                static_cast<long long>(t->value), t->rank);
  }
  Bytes bytes;
  std::vector<Bytes> all;
  uint8_t flags = 0;
  for (comm::Arrival* a = meeting->arrivals; a; a = a->next)
    flags |= static_cast<Together*>(a)->flags;
  append(&bytes, first->value);
  append(&bytes, flags);
  write_status(mine, &bytes);
  FGMPI_TRY(processes.gather_all(bytes, &all));
  // An argument that is bad at one member is reported before values that differ, at all members.
  Status differs;
  for (const Bytes& one : all) {
    FieldReader in(one.data(), one.size());
    const auto value = in.get<int64_t>();
    flags |= in.get<uint8_t>();
    FGMPI_TRY(read_status(&in));
    if (value != first->value)
      differs = error(
          MPI_ERR_NOT_SAME, "%s is %lld and %lld at ranks of two processes; allowed is one value",
          first->what, static_cast<long long>(first->value), static_cast<long long>(value));
  }
  FGMPI_TRY(std::move(differs));
  for (comm::Arrival* a = meeting->arrivals; a; a = a->next)
    static_cast<Together*>(a)->flags = flags;
  SharedFile* file = first->file->shared;
  if (first->root) {
    Status done;
    if (processes.me() == 0) done = first->root(file, first->value);
    FGMPI_TRY(processes.agree(std::move(done)));
  }
  if (first->each) return processes.agree(first->each(file, first->value));
  return {};
}

void meet_together(comm::SharedComm* shared, comm::Meeting* meeting) {
  const Status status = act_together(shared, meeting);
  for (comm::Arrival* a = meeting->arrivals; a; a = a->next) a->status = comm::copy_status(status);
}

Status together(Together* mine, File* file, const char* call) {
  mine->file = file;
  return comm::meet(file->comm, mine, kOpTogether, call, meet_together);
}

// ---- Opening ------------------------------------------------------------------------------------

Status check_amode(int amode) {
  constexpr int kAll = MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY | MPI_MODE_CREATE |
                       MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN |
                       MPI_MODE_APPEND | MPI_MODE_SEQUENTIAL;
  const int ways = amode & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY);
  if (std::popcount(static_cast<unsigned>(ways)) != 1 || (amode & ~kAll))
    return error(MPI_ERR_AMODE,
                 "amode is 0x%x; allowed is exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and "
                 "MPI_MODE_WRONLY, with other modes",
                 static_cast<unsigned>(amode));
  if (ways == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)))
    return error(
        MPI_ERR_AMODE,
        "amode is 0x%x, MPI_MODE_RDONLY with MPI_MODE_CREATE or MPI_MODE_EXCL; allowed are "
        "these with MPI_MODE_RDWR or MPI_MODE_WRONLY",
        static_cast<unsigned>(amode));
  if (ways == MPI_MODE_RDWR && (amode & MPI_MODE_SEQUENTIAL))
    return error(
        MPI_ERR_AMODE,
        "amode is 0x%x, MPI_MODE_RDWR with MPI_MODE_SEQUENTIAL; allowed is MPI_MODE_RDONLY "
        "or MPI_MODE_WRONLY with it",
        static_cast<unsigned>(amode));
  return {};
}

/// The members that open the file meet once: the last one to arrive also makes the file's own
/// communicator.
struct Opener : comm::CreateArrival {
  const OpenArguments* what = nullptr;
  File* file = nullptr;
};

int flags_of(int amode) {
  return amode & MPI_MODE_RDWR ? O_RDWR : amode & MPI_MODE_WRONLY ? O_WRONLY : O_RDONLY;
}

class Open {
 public:
  Open(comm::SharedComm* comm, comm::Meeting* meeting) : comm_(comm), processes_(comm, meeting) {
    for (comm::Arrival* a = meeting->arrivals; a; a = a->next)
      members_.push_back(static_cast<Opener*>(a));
    auto before = [](const Opener* a, const Opener* b) { return a->rank < b->rank; };
    if (!std::is_sorted(members_.begin(), members_.end(), before))
      std::sort(members_.begin(), members_.end(), before);
    first_ = members_[0]->what;
  }

  /// Opens the file. May switch.
  Status run() {
    auto shared = std::make_unique<SharedFile>();
    shared->id = comm_->id;
    shared->amode = first_->amode;
    FGMPI_TRY(same_everywhere(shared.get()));
    const std::string path = plain_path(first_->name);
    const int64_t perm = octal(shared->hints, "file_perm", 0666);
    Status status;
    // One process creates the file, before the others open it.
    if (first_->amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) {
      if (processes_.me() == 0) {
        int flags = flags_of(first_->amode);
        if (first_->amode & MPI_MODE_CREATE) flags |= O_CREAT;
        if (first_->amode & MPI_MODE_EXCL) flags |= O_EXCL;
        status = shared->descriptor.open(path, flags, static_cast<mode_t>(perm));
      }
      FGMPI_TRY(processes_.agree(std::move(status)));
    }
    const bool open_here =
        processes_.me() == 0 && (first_->amode & (MPI_MODE_CREATE | MPI_MODE_EXCL));
    if (!open_here && opens_later(*shared))
      shared->descriptor.open_later(path, flags_of(first_->amode));
    else if (!open_here)
      status = shared->descriptor.open(path, flags_of(first_->amode), 0);
    int64_t end = 0;
    if (status.ok() && (first_->amode & MPI_MODE_APPEND)) status = end_of(shared.get(), &end);
    const auto rank0 = static_cast<uint32_t>(comm_->map.world_of(0));
    uint32_t local;
    shared->leader = g_av.is_mine(rank0, &local) ? g_av.me() : g_av.locate(rank0).process;
    shared->shared_pointer = end;
    // Other processes may use the pointer as soon as they have learned that all have opened the
    // file.
    register_shared(shared.get());
    status = processes_.agree(std::move(status));
    if (!status.ok()) {
      drop_shared(shared.get());
      return status;
    }
    if (!(first_->amode & MPI_MODE_DELETE_ON_CLOSE)) shared->descriptor.may_be_closed();
    shared->descriptor.advise(advice(shared->hints));
    // Descriptors that only write can only have locks that exclude all others, so one process has
    // one.
    if (first_->amode & MPI_MODE_WRONLY) token_ = static_cast<uint32_t>(std::random_device()());
    if (!(first_->amode & MPI_MODE_RDONLY)) shared->descriptor.announce(token_);
    for (Opener* m : members_) {
      m->status = enter(shared.get(), m->out, &m->file);
      if (m->file) m->file->pointer = end;
    }
    shared.release();
    return {};
  }

 private:
  /// The access mode is that of all ranks, and the hints are those of rank 0.
  Status same_everywhere(SharedFile* shared) {
    Status mine;
    for (const Opener* m : members_) {
      if (!m->status.ok())
        mine = comm::copy_status(m->status);
      else if (m->what->amode != first_->amode)
        mine = error(MPI_ERR_NOT_SAME,
                     "amode is 0x%x at rank %d and 0x%x at rank %d; allowed is one value",
                     static_cast<unsigned>(first_->amode), members_[0]->rank,
                     static_cast<unsigned>(m->what->amode), m->rank);
      else if (m->what->name != first_->name && std::strcmp(m->what->name, first_->name) != 0 &&
               !same_file(m->what->name))
        mine =
            error(MPI_ERR_NOT_SAME,
                  "filename is \"%s\" at rank %d and \"%s\" at rank %d; allowed are names of one "
                  "file",
                  first_->name, members_[0]->rank, m->what->name, m->rank);
      if (!mine.ok()) break;
    }
    if (mine.ok()) mine = check_amode(first_->amode);
    const char* forced = environment::text(environment::kRomioFstypeForce);
    if (mine.ok() && forced && !is_file_system(forced))
      mine = error(MPI_ERR_ARG,
                   "ROMIO_FSTYPE_FORCE is \"%s\"; allowed are file systems as ROMIO names them: "
                   "ufs:, nfs:, xfs:, lustre: and others",
                   forced);
    Bytes bytes;
    std::vector<Bytes> all;
    append(&bytes, first_->amode);
    append(&bytes, hash_text(transport::host_id()));
    append_text(&bytes, host_name());
    append(&bytes, members_[0]->rank);
    append(&bytes, static_cast<uint32_t>(std::random_device()()));
    write_status(mine, &bytes);
    if (processes_.me() == 0) {
      comm::Hints used = default_hints();
      use_hints(first_->hints, &used, false);
      write_hints(used, &bytes);
    }
    FGMPI_TRY(processes_.gather_all(bytes, &all));
    std::vector<FileProcess> places;
    std::vector<int> ranks;
    for (size_t i = 0; i < all.size(); ++i) {
      FieldReader in(all[i].data(), all[i].size());
      const int amode = in.get<int>();
      const auto host = in.get<uint64_t>();
      places.push_back({host, std::string(in.get_text())});
      ranks.push_back(in.get<int>());
      const auto token = in.get<uint32_t>();
      if (i == 0) token_ = token;
      FGMPI_TRY(read_status(&in));
      if (i == 0) shared->hints = read_hints(&in);
      if (amode != first_->amode)
        return error(MPI_ERR_NOT_SAME,
                     "amode is 0x%x and 0x%x at ranks of two processes; allowed is one value",
                     static_cast<unsigned>(first_->amode), static_cast<unsigned>(amode));
    }
    comm::Hints& hints = shared->hints;
    shared->aggregators =
        choose_aggregators(places, text(hints, "cb_config_list"), shared->number("cb_nodes", 0));
    std::string list;
    for (uint32_t i : shared->aggregators)
      list += (list.empty() ? "" : " ") + std::to_string(ranks[i]);
    comm::put_hint(&hints, {"cb_nodes", std::to_string(shared->aggregators.size())});
    comm::put_hint(&hints, {"romio_aggregator_list", list});
    if (shared->is("romio_no_indep_rw", "true")) {
      comm::put_hint(&hints, {"romio_cb_read", "enable"});
      comm::put_hint(&hints, {"romio_cb_write", "enable"});
    }
    if (processes_.me() == 0) print_hints_if_requested(hints);
    return {};
  }
  /// With romio_no_indep_rw only aggregators open the file; other processes open it when they need
  /// it.
  bool opens_later(const SharedFile& shared) const {
    return shared.is("romio_no_indep_rw", "true") && !(first_->amode & MPI_MODE_APPEND) &&
           std::find(shared.aggregators.begin(), shared.aggregators.end(), processes_.me()) ==
               shared.aggregators.end();
  }
  bool same_file(const char* name) const {
    struct stat a, b;
    return stat(plain_path(name).c_str(), &a) == 0 &&
           stat(plain_path(first_->name).c_str(), &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
  }
  static Status end_of(SharedFile* shared, int64_t* end) {
    Pin pin;
    FGMPI_TRY(pin.reserve(&shared->descriptor));
    struct stat about;
    if (fstat(pin.fd(), &about) != 0)
      return io_error(errno, "ask for the size of " + shared->descriptor.path());
    *end = about.st_size;
    return {};
  }
  static Status enter(SharedFile* shared, comm::Comm* comm, File** out) {
    const int64_t index = g_files.create();
    if (index < 0)
      return error(MPI_ERR_OTHER,
                   "this process has %u files of its ranks in use, the most that are allowed",
                   g_files.live());
    File* file = g_files.get(static_cast<uint32_t>(index));
    file->shared = shared;
    file->comm = comm;
    file->index = static_cast<uint32_t>(index);
    file->view = default_view();
    ++shared->references;
    *out = file;
    return {};
  }

  comm::SharedComm* comm_;
  Processes processes_;
  std::vector<Opener*> members_;
  const OpenArguments* first_;
  uint32_t token_ = 0;  ///< a random number of the handle
};

void act_open(comm::SharedComm* shared, comm::Meeting* meeting) {
  start_messages();
  comm::SharedComm* made = nullptr;
  Status status = comm::dup_for_all(shared, meeting, &made);
  if (status.ok()) status = Open(made, meeting).run();
  if (!status.ok()) comm::fail_all(meeting, status);
}

}  // namespace

File* find(MPI_File handle) {
  const auto bits = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(handle));
  const auto low = static_cast<uint32_t>(bits);
  if ((bits >> 32) != 0 || (low & host::kHandleTypeMask) != kHandleBase) return nullptr;
  return g_files.get(low & host::kHandleIndexMask);
}

MPI_File handle_of(const File* file) {
  return reinterpret_cast<MPI_File>(uintptr_t{kHandleBase | file->index});
}

File* find_by_comm(const comm::Comm* comm) {
  File* found = nullptr;
  g_files.for_each([&](uint32_t, File& file) {
    if (file.comm == comm) found = &file;
  });
  return found;
}

void for_each_unfreed(void (*visit)(const File& file, void* argument), void* argument) {
  g_files.for_each([&](uint32_t, File& file) { visit(file, argument); });
}

Status open(comm::Comm* comm, const OpenArguments& what, File** out) {
  if (comm->shared->inter)
    return error(MPI_ERR_COMM, "comm is an intercommunicator; allowed is an intracommunicator");
  Opener mine;
  mine.what = &what;
  Status status = comm::meet(comm, &mine, kOpOpen, "MPI_File_open", act_open);
  if (mine.out) {
    comm::release_errhandler(mine.out->errhandler);
    mine.out->errhandler = MPI_ERRORS_RETURN;
    if (!status.ok()) comm::free(mine.out);
  }
  *out = mine.file;
  return status;
}

Status close(File* file, bool* closed) {
  SharedFile* shared = file->shared;
  if (file->split)
    return error(MPI_ERR_OTHER,
                 "%s has a split collective operation under way, of %s; allowed is closing it when "
                 "that has ended",
                 shared->descriptor.path().c_str(), "MPI_File_..._begin");
  if (file->pending > 0) {
    sched::WaitSite site;
    site.call = "MPI_File_close";
    site.deadlocks = false;
    file->parked = sched::current();
    sched::park(&site);
  }
  Together mine;
  mine.each = [](SharedFile* s, int64_t) { return s->descriptor.close(); };
  if (shared->amode & MPI_MODE_DELETE_ON_CLOSE)
    mine.root = [](SharedFile* s, int64_t) {
      // The file may be gone already, which is no error.
      if (::unlink(s->descriptor.path().c_str()) != 0 && errno != ENOENT)
        return io_error(errno, "delete " + s->descriptor.path());
      return Status();
    };
  *closed = true;
  return together(&mine, file, "MPI_File_close");
}

void leave(File* file) {
  SharedFile* shared = file->shared;
  comm::Comm* comm = file->comm;
  g_files.destroy(file->index);
  if (--shared->references == 0) {
    drop_shared(shared);
    delete shared;
  }
  comm::free(comm);
}

Status remove(const char* name) {
  const std::string path = plain_path(name);
  if (::unlink(path.c_str()) == 0) return {};
  return io_error(errno, "delete " + path);
}

// ---- Sizes --------------------------------------------------------------------------------------

namespace {

Status with_descriptor(SharedFile* shared, Status (*use)(int fd, SharedFile*, int64_t),
                       int64_t value) {
  Pin pin;
  FGMPI_TRY(pin.reserve(&shared->descriptor));
  return use(pin.fd(), shared, value);
}

Status check_size(const File* file, int64_t bytes) {
  const SharedFile& shared = *file->shared;
  if (bytes < 0)
    return error(MPI_ERR_ARG, "size is %lld; allowed is 0 or more", static_cast<long long>(bytes));
  if (shared.amode & MPI_MODE_RDONLY)
    return error(MPI_ERR_READ_ONLY, "%s was opened with MPI_MODE_RDONLY; allowed is reading",
                 shared.descriptor.path().c_str());
  if (shared.sequential())
    return error(MPI_ERR_UNSUPPORTED_OPERATION,
                 "%s was opened with MPI_MODE_SEQUENTIAL, which has no sizes",
                 shared.descriptor.path().c_str());
  return {};
}

Status truncate_to(int fd, SharedFile* shared, int64_t bytes) {
  while (ftruncate(fd, bytes) != 0)
    if (errno != EINTR)
      return io_error(errno, format("set the size of %s to %s", shared->descriptor.path().c_str(),
                                    count_words(static_cast<uint64_t>(bytes), "byte").c_str()));
  return {};
}

Status allocate(int fd, SharedFile* shared, int64_t bytes) {
  if (bytes == 0) return {};
  int code;
  do code = posix_fallocate(fd, 0, bytes);
  while (code == EINTR);
  if (code == 0) return {};
  return io_error(code, format("preallocate %s of %s",
                               count_words(static_cast<uint64_t>(bytes), "byte").c_str(),
                               shared->descriptor.path().c_str()));
}

Status synchronise(int fd, SharedFile* shared, int64_t) {
  while (fsync(fd) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == EROFS) return {};  // a pipe, a file system without
    return io_error(errno, "synchronise " + shared->descriptor.path());
  }
  return {};
}

/// Lets `root` give the file a size, or room for it, on which all members must agree. Collective,
/// may switch.
Status make_size(File* file, int64_t bytes, decltype(Together::root) root, const char* call) {
  Together mine;
  mine.bad = check_size(file, bytes);
  mine.value = bytes;
  mine.what = "size";
  mine.root = root;
  return together(&mine, file, call);
}

}  // namespace

Status set_size(File* file, int64_t bytes) {
  return make_size(
      file, bytes, [](SharedFile* s, int64_t n) { return with_descriptor(s, truncate_to, n); },
      "MPI_File_set_size");
}

Status preallocate(File* file, int64_t bytes) {
  return make_size(
      file, bytes, [](SharedFile* s, int64_t n) { return with_descriptor(s, allocate, n); },
      "MPI_File_preallocate");
}

Status size_of(File* file, int64_t* bytes, const char*) {
  Pin pin;
  FGMPI_TRY(pin.reserve(&file->shared->descriptor));
  struct stat about;
  if (fstat(pin.fd(), &about) != 0)
    return io_error(errno, "ask for the size of " + file->shared->descriptor.path());
  *bytes = about.st_size;
  return {};
}

Status sync(File* file) {
  Together mine;
  mine.each = [](SharedFile* s, int64_t) {
    return s->amode & MPI_MODE_RDONLY ? Status() : with_descriptor(s, synchronise, 0);
  };
  return together(&mine, file, "MPI_File_sync");
}

Status set_atomicity(File* file, int flag) {
  Together mine;
  mine.value = flag != 0;
  mine.what = "flag";
  mine.each = [](SharedFile* s, int64_t value) {
    s->atomic = value;
    return Status();
  };
  return together(&mine, file, "MPI_File_set_atomicity");
}

Status seek_shared(File* file, int64_t offset, int whence) {
  Together mine;
  mine.bad = sought(file, offset, whence, &mine.value);
  mine.what = "the position sought";
  mine.each = [](SharedFile* s, int64_t value) {
    if (s->leader == g_av.me()) s->shared_pointer = value;
    return Status();
  };
  return together(&mine, file, "MPI_File_seek_shared");
}

// ---- Views and hints ----------------------------------------------------------------------------

namespace {

/// `current`: the shared pointer's position, in bytes.
Status view_for(File* file, int64_t current, int64_t* disp, MPI_Datatype etype,
                MPI_Datatype filetype, const char* datarep, ViewPtr* view) {
  const bool sequential = file->shared->sequential();
  if (*disp == MPI_DISPLACEMENT_CURRENT) {
    if (!sequential)
      return error(
          MPI_ERR_ARG,
          "disp is MPI_DISPLACEMENT_CURRENT; allowed is it with MPI_MODE_SEQUENTIAL, else 0 "
          "or more");
    *disp = current;
  } else if (sequential) {
    return error(MPI_ERR_ARG,
                 "disp is %lld; allowed with MPI_MODE_SEQUENTIAL is MPI_DISPLACEMENT_CURRENT",
                 static_cast<long long>(*disp));
  }
  FGMPI_TRY(
      make_view(*disp, etype, filetype, datarep, !(file->shared->amode & MPI_MODE_RDONLY), view));
  if (sequential && !(*view)->contiguous())
    return error(MPI_ERR_UNSUPPORTED_OPERATION,
                 "filetype has holes; allowed with MPI_MODE_SEQUENTIAL is one without");
  return {};
}

/// One member whose writes sieve makes all members' writes lock, also those that do not sieve.
enum : uint8_t { kShortPieces = 1, kSieves = 2, kSievesNot = 4 };

uint8_t sieving_of(const comm::Hints& hints) {
  const std::string wanted = text(hints, "romio_ds_write");
  return wanted == "enable" ? kSieves : wanted == "disable" ? kSievesNot : 0;
}

void use_agreed_hints(const comm::Hints& hints, uint8_t flags, SharedFile* shared) {
  use_hints(hints, &shared->hints, true);
  if (flags & (kSieves | kSievesNot))
    comm::put_hint(&shared->hints, {"romio_ds_write", flags & kSieves ? "enable" : "disable"});
  if (!hints.empty()) shared->descriptor.advise(advice(shared->hints));
}

/// Pieces that cost less to write with the gaps between them than by a system call each
/// (transfer.cc), by the first two.
bool has_short_pieces(const View& view) {
  constexpr int64_t kShort = 1024;
  if (view.contiguous() || !view.ascends) return false;
  datatype::TypeCursor at(*view.tree);
  const datatype::TypeRun first = at.next(view.tree->size);
  return at.peek().offset + at.peek().bytes - first.offset <= 2 * kShort;
}

}  // namespace

Status set_view(File* file, int64_t disp, MPI_Datatype etype, MPI_Datatype filetype,
                const char* datarep, const comm::Hints& hints) {
  ViewPtr view;
  Together mine;
  int64_t current = 0;
  if (disp == MPI_DISPLACEMENT_CURRENT && file->shared->sequential()) {
    FGMPI_TRY(position_shared(file, &current, "MPI_File_set_view"));
    FGMPI_TRY(byte_offset(file, current, &current));
  }
  mine.bad = view_for(file, current, &disp, etype, filetype, datarep, &view);
  // The size of the etype and the representation must be equal at all members.
  mine.flags = sieving_of(hints);
  if (view && has_short_pieces(*view)) mine.flags |= kShortPieces;
  if (view) mine.value = view->etype_size << 8 | static_cast<int64_t>(std::strlen(datarep));
  mine.what = "the size of etype (times 256, plus the length of datarep)";
  mine.each = [](SharedFile* s, int64_t) {
    if (s->leader == g_av.me()) s->shared_pointer = 0;
    return Status();
  };
  FGMPI_TRY(together(&mine, file, "MPI_File_set_view"));
  file->shared->short_pieces = mine.flags & kShortPieces;
  use_agreed_hints(hints, mine.flags, file->shared);
  file->view = std::move(view);
  file->pointer = 0;
  return {};
}

Status set_info(File* file, const comm::Hints& hints) {
  Together mine;
  mine.flags = sieving_of(hints);
  FGMPI_TRY(together(&mine, file, "MPI_File_set_info"));
  use_agreed_hints(hints, mine.flags, file->shared);
  return {};
}

}  // namespace fgmpi::file
