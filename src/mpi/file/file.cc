// Files: opening, modes, views, pointers, error handlers (MPI-4.0 sections 14.2, 14.3, 14.6 and
// 9.3).

#include "mpi/file/file.h"

#include <cstring>

#include "comm/errhandler.h"
#include "comm/info.h"
#include "mpi/calls.h"
#include "mpi/life/session.h"

namespace fgmpi::mpi {

int bad_file(const char* call, MPI_File handle) {
  if (!usable()) return bad_comm(call, MPI_COMM_SELF);
  return fail(call, static_cast<file::File*>(nullptr),
              error(MPI_ERR_FILE, "fh is %s; allowed is a file that is open",
                    handle == MPI_FILE_NULL ? "MPI_FILE_NULL" : "not a file or was closed"));
}

int fail_code(const char* call, file::File* file, int code) {
  const MPI_Errhandler handler = file ? file->comm->errhandler : file::default_errhandler();
  if (comm::returns_codes(handler)) return code;
  MPI_File handle = file ? file::handle_of(file) : MPI_FILE_NULL;
  if (comm::call_errhandler(handler, &handle, &code)) return code;
  abort_job(class_of(code), "Fatal error on rank " +
                                std::to_string(comm::rank_state()->world_rank) + ": " +
                                text_of(code) + " (" + call + ")");
}

int fail(const char* call, file::File* file, const Status& status) {
  return fail_code(call, file, code_of(call, status));
}

namespace {

constexpr file::File* kNoFile = nullptr;

Status open_checked(comm::Comm* comm, const char* filename, int amode, MPI_Info info,
                    file::File** out) {
  FGMPI_TRY(check_pointer(filename, "filename"));
  FGMPI_TRY(check_intra(comm));
  file::OpenArguments what;
  what.name = filename;
  what.amode = amode;
  FGMPI_TRY(comm::read_info(info, &what.hints));
  load_group_map(comm);
  return file::open(comm, what, out);
}

}  // namespace

int open_file(const char* call, MPI_Comm handle, const char* filename, int amode, MPI_Info info,
              MPI_File* fh) try {
  if (!usable()) return bad_comm(call, MPI_COMM_SELF);
  if (!fh) return fail(call, kNoFile, null_pointer("fh"));
  *fh = MPI_FILE_NULL;
  comm::Comm* comm = comm::find(handle);
  if (!comm) return fail(call, kNoFile, Status(MPI_ERR_COMM, comm::describe_bad(handle)));
  file::File* made = nullptr;
  const Status status = open_checked(comm, filename, amode, info, &made);
  if (!status.ok()) return fail(call, kNoFile, status);
  made->comm->errhandler = file::default_errhandler();
  comm::retain_errhandler(made->comm->errhandler);
  *fh = file::handle_of(made);
  return MPI_SUCCESS;
} catch (const std::bad_alloc&) {
  return fail(call, kNoFile, error(MPI_ERR_NO_MEM, "no memory is left for it"));
}

int close_file(const char* call, MPI_File* fh) {
  if (!fh)
    return usable() ? fail(call, kNoFile, null_pointer("fh")) : bad_comm(call, MPI_COMM_SELF);
  file::File* file = file::find(*fh);
  if (!file) return bad_file(call, *fh);
  bool closed = false;
  const Status status = file::close(file, &closed);
  const int code = done(call, file, status);
  if (!closed) return code;
  file::leave(file);
  *fh = MPI_FILE_NULL;
  return code;
}

int delete_file(const char* call, const char* filename, MPI_Info info) {
  if (!usable()) return bad_comm(call, MPI_COMM_SELF);
  if (!filename) return fail(call, kNoFile, null_pointer("filename"));
  if (const Status status = comm::check_info(info, "info"); !status.ok())
    return fail(call, kNoFile, status);
  return done(call, kNoFile, file::remove(filename));
}

// ---- Error handlers -----------------------------------------------------------------------------

int get_file_errhandler(const char* call, MPI_File handle, MPI_Errhandler* errhandler) {
  file::File* file = file::find(handle);
  if (!file && (handle != MPI_FILE_NULL || !usable())) return bad_file(call, handle);
  if (!errhandler) return fail(call, file, null_pointer("errhandler"));
  *errhandler = file ? file->comm->errhandler : file::default_errhandler();
  comm::retain_errhandler(*errhandler);
  return MPI_SUCCESS;
}

int set_file_errhandler(const char* call, MPI_File handle, MPI_Errhandler errhandler) {
  file::File* file = file::find(handle);
  if (!file && (handle != MPI_FILE_NULL || !usable())) return bad_file(call, handle);
  const Status status = comm::check_errhandler(comm::HandlerOf::kFile, errhandler);
  if (!status.ok()) return fail(call, file, status);
  comm::retain_errhandler(errhandler);
  comm::release_errhandler(file ? file->comm->errhandler : file::default_errhandler());
  if (file)
    file->comm->errhandler = errhandler;
  else
    file::set_default_errhandler(errhandler);
  return MPI_SUCCESS;
}

int call_file_errhandler(const char* call, MPI_File handle, int errorcode) {
  file::File* file = file::find(handle);
  if (!file && (handle != MPI_FILE_NULL || !usable())) return bad_file(call, handle);
  fail_code(call, file, errorcode);
  return MPI_SUCCESS;
}

// ---- Everything else ----------------------------------------------------------------------------

Status file_get_size(file::File* fh, MPI_Offset* size) {
  int64_t bytes;
  FGMPI_TRY(file::size_of(fh, &bytes, "MPI_File_get_size"));
  *size = bytes;
  return {};
}

Status file_get_group(file::File* fh, MPI_Group* group) {
  FGMPI_TRY(comm::make_group(fh->comm->shared->map, group));
  if (comm::Group* g = comm::find_group(*group)) g->rank = fh->comm->rank;
  return {};
}

Status file_set_info(file::File* fh, MPI_Info info) {
  comm::Hints hints;
  FGMPI_TRY(comm::read_info(info, &hints));
  return file::set_info(fh, hints);
}

Status file_get_info(file::File* fh, MPI_Info* info_used) {
  comm::Hints hints = fh->shared->hints;
  comm::put_hint(&hints, {comm::kMemoryKindsKey, memory_kinds(fh->comm->session)});
  return comm::create_info(std::move(hints), info_used);
}

Status file_set_view(file::File* fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                     const char* datarep, MPI_Info info) {
  comm::Hints hints;
  FGMPI_TRY(comm::read_info(info, &hints));
  return file::set_view(fh, disp, etype, filetype, datarep, hints);
}

Status file_get_view(file::File* fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                     char* datarep) {
  const file::ViewPtr view = fh->view;
  FGMPI_TRY(file::copy_types(*view, etype, filetype));
  *disp = view->disp;
  std::memcpy(datarep, view->datarep->name.c_str(), view->datarep->name.size() + 1);
  return {};
}

Status type_extent(file::File* fh, MPI_Datatype datatype, int64_t* extent) {
  datatype::Type type;
  FGMPI_TRY(datatype::Type::of(datatype, &type));
  return file::file_extent(*fh->view->datarep, type, extent);
}

Status file_get_position(file::File* fh, MPI_Offset* offset) {
  *offset = fh->pointer;
  return {};
}

Status file_get_position_shared(file::File* fh, MPI_Offset* offset) {
  int64_t at;
  FGMPI_TRY(file::position_shared(fh, &at, "MPI_File_get_position_shared"));
  *offset = at;
  return {};
}

Status file_get_byte_offset(file::File* fh, MPI_Offset offset, MPI_Offset* disp) {
  int64_t bytes;
  FGMPI_TRY(file::byte_offset(fh, offset, &bytes));
  *disp = bytes;
  return {};
}

namespace {
/// `what` holds the conversion functions of the program.
int register_conversions(const char* call, const char* name, file::Datarep what,
                         MPI_Datarep_extent_function* extent, void* state) {
  if (!usable()) return bad_comm(call, MPI_COMM_SELF);
  if (!name) return fail(call, kNoFile, null_pointer("datarep"));
  what.name = name;
  what.extent = extent;
  what.state = state;
  return done(call, kNoFile, file::register_datarep(std::move(what)));
}
}  // namespace

int register_data(const char* call, const char* name, MPI_Datarep_conversion_function* read,
                  MPI_Datarep_conversion_function* write, MPI_Datarep_extent_function* extent,
                  void* state) {
  file::Datarep what;
  what.read_small = read;
  what.write_small = write;
  return register_conversions(call, name, std::move(what), extent, state);
}

int register_data(const char* call, const char* name, MPI_Datarep_conversion_function_c* read,
                  MPI_Datarep_conversion_function_c* write, MPI_Datarep_extent_function* extent,
                  void* state) {
  file::Datarep what;
  what.read = read;
  what.write = write;
  return register_conversions(call, name, std::move(what), extent, state);
}

}  // namespace fgmpi::mpi

using namespace fgmpi;

namespace {

MPI_File file_of_number(int file) {
  return reinterpret_cast<MPI_File>(uintptr_t{static_cast<uint32_t>(file)});
}
int number_of_file(MPI_File file) { return static_cast<int>(reinterpret_cast<uintptr_t>(file)); }

}  // namespace

FGMPI_EXPORT(MPI_File_f2c);
MPI_File PMPI_File_f2c(MPI_Fint file) { return file_of_number(file); }

FGMPI_EXPORT(MPI_File_c2f);
MPI_Fint PMPI_File_c2f(MPI_File file) { return number_of_file(file); }

// MPI 5.0; mpi.h declares them from MPICH 5.0 on.
extern "C" MPI_File PMPI_File_fromint(int file);
extern "C" int PMPI_File_toint(MPI_File file);

FGMPI_EXPORT(MPI_File_fromint);
MPI_File PMPI_File_fromint(int file) { return file_of_number(file); }

FGMPI_EXPORT(MPI_File_toint);
int PMPI_File_toint(MPI_File file) { return number_of_file(file); }
