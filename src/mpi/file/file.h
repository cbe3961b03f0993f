// Files as bindings see them (MPI-4.0 chapter 14). A file has its own error handler, for calls that
// name it. The handler of MPI_FILE_NULL is for the other calls, and returns codes unless the
// program sets another one. Thread rule: one thread.
#pragma once

#include <mpi.h>

#include "file/file.h"
#include "mpi/binding.h"
#include "mpi/comm/comm_common.h"

namespace fgmpi::mpi {

/// The result of a call with a handle that is not a file's.
int bad_file(const char* call, MPI_File handle);
/// Makes a code of the error and calls the file's handler; nullptr: that of MPI_FILE_NULL.
int fail(const char* call, file::File* file, const Status& status);
int fail_code(const char* call, file::File* file, int code);
inline int done(const char* call, file::File* file, const Status& status) {
  return __builtin_expect(status.ok(), 1) ? MPI_SUCCESS : fail(call, file, status);
}
inline int done(const char* call, file::File* file, int code) {
  return __builtin_expect(code == MPI_SUCCESS, 1) ? MPI_SUCCESS : fail_code(call, file, code);
}

// ---- The functions that rows of calls.table name ------------------------------------------------
/// May switch.
int open_file(const char* call, MPI_Comm comm, const char* filename, int amode, MPI_Info info,
              MPI_File* fh);
int close_file(const char* call, MPI_File* fh);
int delete_file(const char* call, const char* filename, MPI_Info info);
/// These functions accept MPI_FILE_NULL too.
int get_file_errhandler(const char* call, MPI_File file, MPI_Errhandler* errhandler);
int set_file_errhandler(const char* call, MPI_File file, MPI_Errhandler errhandler);
int call_file_errhandler(const char* call, MPI_File file, int errorcode);

/// MPI_File_get_type_extent and its twin. Never switches.
Status type_extent(file::File* fh, MPI_Datatype datatype, int64_t* extent);

/// Reads and writes. `kind` is a file::Kind; `offset` is for operations without a pointer. Blocking
/// ones may switch.
int access_file(const char* call, uint8_t kind, MPI_File fh, MPI_Offset offset, const void* buf,
                MPI_Count count, MPI_Datatype datatype, MPI_Status* status);
int start_access(const char* call, uint8_t kind, MPI_File fh, MPI_Offset offset, const void* buf,
                 MPI_Count count, MPI_Datatype datatype, MPI_Request* request);
int begin_access(const char* call, uint8_t kind, MPI_File fh, MPI_Offset offset, const void* buf,
                 MPI_Count count, MPI_Datatype datatype);
int end_access(const char* call, uint8_t kind, MPI_File fh, const void* buf, MPI_Status* status);

inline constexpr uint8_t kReadAt = file::kRead, kWriteAt = file::kWrite,
                         kReadAtAll = file::kRead | file::kCollective,
                         kWriteAtAll = file::kWrite | file::kCollective,
                         kReadNext = file::kRead | file::kIndividualPointer,
                         kWriteNext = file::kWrite | file::kIndividualPointer,
                         kReadAll = kReadNext | file::kCollective,
                         kWriteAll = kWriteNext | file::kCollective,
                         kReadShared = file::kRead | file::kSharedPointer,
                         kWriteShared = file::kWrite | file::kSharedPointer,
                         kReadOrdered = kReadShared | file::kCollective,
                         kWriteOrdered = kWriteShared | file::kCollective;

/// MPI_Register_datarep and MPI_Register_datarep_c.
int register_data(const char* call, const char* name, MPI_Datarep_conversion_function* read,
                  MPI_Datarep_conversion_function* write, MPI_Datarep_extent_function* extent,
                  void* state);
int register_data(const char* call, const char* name, MPI_Datarep_conversion_function_c* read,
                  MPI_Datarep_conversion_function_c* write, MPI_Datarep_extent_function* extent,
                  void* state);

}  // namespace fgmpi::mpi
