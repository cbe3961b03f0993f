// Chunks: written through a mapping and sealed when they are full, read one after the other.

#include "rewind/recording.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstring>

#include "base/hash.h"
#include "rewind/chunk_window.h"
#include "rewind/ends.h"
#include "rewind/numbers.h"
#include "rewind/trap.h"

namespace fgmpi::rewind {

RunMode g_mode = RunMode::kNone;
RecordedChunk g_event_chunk{};
bool g_is_damaged = false;
bool g_is_checked = false;

namespace {

/// Far from where the system places anything by itself.
uint8_t* const kMapping = reinterpret_cast<uint8_t*>(0x600000000000);

struct StreamChunk {
  uint8_t* bytes = nullptr;
  size_t at = 0;     ///< the next byte to write or read
  uint32_t sum = 0;  ///< writing: of the bytes in it
  size_t size = 0;   ///< reading: bytes that there are
  uint64_t serial = 0;
  uint64_t next = 0;     ///< reading: where to look for the next sealed chunk
  bool is_last = false;  ///< reading: this is the open chunk of the file
};
StreamChunk g_chunks[kStreams];
struct PackedChunk {
  SealedChunk head;
  uint8_t bytes[kChunkBytes];
};
PackedChunk g_packed;
ChunkWindow g_windows[kStreams];

long read_at(void* to, size_t size, uint64_t at) {
  return direct_call(SYS_pread64, kRecordingFd, to, size, at);
}

bool read_header() {
  const RecordingHeader& h = header();
  return read_at(kMapping, kHeaderBytes, 0) == static_cast<long>(kHeaderBytes) &&
         std::memcmp(h.magic, kMagic, sizeof kMagic) == 0 && h.version == kFormatVersion;
}

/// Appends the chunk; `packed`: the bytes that lie in g_packed already, 0: it is stored as it is.
void append_chunk(RecordingStream stream, uint64_t serial, const uint8_t* chunk, size_t packed) {
  const size_t stored = packed ? packed : kChunkBytes;
  if (!packed) std::memcpy(g_packed.bytes, chunk, kChunkBytes);
  const auto sum = static_cast<uint32_t>(hash_bytes(g_packed.bytes, stored));
  g_packed.head = {stream, static_cast<uint32_t>(stored), kChunkBytes, sum, serial};
  const size_t size = sizeof g_packed.head + stored;
  const long done = direct_call(SYS_pwrite64, kRecordingFd, &g_packed, size, header().file_bytes);
  if (done != static_cast<long>(size))
    refuse_run("the recording cannot be written: %s",
               done < 0 ? std::strerror(static_cast<int>(-done)) : "the file system is full");
  header().file_bytes += size;
}

void seal(RecordingStream stream) {
  StreamChunk& c = g_chunks[stream];
  append_chunk(stream, c.serial, c.bytes,
               g_windows[stream].pack(c.bytes, g_packed.bytes, kChunkBytes - 1));
  header().open[stream] = {++c.serial, 0};
  c.at = 0;
  c.sum = 0;
}

bool damaged() {
  g_is_damaged = true;
  return false;
}

/// Reads the open chunk of the file, which has no seal.
bool load_open(RecordingStream stream) {
  StreamChunk& c = g_chunks[stream];
  const OpenChunk& open = header().open[stream];
  if (c.is_last || open.serial != c.serial || open.used() > kChunkBytes) return false;
  c.is_last = true;
  c.at = 0;
  c.size = open.used();
  const uint64_t at = kHeaderBytes + stream * kChunkBytes;
  if (read_at(c.bytes, c.size, at) != static_cast<long>(c.size)) return damaged();
  return stream == kEvents || add_to_sum(0, c.bytes, c.size) == open.sum() || damaged();
}

bool load_next(RecordingStream stream) {
  StreamChunk& c = g_chunks[stream];
  SealedChunk& head = g_packed.head;
  while (c.next + sizeof head <= header().file_bytes) {
    if (read_at(&head, sizeof head, c.next) != sizeof head) return damaged();
    const uint64_t at = c.next + sizeof head;
    if (head.stored > kChunkBytes || head.bytes != kChunkBytes) return damaged();
    c.next = at + head.stored;
    if (head.stream != stream || head.serial != c.serial) continue;
    if (read_at(g_packed.bytes, head.stored, at) != static_cast<long>(head.stored) ||
        static_cast<uint32_t>(hash_bytes(g_packed.bytes, head.stored)) != head.checksum)
      return damaged();
    ++c.serial;
    c.at = 0;
    c.size = head.bytes;
    if (head.stored < kChunkBytes)
      return g_windows[stream].unpack(g_packed.bytes, head.stored, c.bytes) || damaged();
    std::memcpy(c.bytes, g_packed.bytes, kChunkBytes);
    g_windows[stream].add(c.bytes);
    return true;
  }
  return load_open(stream);
}

/// Events are written and read in place, by g_event_chunk.
void open_events(size_t bytes) {
  auto* first = reinterpret_cast<uint16_t*>(g_chunks[kEvents].bytes);
  g_event_chunk = {first, first + bytes / sizeof *first};
}

}  // namespace

RecordingHeader& header() { return *reinterpret_cast<RecordingHeader*>(kMapping); }

const char* open_recording(RunMode mode) {
  const bool writes = mode == RunMode::kRecorded;
  const long mapped =
      direct_call(SYS_mmap, kMapping, kMappedBytes, PROT_READ | PROT_WRITE,
                  MAP_FIXED_NOREPLACE | (writes ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS),
                  writes ? kRecordingFd : -1, 0);
  if (mapped != reinterpret_cast<long>(kMapping)) return "the recording cannot be mapped";
  if (!writes && !read_header()) return "the file is no recording of this version";
  for (uint32_t s = 0; s < kStreams; ++s) {
    g_chunks[s].bytes = kMapping + kHeaderBytes + s * kChunkBytes;
    g_chunks[s].next = kMappedBytes + header().description_bytes;
  }
  g_mode = mode;
  if (writes) open_events(kChunkBytes);
  if (!writes) open_events(0);
  return nullptr;
}

void put(RecordingStream stream, const void* bytes, size_t size) {
  StreamChunk& c = g_chunks[stream];
  const auto* from = static_cast<const uint8_t*>(bytes);
  while (size > 0) {
    const size_t n = size < kChunkBytes - c.at ? size : kChunkBytes - c.at;
    std::memcpy(c.bytes + c.at, from, n);
    c.sum = add_to_sum(c.sum, from, n);
    from += n;
    size -= n;
    if ((c.at += n) == kChunkBytes) seal(stream);
  }
}

void put_number(RecordingStream stream, uint64_t value) {
  uint8_t bytes[kMostNumberBytes];
  put(stream, bytes, static_cast<size_t>(put_number(bytes, value) - bytes));
}

void commit(RecordingStream stream) {
  const StreamChunk& c = g_chunks[stream];
  header().open[stream].end = c.at | uint64_t{c.sum} << 32;
}

void put_contents(uint64_t serial, const uint8_t* chunk) {
  append_chunk(kContents, serial, chunk, pack_alone(chunk, g_packed.bytes, kChunkBytes - 1));
}

bool get(RecordingStream stream, void* bytes, size_t size) {
  StreamChunk& c = g_chunks[stream];
  auto* to = static_cast<uint8_t*>(bytes);
  while (size > 0) {
    if (c.at == c.size && !load_next(stream)) return false;
    const size_t n = size < c.size - c.at ? size : c.size - c.at;
    if (n == 0) return false;
    if (to) std::memcpy(to, c.bytes + c.at, n), to += n;
    c.at += n;
    size -= n;
  }
  return true;
}

bool skip(RecordingStream stream, size_t size) { return get(stream, nullptr, size); }

bool get_number(RecordingStream stream, uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    uint8_t byte;
    if (!get(stream, &byte, 1)) return false;
    *value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool turn_event_chunk() {
  StreamChunk& c = g_chunks[kEvents];
  if (is_recorded()) {
    seal(kEvents);
    open_events(kChunkBytes);
    return true;
  }
  if (!load_next(kEvents)) return false;
  c.at = c.size;
  open_events(c.size);
  return c.size > 0;
}

}  // namespace fgmpi::rewind
