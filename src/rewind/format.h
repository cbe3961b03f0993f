// The file of a recorded run.
//
//   0        RecordingHeader, one page
//   4 KiB    the open chunk of each stream (kChunkBytes each): what has not been sealed yet
//   ...      the description of the run (launcher/mpiexec/recorded_job.h), `description_bytes`
//   ...      sealed chunks, in the order in which they filled: SealedChunk and its bytes
//
// The process writes the header and the open chunks through a shared mapping, so the file is
// complete up to the last byte however the process ends. A full chunk is compressed
// (chunk_window.h) and appended. Checksums cover the description, sealed chunks and the open chunk
// of inputs; the events are checksums themselves. A chunk that is sealed although its serial number
// is still that of the open one was cut between the two steps: the sealed one counts.
//
//   kInputs     what came from outside, record by record (inputs.cc)
//   kEvents     two bytes for each MPI call: a hash of the rank, the call and its arguments
//   kContents   where the files that the run only reads are kept (mpiexec -record-inputs): their
//               blocks of kChunkBytes, each packed alone; it has no open chunk, and its serial
//               numbers say which block a chunk is (content_serial)
//
// Everything is of one machine's kind: little-endian numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::rewind {

inline constexpr char kMagic[8] = {'f', 'g', 'm', 'p', 'i', 'r', 'e', 'c'};
inline constexpr uint32_t kFormatVersion = 6;

enum RecordingStream : uint32_t { kInputs, kEvents, kStreams, kContents = kStreams };

inline constexpr size_t kChunkBytes = 64 << 10, kHeaderBytes = 4 << 10;
inline constexpr size_t kMappedBytes = kHeaderBytes + kStreams * kChunkBytes;

struct OpenChunk {
  uint64_t serial;  ///< chunks of this stream that were sealed before it
  /// The bytes of whole records, and, of kInputs, 2^32 times their checksum (add_to_sum): one word,
  /// so that no process is killed between the two.
  uint64_t end;
  uint32_t used() const { return static_cast<uint32_t>(end); }
  uint32_t sum() const { return static_cast<uint32_t>(end >> 32); }
};

/// The checksum of an open chunk grows byte by byte (FNV-1a).
inline uint32_t add_to_sum(uint32_t sum, const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) sum = (sum ^ bytes[i]) * 16777619u;
  return sum;
}

struct RecordingHeader {
  char magic[8];
  uint32_t version;
  uint32_t ended;  ///< 1: the process has ended itself, with this status
  int32_t status;
  uint32_t ranks;
  uint64_t description_bytes;
  uint64_t description_hash;
  uint64_t file_bytes;  ///< up to the end of the last sealed chunk
  uint64_t events;
  uint64_t keeps_inputs;  ///< 1: what is read of files that the run only reads is kept
  OpenChunk open[kStreams];
};
static_assert(sizeof(RecordingHeader) <= kHeaderBytes);

struct SealedChunk {
  uint32_t stream;
  uint32_t stored;  ///< bytes that follow; kChunkBytes: not compressed
  uint32_t bytes;   ///< once unpacked: kChunkBytes
  uint32_t checksum;
  uint64_t serial;
};

/// Files are numbered from 1 on, in the order in which they are first opened.
inline constexpr unsigned kBlockBits = 40;
/// In place of a block: the KeptFile, filled up with zeros.
inline constexpr uint64_t kFileBlock = (uint64_t{1} << kBlockBits) - 1;
inline constexpr uint64_t kMostKeptFiles = 1 << 20;
inline constexpr uint64_t content_serial(uint64_t file, uint64_t block) {
  return file << kBlockBits | block;
}

/// A file as it was when it was opened. What is beyond its end, or was never read, is not kept.
struct KeptFile {
  uint64_t size;
  char path[4096];
};

// Descriptors of the process. They have the same numbers when it is repeated, so that all others
// have, too.
inline constexpr int kRecordingFd = 1000;  ///< the file
inline constexpr int kStdoutFd = 1001;     ///< of a repeated run: standard output of mpiexec
inline constexpr int kStderrFd = 1002;
inline constexpr int kControlFd = 1003;   ///< what mpiexec wants of a repeated run (control.h)
inline constexpr int kFindingsFd = 1004;  ///< of a repeated run that is checked: its findings
/// A repeated run whose inputs were kept finds the file N under the name "N" in this folder.
inline constexpr int kInputsFd = 1005;
/// From here on: the files in /dev/shm that the run has opened (memory_files.h).
inline constexpr int kFirstMemoryFd = 1006, kMostMemoryFiles = 250;

}  // namespace fgmpi::rewind
