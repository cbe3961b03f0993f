// Reads and writes (MPI-4.0 section 14.4): arguments into an operation, its outcome into a status.

#include "mpi/file/file.h"

namespace fgmpi::mpi {
namespace {

file::FileOperation operation(const char* call, uint8_t kind, MPI_Offset offset, const void* buf,
                              MPI_Count count, MPI_Datatype datatype) {
  file::FileOperation what;
  what.kind = kind;
  what.offset = offset;
  what.address = buf;
  what.count = count;
  what.type = datatype;
  what.call = call;
  return what;
}

void give(MPI_Status* status, int64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  pt2pt::Outcome outcome;
  outcome.bytes = static_cast<uint64_t>(bytes);
  set_status(status, outcome);
}

Status no_memory_left() { return error(MPI_ERR_NO_MEM, "no memory is left for it"); }

}  // namespace

int access_file(const char* call, uint8_t kind, MPI_File fh, MPI_Offset offset, const void* buf,
                MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  file::File* file = file::find(fh);
  if (!file) return bad_file(call, fh);
  file::FileOperation what = operation(call, kind, offset, buf, count, datatype);
  if (!status) what.bad = null_pointer("status");
  int64_t bytes = 0;
  Status result;
  try {
    result = file::run(file, &what, &bytes);
  } catch (const std::bad_alloc&) {
    result = no_memory_left();
  }
  if (status) give(status, bytes);
  return done(call, file, result);
}

int start_access(const char* call, uint8_t kind, MPI_File fh, MPI_Offset offset, const void* buf,
                 MPI_Count count, MPI_Datatype datatype, MPI_Request* request) {
  file::File* file = file::find(fh);
  if (!file) return bad_file(call, fh);
  if (!request) return fail(call, file, null_pointer("request"));
  *request = MPI_REQUEST_NULL;
  file::FileOperation what = operation(call, kind, offset, buf, count, datatype);
  Status status;
  try {
    status = pt2pt::need_handle();
    pt2pt::Request* made = nullptr;
    if (status.ok()) status = file::start(file, &what, &made);
    if (status.ok()) *request = pt2pt::handle_of(made);
  } catch (const std::bad_alloc&) {
    status = no_memory_left();
  }
  return done(call, file, status);
}

int begin_access(const char* call, uint8_t kind, MPI_File fh, MPI_Offset offset, const void* buf,
                 MPI_Count count, MPI_Datatype datatype) {
  file::File* file = file::find(fh);
  if (!file) return bad_file(call, fh);
  file::FileOperation what = operation(call, kind, offset, buf, count, datatype);
  Status status;
  try {
    status = file::begin(file, &what);
  } catch (const std::bad_alloc&) {
    status = no_memory_left();
  }
  return done(call, file, status);
}

int end_access(const char* call, uint8_t kind, MPI_File fh, const void*, MPI_Status* status) {
  file::File* file = file::find(fh);
  if (!file) return bad_file(call, fh);
  int64_t bytes = 0;
  const Status result = file::end(file, kind, call, &bytes);
  if (status) give(status, bytes);
  return done(call, file, result);
}

}  // namespace fgmpi::mpi
