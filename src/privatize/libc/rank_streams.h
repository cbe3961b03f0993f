// The streams that a rank's program opens, where ranks have slots: the FILE, its buffer and this
// list lie in the slot, and go with the rank to another process.
//
// There the descriptors have to be opened again, and the streams put into the C library's list of
// all streams (link_streams): all else that a FILE points to is in the slot, or in the C library.
// Standard streams are the process's: their bytes are assigned to ranks at each switch (output.h).
// So are the wide buffers of streams that write or read wide characters.
//
// Thread rule: any thread, unless said.
#pragma once

#include <stdio.h>

#include <cstdint>
#include <optional>

#include "base/plain_mutex.h"
#include "privatize/image/slot_array.h"
#include "privatize/load/rank_heaps.h"

namespace fgmpi::privatize {

struct SlotRecord;

enum class StreamKind : uint8_t {
  kDescriptor,  ///< a file, or whatever its descriptor refers to: fopen(), fdopen(), tmpfile()
  kFunctions,   ///< fopencookie(): functions of the program
  kMemory,      ///< fmemopen(), open_memstream()
};

struct RankStream {
  FILE* stream;
  StreamKind kind;
};

/// Makes the stream take its buffer now: later calls, of whatever function, would be the process's.
void take_buffer(FILE* stream, StreamKind kind);
void add_stream(uint32_t rank, const RankStream& stream);

struct RankStreams {
  PlainMutex mutex;
  SlotArray<RankStream> list;
};

/// Opens a stream for code at `caller` by open(): for the rank for which that code runs, or for the
/// process.
template <class Open>
FILE* open_stream(const void* caller, StreamKind kind, Open&& open) {
  const int64_t rank = rank_for(caller);
  if (rank < 0) return open();
  FILE* stream;
  {
    const MemoryForRank memory;
    stream = open();
    if (stream) take_buffer(stream, kind);
  }
  if (stream) add_stream(static_cast<uint32_t>(rank), {stream, kind});
  return stream;
}

/// Called before a stream is closed.
void forget_stream(FILE* stream);
/// True for a stream of a rank, unless it calls functions of the program, which may switch.
bool allocates_for_rank(const FILE* stream);
/// While it lives, what the C library allocates for such a stream on the calling thread is its
/// rank's.
class StreamMemory {
 public:
  explicit StreamMemory(const FILE* stream) {
    if (allocates_for_rank(stream)) memory_.emplace();
  }

 private:
  std::optional<MemoryForRank> memory_;
};

/// Writes what the streams of a rank hold, when its program has ended by exit().
void flush_streams(SlotRecord* record);
/// Closes the streams of a rank that has ended; what they hold is lost.
void drop_streams(SlotRecord* record);
/// Puts the streams of a rank whose memory was put into this process into the C library's list.
void link_streams(SlotRecord* record);
/// Takes the streams of a rank that leaves this process out of that list.
void unlink_streams(SlotRecord* record);

}  // namespace fgmpi::privatize
