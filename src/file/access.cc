// Individual operations, nonblocking ones, and those of split collectives.

#include "file/access.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/count_words.h"
#include "base/strings.h"
#include "file/ranges.h"
#include "file/request.h"
#include "proclet-sched/coroutine/packing.h"

namespace fgmpi::file {
namespace {

/// The most pieces, and the most bytes, of one transfer: with the direct engine other ranks of the
/// process wait that long.
constexpr size_t kMostPieces = 4096;
constexpr int64_t kMostPieceBytes = int64_t{64} << 20;
/// How long a rank sleeps before it requests again a lock that another process holds.
constexpr int64_t kLockNs = 50'000;

}  // namespace

Status prepare(File* file, const FileOperation& what, pt2pt::Buffer* buffer, int64_t* etypes) {
  *etypes = 0;
  if (!what.bad.ok()) return comm::copy_status(what.bad);
  const SharedFile& shared = *file->shared;
  const bool write = what.kind & kWrite;
  const char* path = shared.descriptor.path().c_str();
  if (what.count < 0)
    return error(MPI_ERR_COUNT, "count is %lld; allowed is 0 or more",
                 static_cast<long long>(what.count));
  if (write && (shared.amode & MPI_MODE_RDONLY))
    return error(MPI_ERR_READ_ONLY, "%s was opened with MPI_MODE_RDONLY; allowed is reading", path);
  if (!write && (shared.amode & MPI_MODE_WRONLY))
    return error(MPI_ERR_ACCESS, "%s was opened with MPI_MODE_WRONLY; allowed is writing", path);
  if (shared.sequential() && !(what.kind & kSharedPointer))
    return error(MPI_ERR_UNSUPPORTED_OPERATION,
                 "%s was opened with MPI_MODE_SEQUENTIAL; allowed are the calls with the shared "
                 "file pointer",
                 path);
  if (!(what.kind & (kIndividualPointer | kSharedPointer)) && what.offset < 0)
    return error(MPI_ERR_ARG, "offset is %lld; allowed is 0 or more",
                 static_cast<long long>(what.offset));
  const MPI_Datatype type =
      what.type == MPI_DATATYPE_NULL && what.count == 0 ? MPI_BYTE : what.type;
  FGMPI_TRY(datatype::Type::of(type, &buffer->type));
  buffer->address = const_cast<void*>(what.address);
  buffer->count = what.count;
  int64_t bytes;
  FGMPI_TRY(Walk::bytes_in_file(*file->view, *buffer, &bytes));
  if (!what.address && bytes > 0 && buffer->type.basic())
    return error(MPI_ERR_BUFFER,
                 "the buffer is a null pointer with count %lld; allowed is null with count 0 only",
                 static_cast<long long>(what.count));
  if (bytes % file->view->etype_size)
    return error(
        MPI_ERR_IO,
        "the buffer has %s, which is no whole number of etypes, of %s each; allowed are buffers "
        "that are made of etypes",
        count_words(static_cast<uint64_t>(bytes), "byte").c_str(),
        count_words(static_cast<uint64_t>(file->view->etype_size), "byte").c_str());
  if (bytes > 0 && file->view->tree->size == 0)
    return error(MPI_ERR_IO,
                 "the buffer has %s, and the view's filetype none; allowed is a buffer of 0 bytes",
                 count_words(static_cast<uint64_t>(bytes), "byte").c_str());
  *etypes = bytes / file->view->etype_size;
  return {};
}

// ---- Atomic mode --------------------------------------------------------------------------------

Status AtomicTurn::wait_for_turn(SharedFile* shared, int fd, int64_t low, int64_t high, bool write,
                                 bool others, const char* call) {
  shared_ = shared;
  if (shared->rank_has_turn) {
    TurnWait mine{sched::current(), nullptr};
    *shared->turns_end = &mine;
    shared->turns_end = &mine.next;
    sched::WaitSite site;
    site.call = call;
    site.deadlocks = false;
    sched::park(&site);
  }
  shared->rank_has_turn = true;
  if (!others || high <= low) return {};
  struct flock range {};
  range.l_type = write ? F_WRLCK : F_RDLCK;
  range.l_whence = SEEK_SET;
  range.l_start = low;
  range.l_len = high - low;
  while (fcntl(fd, F_OFD_SETLK, &range) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EACCES)
      return error(MPI_ERR_UNSUPPORTED_OPERATION,
                   "cannot lock bytes %lld to %lld of %s, which atomic mode needs where several "
                   "processes have the file: %s; without atomic mode no locks are needed, nor with "
                   "all ranks of the file in one process",
                   static_cast<long long>(low), static_cast<long long>(high - 1),
                   shared->descriptor.path().c_str(), std::strerror(errno));
    sched::sleep_for(kLockNs);
  }
  fd_ = fd;
  low_ = low;
  high_ = high;
  return {};
}

int64_t AtomicTurn::wait_to_sieve(SharedFile* shared, int fd, int64_t low, int64_t high,
                                  const char* call) {
  const int64_t bytes = shared->sieve(true);
  // Where the file system has no locks, no rank sieves, so no rank needs locks.
  if (bytes == 0 || !wait_for_turn(shared, fd, low, high, true, true, call).ok()) return 0;
  if (shared->is("romio_ds_write", "enable") || (shared->amode & MPI_MODE_UNIQUE_OPEN))
    return bytes;
  alone_ = shared->descriptor.begin_alone(fd);
  return alone_ ? bytes : 0;
}

AtomicTurn::~AtomicTurn() {
  if (alone_) shared_->descriptor.end_alone(fd_);
  if (fd_ >= 0) {
    struct flock range {};
    range.l_type = F_UNLCK;
    range.l_whence = SEEK_SET;
    range.l_start = low_;
    range.l_len = high_ - low_;
    fcntl(fd_, F_OFD_SETLK, &range);
  }
  if (!shared_) return;
  TurnWait* next = shared_->turns;
  if (!next) {
    shared_->rank_has_turn = false;
    return;
  }
  shared_->turns = next->next;
  if (!shared_->turns) shared_->turns_end = &shared_->turns;
  sched::ready(next->proclet);
}

// ---- Pieces that overlap ------------------------------------------------------------------------

namespace {

/// Writes pieces that may overlap, run by run. Returns the number of bytes that were written.
int64_t write_in_order(Transfer* transfer, const char* call) {
  const std::vector<FilePiece> all = std::move(transfer->pieces);
  int64_t done = 0;
  for (size_t first = 0, end; first < all.size(); first = end) {
    end = end_of_ascending_run(all, first);
    transfer->pieces.assign(&all[first], &all[end - 1] + 1);
    transfer->done = 0;
    file::run(transfer, call);
    done += transfer->done;
    if (transfer->done < transfer->bytes()) break;
  }
  return done;
}

}  // namespace

int64_t move_pieces(Transfer* transfer, bool ascends, const char* call) {
  transfer->done = 0;
  if (ascends) {
    file::run(transfer, call);
    return transfer->done;
  }
  if (transfer->write) return write_in_order(transfer, call);
  std::vector<FilePiece> copies;
  const std::vector<FilePiece> wanted = transfer->pieces;
  std::stable_sort(transfer->pieces.begin(), transfer->pieces.end(),
                   [](const FilePiece& a, const FilePiece& b) { return a.offset < b.offset; });
  split_overlaps(&transfer->pieces, &copies);
  file::run(transfer, call);
  const int64_t end =
      transfer->done < transfer->bytes() ? offset_at(transfer->pieces, transfer->done) : INT64_MAX;
  copy_overlaps(transfer->pieces, copies, end);
  int64_t done = 0;
  for (const FilePiece& p : wanted) {
    const int64_t here = std::clamp<int64_t>(end - p.offset, 0, p.bytes);
    done += here;
    if (here < p.bytes) break;
  }
  return done;
}

// ---- One access ---------------------------------------------------------------------------------

Status transfer_at(File* file, const ViewPtr& view, int64_t offset, const pt2pt::Buffer& buffer,
                   bool write, const char* call, int64_t* bytes) {
  SharedFile* shared = file->shared;
  *bytes = 0;
  Walk walk;
  int64_t position;
  if (__builtin_mul_overflow(offset, view->etype_size, &position))
    return error(MPI_ERR_ARG, "offset is %lld etypes, beyond the largest offset of a file",
                 static_cast<long long>(offset));
  FGMPI_TRY(walk.prepare(view, buffer, write));
  FGMPI_TRY(walk.begin(position));
  if (walk.total() == 0) return {};
  Pin pin;
  FGMPI_TRY(pin.reserve(&shared->descriptor));
  AtomicTurn turn;
  if (shared->atomic)
    FGMPI_TRY(turn.wait_for_turn(shared, pin.fd(), walk.low(), walk.high(), write,
                                 file->comm->shared->processes > 1, call));
  Transfer transfer;
  transfer.fd = pin.fd();
  transfer.write = write;
  transfer.stream = shared->streams();
  transfer.sieve = shared->sieve(write);
  if (write)
    transfer.sieve =
        shared->atomic ? 0 : turn.wait_to_sieve(shared, pin.fd(), walk.low(), walk.high(), call);
  Status status;
  int64_t moved = 0;  // bytes of the file
  while (!walk.at_end()) {
    transfer.pieces.clear();
    walk.next_pieces(INT64_MAX, kMostPieces, kMostPieceBytes, &transfer.pieces);
    int64_t wanted = 0;
    for (const FilePiece& p : transfer.pieces) wanted += p.bytes;
    const int64_t done = move_pieces(&transfer, walk.ascends(), call);
    moved += done;
    status = status_of(transfer, shared->descriptor.path());
    if (!status.ok() || done < wanted) break;
  }
  Status converted = walk.finish(moved, bytes);
  return status.ok() ? std::move(converted) : std::move(status);
}

namespace {

/// Computes where an individual operation of so many etypes begins, and moves the pointer on. May
/// switch.
Status begin_at(File* file, const FileOperation& what, int64_t etypes, int64_t* offset) {
  if (what.kind & kSharedPointer) {
    FGMPI_TRY(fetch_shared(file->shared, etypes, offset, what.call));
    report_offset_to_tool(file, what.kind & kWrite, *offset);
    return {};
  }
  *offset = what.offset;
  if (what.kind & kIndividualPointer) {
    *offset = file->pointer;
    if (__builtin_add_overflow(file->pointer, etypes, &file->pointer)) {
      file->pointer = *offset;
      return error(MPI_ERR_ARG, "an access of %s from %lld on reaches beyond the largest offset",
                   count_words(static_cast<uint64_t>(etypes), "etype").c_str(),
                   static_cast<long long>(*offset));
    }
  }
  return {};
}

/// A nonblocking individual operation.
class AccessRequest final : public FileRequest {
 public:
  using FileRequest::FileRequest;
  pt2pt::Buffer buffer;
  ViewPtr view;
  int64_t offset = 0, etypes = 0;
  bool write = false, shared_pointer = false;
  Status run() {
    if (shared_pointer) {
      FGMPI_TRY(fetch_shared(file->shared, etypes, &offset, call));
      report_offset_to_tool(file, write, offset);
    }
    int64_t bytes = 0;
    Status status = transfer_at(file, view, offset, buffer, write, call, &bytes);
    outcome.bytes = static_cast<uint64_t>(bytes);
    return status;
  }
  void begin_helper() {
    sched::spawn_helper(
        sched::current(),
        [](void* self) {
          auto* request = static_cast<AccessRequest*>(self);
          Status status;
          try {
            status = request->run();
          } catch (const std::bad_alloc&) {
            status = error(MPI_ERR_NO_MEM, "no memory is left for it");
          }
          request->outcome.error = std::move(status);
          request->complete_operation();
        },
        this);
  }
};

}  // namespace

FileRequest::FileRequest(File* of, const char* name) : file(of) {
  call = name;
  of->comm->retain();
  comm_ref = of->comm;
  ++of->pending;
}

FileRequest::~FileRequest() {
  if (comm_ref) comm_ref->release();
}

void FileRequest::complete_operation() {
  File* f = std::exchange(file, nullptr);
  if (f && --f->pending == 0 && f->parked) sched::ready(std::exchange(f->parked, nullptr));
  set_complete();
}

void FileRequest::describe(std::string* out) const {
  *out += call;
  if (file) *out += " on " + file->shared->descriptor.path();
}

Status run(File* file, FileOperation* what, int64_t* bytes) {
  if (what->kind & kCollective) return run_collective(file, what, bytes);
  pt2pt::Buffer buffer;
  *bytes = 0;
  int64_t offset, etypes;
  FGMPI_TRY(prepare(file, *what, &buffer, &etypes));
  FGMPI_TRY(begin_at(file, *what, etypes, &offset));
  const ViewPtr view = file->view;
  return transfer_at(file, view, offset, buffer, what->kind & kWrite, what->call, bytes);
}

Status start(File* file, FileOperation* what, pt2pt::Request** request) {
  if (what->kind & kCollective) return start_collective(file, what, request);
  pt2pt::Buffer buffer;
  int64_t etypes;
  FGMPI_TRY(prepare(file, *what, &buffer, &etypes));
  FGMPI_TRY(sched::ensure_helper());
  sched::keep_unpacked(what->address, 0);
  auto mine = std::make_unique<AccessRequest>(file, what->call);
  mine->write = what->kind & kWrite;
  mine->shared_pointer = what->kind & kSharedPointer;
  mine->view = file->view;
  mine->etypes = etypes;
  if (!mine->shared_pointer) {
    Status placed = begin_at(file, *what, etypes, &mine->offset);
    if (!placed.ok()) {
      --file->pending;
      return placed;
    }
  }
  mine->buffer = std::move(buffer);
  *request = mine.get();
  mine.release()->begin_helper();
  return {};
}

// ---- Split collectives --------------------------------------------------------------------------

struct SplitCollective {
  pt2pt::Request* request;
  uint8_t kind;
  const char* call;
};

Status begin(File* file, FileOperation* what) {
  if (file->split)
    return error(MPI_ERR_OTHER,
                 "%s has a split collective operation under way, of %s; allowed is one a file",
                 file->shared->descriptor.path().c_str(), file->split->call);
  pt2pt::Request* request = nullptr;
  FGMPI_TRY(start_collective(file, what, &request));
  file->split = new SplitCollective{request, what->kind, what->call};
  return {};
}

Status end(File* file, uint8_t kind, const char* call, int64_t* bytes) {
  *bytes = 0;
  if (!file->split)
    return error(MPI_ERR_OTHER, "%s has no split collective operation under way",
                 file->shared->descriptor.path().c_str());
  if (file->split->kind != kind)
    return error(MPI_ERR_OTHER, "%s is under way on %s; allowed is the call that ends it",
                 file->split->call, file->shared->descriptor.path().c_str());
  pt2pt::Request* request = file->split->request;
  delete std::exchange(file->split, nullptr);
  pt2pt::wait(request, call);
  *bytes = static_cast<int64_t>(request->outcome.bytes);
  Status status = std::move(request->outcome.error);
  pt2pt::free_request(request);
  return status;
}

}  // namespace fgmpi::file
