// Packing: the stacks of ranks that wait for long give their memory back.
//
// A rank that waits uses a few hundred bytes of its stack, but a page of memory. Packing copies the
// bytes in use to a block of a compact pool, gives the pages back and makes them guard pages:
//
//   stack   | guard | never touched ... | page in use | colouring |     resident: a page or more
//                                            |  copy, MADV_GUARD_INSTALL
//   stack   | guard | never touched ... | guard pages | colouring |     packed: no memory
//   pool    | PackedStack: context, bytes | the bytes from the stack pointer up |
//
// The rank is unpacked, to the same addresses, before it runs. Others may use its stack meanwhile:
// they deliver into a buffer there, or walk over lists whose elements are there. Such an access of
// this process's code faults, and the handler of the fault unpacks the stack (unpack_at_fault()),
// so nobody who accesses a stack has to ask. The kernel and devices get no such fault: memory that
// they access while its rank waits has to be announced (keep_unpacked()).
//
// Which stacks are packed, by FGMPI_PACK_STACKS:
//
//   auto   while memory is short: those that have been resident for longest, until no more than
//          kLeastResident are left
//   on     also those of ranks that have waited for 0.2 s or so
//   off    none
//   always as soon as they can be, with any memory, but for a few: for tests
//
// A rank has waited for long when it has not run between two visits: the first one *marks* it, by
// moving its saved context aside. So a switch costs no instruction more: a proclet without a
// context takes the path out of line that begins new proclets.
//
// Not packed are ranks that use more than kMostPacked bytes of stack, that wait for something from
// outside of MPI (the kernel may be writing to their stacks), that have threads, and any rank while
// other threads may call MPI. Without MADV_GUARD_INSTALL (Linux 6.13) no stack is packed.
//
// Thread rule: inside. Nothing here switches; nothing that a fault may call allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// Ranks that use more of their stacks are not packed: that would save little.
inline constexpr uint64_t kMostPacked = 8192;

/// The memory of a packed rank, its descriptors and share of communicators included, is at least so
/// much.
inline constexpr int64_t kPackedRankBytes = 1536;
/// May stacks be packed where memory is short? False: the setting or the kernel does not allow it.
bool packing_is_possible();
/// Is it possible, and has the user asked for it? Then a job may start that fits only if its
/// waiting ranks are packed.
bool packing_is_asked_for();

/// Called once faults of this process reach unpack_at_fault(). Without it no stack is packed.
void allow_packing();
bool packing_is_allowed();

/// Called by the handler of a fault of memory. Returns true when the address was on a packed stack,
/// which is unpacked now: the access can be made again.
bool unpack_at_fault(const void* address);

/// Unpacks the stack of a rank, if it is packed. Before a use of objects there whose address is
/// known from Proclet::wait: while the stack is packed, that is the address in the pool.
void unpack_stack(const Proclet* rank);

/// Announces that the kernel, a device or another thread may access this memory at any time: where
/// it is on the stack or in the image of a rank, these are never packed from now on. nullptr
/// (MPI_BOTTOM) may be anywhere in the caller's. Of more than kMostPacked bytes on a stack nothing
/// has to be recorded: a stack that holds them is not packed before the function that owns them has
/// returned.
void keep_unpacked(const void* memory, uint64_t bytes);
/// Announces it for all of the stack and the image of a rank.
void keep_unpacked(const Proclet* rank);

/// Unpacks all. Called when other threads may call MPI: these may have blocked all signals.
void unpack_all();

/// True when the rank has run before, even if it has no context now.
bool has_begun(const Proclet* rank);

/// Memory of a rank beside its stack that is packed with it: its image of the program.
struct ImagePacker {
  /// The number of the rank that has the memory at this address, or -1.
  int64_t (*rank_of)(const void* address);
  /// Writes what unpack() needs to `to`; returns how many bytes, or -1: more than `room`.
  int64_t (*pack)(const Proclet* rank, char* to, size_t room);
  /// Gives the pages back; false, with nothing changed: the rank has none, or the kernel refuses.
  bool (*drop)(const Proclet* rank);
  void (*unpack)(const Proclet* rank, const char* from, size_t bytes);
};
void set_image_packer(const ImagePacker& packer);
/// Makes guard pages of these pages, without memory. False, with nothing changed: the kernel
/// refuses.
bool give_back_pages(char* first, size_t bytes);
/// Makes usual pages of them, which hold zeros.
void reclaim_pages(char* first, size_t bytes);

/// How many stacks are packed now, and the bytes of their blocks.
uint64_t packed_stacks();
uint64_t packed_bytes();

// For this module.
/// Called when the ranks have been created, and before they are gone.
void begin_packing(uint32_t ranks);
void end_packing();
/// Makes the context of a proclet that has none, if it is a rank that has begun. False: it has not;
/// the caller makes its first context.
bool restore_context(Proclet* p);
/// Called when a rank runs for the first time.
void record_first_run(const Proclet* p);
/// Reads how much memory is left, where this process has touched much since then, and packs stacks
/// where that is little. Called on the host stack, after each poll.
void look_at_memory();
/// A trimmer (sched.h): counts the time, and packs some stacks.
bool pack_cold_stacks();
/// Packs some more. Called instead of a sleep; returns true when it is to be called again.
bool pack_while_idle();

}  // namespace fgmpi::sched
