// Where the records of ranks are.
#include "privatize/image/slot_record.h"

#include <new>

#include "base/page.h"
#include "privatize/image/swap.h"
#include "privatize/load/rank_heaps.h"

namespace fgmpi::privatize {
namespace {

constexpr size_t kRecordAlignment = 64;
static_assert(sizeof(SlotRecord) % alignof(void*) == 0);

size_t g_record_bytes = 0, g_argument_bytes = 0;

size_t bytes_of_handlers() { return swapped_handlers() * sizeof(void*); }

}  // namespace

size_t plan_slot_records(size_t argument_bytes) {
  g_argument_bytes = argument_bytes;
  const size_t bytes = sizeof(SlotRecord) + bytes_of_handlers() + swapped_bytes() + argument_bytes;
  g_record_bytes = (bytes + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
  return g_record_bytes;
}

size_t slot_record_bytes() { return g_record_bytes; }

SlotRecord* slot_record(uint32_t index) {
  if (!ranks_have_heaps()) return nullptr;
  char* at = slot_of_rank(index) + slot_places().stacks_end - g_record_bytes;
  return rank_of_slot(at) == index ? reinterpret_cast<SlotRecord*>(at) : nullptr;
}

SlotRecord* begin_slot_record(uint32_t index) {
  SlotRecord* record = slot_record(index);
  return record ? new (record) SlotRecord : nullptr;
}

void drop_slot_record(uint32_t index) {
  SlotRecord* record = slot_record(index);
  if (!record) return;
  const auto low = page_down(reinterpret_cast<uintptr_t>(record));
  drop_pages(reinterpret_cast<void*>(low),
             reinterpret_cast<uintptr_t>(record) + g_record_bytes - low, has_slot_in_file(index));
}

void* place_of_arguments(uint32_t index) {
  SlotRecord* record = slot_record(index);
  if (!record) return nullptr;
  return reinterpret_cast<char*>(record + 1) + bytes_of_handlers() + swapped_bytes();
}

void make_slot_record(Image* image) {
  SlotRecord* record = begin_slot_record(image->index);
  if (!record) return;
  image->record = record;
  image->libc = &record->libc;
  image->values = &record->values;
  image->handlers = reinterpret_cast<void**>(record + 1);
  image->areas = reinterpret_cast<char*>(record + 1) + bytes_of_handlers();
}

}  // namespace fgmpi::privatize
