// The two ends of a ring of shared memory between processes of different jobs.

#include "dynamic/shared_ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "base/descriptor.h"
#include "base/page.h"
#include "transport/shm/doorbell.h"

namespace fgmpi::dynamic {

using transport::shm::Geometry;
using transport::shm::RingFrame;

namespace {

/// As many bytes of bulk as a shared-memory ring of a job has at most; frames of the links' size
/// need a quarter of it.
constexpr Geometry kGeometry{512, 4 * RingOut::kMostPayload};
size_t control_bytes() { return page_up(sizeof(RingControl)); }
size_t ring_bytes() { return control_bytes() + kGeometry.bytes(); }

/// Maps the whole of a ring's file; nullptr: it cannot be mapped.
void* map_all(int fd) {
  void* memory = mmap(nullptr, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, ring_bytes(), MADV_DONTFORK);
  return memory;
}

/// True if this process takes part in other processes' heavy fences.
bool registered() {
  static const bool is = transport::shm::register_barrier();
  return is;
}

}  // namespace

RingMemory::~RingMemory() { munmap(start_, ring_bytes()); }
void* RingMemory::cells() const { return static_cast<char*>(start_) + control_bytes(); }

RingOut::RingOut(void* start)
    : memory_(start), writer_(memory_.cells(), &memory_.control()->credits, kGeometry) {}

std::unique_ptr<RingOut> RingOut::make(int* fd) {
  const int made = memfd_create("fgmpi-link", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (made < 0) return nullptr;
  void* memory = nullptr;
  if (ftruncate(made, static_cast<off_t>(ring_bytes())) == 0 &&
      fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    memory = map_all(made);
  if (!memory) {
    close(made);
    return nullptr;
  }
  new (memory) RingControl{};
  *fd = made;
  return std::unique_ptr<RingOut>(new RingOut(memory));
}

bool RingOut::push(const transport::Header& header, const void* payload, size_t length) {
  if (__builtin_expect(writer_.push(header, payload, length), 1)) return true;
  transport::shm::ask_for_room(&memory_.control()->writer_waits);
  return writer_.refresh() && writer_.push(header, payload, length);
}

bool RingOut::clear_reader_sleep() {
  RingControl* control = memory_.control();
  transport::shm::light_fence(registered() && control->asymmetric.load(std::memory_order_relaxed));
  return __builtin_expect(control->asleep.load(std::memory_order_relaxed) != 0, 0) &&
         control->asleep.exchange(0) != 0;
}

bool RingOut::has_room() {
  return transport::shm::has_room(&writer_, &memory_.control()->writer_waits);
}

RingIn::RingIn(void* start)
    : memory_(start), reader_(memory_.cells(), &memory_.control()->credits, kGeometry) {
  memory_.control()->asymmetric.store(registered());
}

std::unique_ptr<RingIn> RingIn::map(int fd) {
  struct stat info;
  const int seals = fcntl(fd, F_GET_SEALS);  // a file that could shrink would kill its reader
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &info) != 0 ||
      info.st_size != static_cast<off_t>(ring_bytes()))
    return nullptr;
  void* memory = map_all(fd);
  return memory ? std::unique_ptr<RingIn>(new RingIn(memory)) : nullptr;
}

bool RingIn::consume(const RingFrame& frame) {
  return reader_.consume(frame) && transport::shm::is_room_wanted(&memory_.control()->writer_waits);
}

void fence_for_sleep() { transport::shm::heavy_fence(registered()); }

}  // namespace fgmpi::dynamic
