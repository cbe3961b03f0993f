// The files of a checkpoint: a folder with one file for each process that has written it.
//
//   DIR/NUMBER.tmp/PROCESS.ckpt    while it is written
//   DIR/NUMBER/PROCESS.ckpt        when the files of all processes are complete
//   DIR/NUMBER/PROCESS.pages       beside it (page_list.h)
//
//   0       CheckpointHeader
//   ...     blocks: BlockHeader and `stored` bytes, which are `bytes` when they are unpacked
//   ...     a last block of kind kEnd, whose address is the number of blocks before it
//
// A block of memory has whole pages but at the end of what was written; pages of zeros are left
// out. Each checksum covers the header it stands in and the bytes as they are stored, so that a
// file is checked without being unpacked. Everything is of one machine's kind: little-endian
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::checkpoint {

inline constexpr char kCheckpointMagic[8] = {'f', 'g', 'm', 'p', 'i', 'c', 'p', 't'};
inline constexpr uint32_t kCheckpointVersion = 4;
inline constexpr size_t kBlockBytes = 256 << 10, kBlockPageBytes = 4 << 10;
inline constexpr size_t kBuildIdBytes = 32;

enum class BlockKind : uint32_t {
  kMemory = 1,  ///< of a rank, at its address
  kRank = 2,    ///< what the library knows of a rank beside its memory
  kJob = 3,     ///< of the job: the same in each file
  kEnd = 4,
  kImage = 5,  ///< memory as kMemory, with its pages of zeros: the image has others at the start
  kProtection = 6,  ///< MemoryProtection, of memory of a rank at the address
  kLibraries = 7,   ///< what a rank has loaded (checkpoint_link.h); before all memory
  kMappings = 8     ///< what files a rank has mapped; before all memory
};

struct CheckpointHeader {
  char magic[8];
  uint32_t version;
  uint32_t process, processes;
  uint32_t first_rank, ranks;  ///< of MPI_COMM_WORLD in this file
  uint32_t world_ranks;
  uint64_t number;  ///< of the checkpoint
  /// The checkpoint whose file of this process has the pages that this one leaves out, since they
  /// are as they were (page_list.h); 0: this file has all.
  uint64_t base;
  /// The builds that can read the memory, as the linker has named them; zeros behind shorter ones.
  uint8_t program[kBuildIdBytes], library[kBuildIdBytes];
  uint64_t checksum;  ///< of all before it
};
static_assert(sizeof(CheckpointHeader) == 120);

/// Memory that is not readable and writable.
struct MemoryProtection {
  uint64_t bytes;
  uint64_t protection;  ///< as mprotect() takes it
};

struct BlockHeader {
  BlockKind kind;
  uint32_t rank;
  uint64_t address;
  uint32_t bytes;   ///< at most kBlockBytes
  uint32_t stored;  ///< equal to `bytes`: not packed
  uint64_t checksum;
};
static_assert(sizeof(BlockHeader) == 32);

/// The checksum of a block.
uint64_t checksum_of(const BlockHeader& header, const void* stored);
uint64_t checksum_of(const CheckpointHeader& header);

}  // namespace fgmpi::checkpoint
