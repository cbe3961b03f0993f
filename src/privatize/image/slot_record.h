// SlotRecord: what the library keeps for the program of a rank, where ranks have slots
// (FGMPI_HEAP=rank). It lies in the slot above the stack, as arguments do in any process:
//
//   slot   | guard | stack: frames | SlotRecord | handlers | swapped areas | arguments | image
//                                  ^ slot_record(k)
//
// So a rank's slot has all of it, also once it is put into another process, and a rank that
// allocates nothing needs no page more: the stack's last page is in use anyway. All sizes follow
// from the program and its arguments. Where ranks have no slots, each part is made when it is first
// needed.
//
// Thread rule: the scheduler's thread; each part has its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "privatize/image/slot_array.h"
#include "privatize/libc/exit_list.h"
#include "privatize/libc/libc_state.h"
#include "privatize/libc/rank_streams.h"
#include "privatize/libc/thread_values.h"

namespace fgmpi::privatize {

struct Image;

struct SlotRecord {
  SlotRecord() : values(&keys) {}
  LibcState libc;
  ThreadKeys keys;
  ThreadValues values;
  ExitList exits;
  RankStreams streams;
  /// Variables of the environment that its code has asked for (libc/environment_strings.h).
  SlotArray<char*> variables;
};

/// Computes the bytes of a record whose program has arguments of so many bytes, with the vector
/// that leads to them. Called once all swapped areas are registered.
size_t plan_slot_records(size_t argument_bytes);
size_t slot_record_bytes();
/// nullptr: the rank has no slot.
SlotRecord* slot_record(uint32_t index);
/// Makes the record of a rank that has no image in its slot, if it has a slot; returns the record,
/// or nullptr. The rank's swapped areas, random numbers and values of threads are elsewhere.
SlotRecord* begin_slot_record(uint32_t index);
/// Gives the memory of the record of a rank back that had no stack in its slot.
void drop_slot_record(uint32_t index);
/// Where the rank's arguments are to be; nullptr: ranks have no slots.
void* place_of_arguments(uint32_t index);
/// Makes the record of the image's rank, if ranks have slots, and gives its parts to the image.
void make_slot_record(Image* image);

}  // namespace fgmpi::privatize
