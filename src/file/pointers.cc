// Calls on the individual and the shared pointer, and the error handler of MPI_FILE_NULL.

#include "base/count_words.h"
#include "comm/errhandler.h"
#include "comm/of_rank.h"
#include "file/shared_pointer.h"

namespace fgmpi::file {

namespace {

Status no_pointers(const File* file) {
  if (!file->shared->sequential()) return {};
  return error(MPI_ERR_UNSUPPORTED_OPERATION,
               "%s was opened with MPI_MODE_SEQUENTIAL, in which nothing is sought",
               file->shared->descriptor.path().c_str());
}

/// Computes where a seek moves a pointer, in etypes. `current`: the pointer.
Status target_of(File* file, int64_t offset, int whence, int64_t current, int64_t* out) {
  int64_t base = 0;
  switch (whence) {
    case MPI_SEEK_SET:
      break;
    case MPI_SEEK_CUR:
      base = current;
      break;
    case MPI_SEEK_END: {
      // The end of the file, in etypes of the view that lie before it.
      int64_t bytes;
      FGMPI_TRY(size_of(file, &bytes, "MPI_File_seek"));
      const int64_t etype = file->view->etype_size;
      base = (file->view->data_before(bytes) + etype - 1) / etype;
      break;
    }
    default:
      return error(MPI_ERR_ARG,
                   "whence is %d; allowed are MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END", whence);
  }
  int64_t target;
  if (__builtin_add_overflow(base, offset, &target) || target < 0)
    return error(MPI_ERR_ARG, "offset %lld from %lld is before the beginning of the view",
                 static_cast<long long>(offset), static_cast<long long>(base));
  *out = target;  // which may be the pointer
  return {};
}

}  // namespace

Status seek(File* file, int64_t offset, int whence) {
  FGMPI_TRY(no_pointers(file));
  return target_of(file, offset, whence, file->pointer, &file->pointer);
}

Status position_shared(File* file, int64_t* offset, const char* call) {
  return fetch_shared(file->shared, 0, offset, call);
}

namespace {
void (*g_tool_offset_handler)(const File*, bool, int64_t) = nullptr;
}  // namespace

void set_tool_offset_handler(void (*place)(const File*, bool, int64_t)) {
  g_tool_offset_handler = place;
}
void report_offset_to_tool(const File* file, bool write, int64_t offset) {
  if (g_tool_offset_handler) g_tool_offset_handler(file, write, offset);
}

Status sought(File* file, int64_t offset, int whence, int64_t* out) {
  FGMPI_TRY(no_pointers(file));
  int64_t current = 0;
  if (whence == MPI_SEEK_CUR) FGMPI_TRY(position_shared(file, &current, "MPI_File_seek_shared"));
  return target_of(file, offset, whence, current, out);
}

Status byte_offset(File* file, int64_t offset, int64_t* bytes) {
  int64_t position, last;
  const View& view = *file->view;
  if (offset < 0)
    return error(MPI_ERR_ARG, "offset is %lld; allowed is 0 or more",
                 static_cast<long long>(offset));
  if (view.tree->size == 0) {
    if (offset > 0)
      return error(MPI_ERR_ARG,
                   "offset is %lld; allowed is 0 where the view's filetype has no bytes",
                   static_cast<long long>(offset));
    *bytes = view.disp;
    return {};
  }
  if (__builtin_mul_overflow(offset, view.etype_size, &position) ||
      __builtin_mul_overflow(position / view.tree->size + 1, view.tree->extent, &last) ||
      __builtin_add_overflow(last, view.disp, &last))
    return error(MPI_ERR_ARG, "offset is %s, beyond the largest offset of a file",
                 count_words(static_cast<uint64_t>(offset), "etype").c_str());
  *bytes = view.offset_of(position);
  return {};
}

namespace {
/// What a rank has set on MPI_FILE_NULL, which counts as a user of the handler
/// (MPI_File_set_errhandler).
struct DefaultHandler {
  MPI_Errhandler handler = MPI_ERRORS_RETURN;
  ~DefaultHandler() { comm::release_errhandler(handler); }
};
comm::OfRank<DefaultHandler>& default_handlers() {
  static auto* table = new comm::OfRank<DefaultHandler>;
  return *table;
}
}  // namespace

MPI_Errhandler default_errhandler() {
  const DefaultHandler* own = default_handlers().find_mine();
  return own ? own->handler : MPI_ERRORS_RETURN;
}

void set_default_errhandler(MPI_Errhandler handler) { default_handlers().mine().handler = handler; }

}  // namespace fgmpi::file
