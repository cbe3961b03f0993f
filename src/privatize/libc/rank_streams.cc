// The interposed functions that open streams.
#include "privatize/libc/rank_streams.h"

#include <wchar.h>

#include <mutex>
#include <vector>

#include "privatize/image/slot_record.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/libc/children.h"
#include "privatize/libc/descriptor_kinds.h"
#include "privatize/libc/fixed_streams.h"
#include "privatize/libc/rank_descriptors.h"
#include "privatize/libc/waits.h"

extern "C" {
// Part of the C library's ABI.
void _IO_doallocbuf(FILE* stream);
}

namespace fgmpi::privatize {
namespace {

SlotRecord* owner_of(const FILE* stream) {
  const int64_t rank = rank_of_slot(stream);
  return rank < 0 ? nullptr : slot_record(static_cast<uint32_t>(rank));
}

/// Takes all streams of a list.
std::vector<RankStream> take_streams(RankStreams* streams) {
  const std::lock_guard<PlainMutex> guard(streams->mutex);
  std::vector<RankStream> all(streams->list.begin(), streams->list.end());
  streams->list.clear();
  return all;
}

}  // namespace

void take_buffer(FILE* stream, StreamKind kind) {
  if (kind == StreamKind::kDescriptor) _IO_doallocbuf(stream);
}

void add_stream(uint32_t rank, const RankStream& stream) {
  RankStreams& streams = slot_record(rank)->streams;
  const std::lock_guard<PlainMutex> guard(streams.mutex);
  streams.list.push_back(stream);
}

void forget_stream(FILE* stream) {
  SlotRecord* record = owner_of(stream);
  if (!record) return;
  const std::lock_guard<PlainMutex> guard(record->streams.mutex);
  record->streams.list.erase_if([&](const RankStream& s) { return s.stream == stream; });
}

bool allocates_for_rank(const FILE* stream) {
  SlotRecord* record = owner_of(stream);
  if (!record) return false;
  const std::lock_guard<PlainMutex> guard(record->streams.mutex);
  for (const RankStream& s : record->streams.list)
    if (s.stream == stream) return s.kind != StreamKind::kFunctions;
  return false;
}

void flush_streams(SlotRecord* record) {
  // Functions of the program may be called, and open or close streams.
  for (uint32_t i = 0; i < record->streams.list.size(); ++i) fflush(record->streams.list[i].stream);
}

void drop_streams(SlotRecord* record) {
  static auto* real_fclose = next_symbol<int(FILE*)>("fclose");
  for (const RankStream& s : take_streams(&record->streams)) {
    if (s.kind == StreamKind::kDescriptor) s.stream->_IO_write_ptr = s.stream->_IO_write_base;
    forget_pipe_stream(s.stream);
    forget_kind_of_descriptor(fileno(s.stream));
    real_fclose(s.stream);
  }
}

void unlink_streams(SlotRecord* record) {
  for (const RankStream& s : record->streams.list)
    _IO_un_link(reinterpret_cast<_IO_FILE_plus*>(s.stream));
}

void link_streams(SlotRecord* record) {
  for (const RankStream& s : record->streams.list) {
    link_stream(s.stream);
  }
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

#define FGMPI_OPENS(name, kind, parameters, types, ...)                                    \
  FGMPI_INTERPOSE FILE* name parameters {                                                  \
    static constinit Real<FILE * types> real(#name);                                       \
    FILE* stream =                                                                         \
        open_stream(__builtin_return_address(0), kind, [&] { return real(__VA_ARGS__); }); \
    if (kind != StreamKind::kDescriptor) return stream;                                    \
    return give_stream(stream, __builtin_return_address(0));                               \
  }

FGMPI_INTERPOSE FILE* fdopen(int fd, const char* mode) noexcept {
  static constinit Real<FILE*(int, const char*)> real("fdopen");
  name_descriptor(fd, __builtin_return_address(0));
  return open_stream(__builtin_return_address(0), StreamKind::kDescriptor,
                     [&] { return real(fd, mode); });
}
FGMPI_OPENS(tmpfile, StreamKind::kDescriptor, (void), ())
FGMPI_OPENS(tmpfile64, StreamKind::kDescriptor, (void), ())
FGMPI_OPENS(fopencookie, StreamKind::kFunctions,
            (void* cookie, const char* mode, cookie_io_functions_t functions) noexcept,
            (void*, const char*, cookie_io_functions_t), cookie, mode, functions)
FGMPI_OPENS(fmemopen, StreamKind::kMemory, (void* memory, size_t bytes, const char* mode) noexcept,
            (void*, size_t, const char*), memory, bytes, mode)
FGMPI_OPENS(open_memstream, StreamKind::kMemory, (char** text, size_t* bytes) noexcept,
            (char**, size_t*), text, bytes)
FGMPI_OPENS(open_wmemstream, StreamKind::kMemory, (wchar_t * *text, size_t* length) noexcept,
            (wchar_t**, size_t*), text, length)
