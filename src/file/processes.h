// What the processes of a file tell each other in one collective operation on it: the last member
// of each process to arrive does it, by messages with a tag of the operation's number.
// Thread rule: one thread. Everything here may switch.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/fields.h"
#include "base/status.h"
#include "comm/hierarchy.h"
#include "comm/meeting.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::file {

using Bytes = std::vector<uint8_t>;

class Processes {
 public:
  Processes(comm::SharedComm* shared, const comm::Meeting* meeting);
  uint32_t count() const { return count_; }
  uint32_t me() const { return me_; }
  /// The number of a process of the job.
  uint32_t process(uint32_t i) const { return (*list_)[i]; }
  const char* call() const { return call_; }

  /// Messages of two channels do not wait for each other.
  enum Channel : int32_t { kData = 0, kHeaders = 0x40000000 };
  Status send(uint32_t to, const void* data, size_t bytes) const;
  Status recv(uint32_t from, Channel channel, Bytes* data) const;
  Status recv(uint32_t from, void* data, size_t bytes) const;
  Status isend(uint32_t to, Channel channel, const void* data, size_t bytes,
               pt2pt::Request** request) const;
  Status irecv(uint32_t from, void* data, size_t bytes, pt2pt::Request** request) const;
  /// Waits for these and frees them; the first error of theirs.
  Status finish(std::vector<pt2pt::Request*>* requests) const;

  /// Every process's bytes at all of them, in order.
  Status gather_all(const Bytes& mine, std::vector<Bytes>* all) const;
  /// The first error of any process.
  Status agree(Status mine) const;

 private:
  Status exchange_all(const Bytes& mine, std::vector<Bytes>* all) const;

  uint64_t ctx_;
  int32_t tag_;
  uint32_t count_ = 1, me_ = 0;
  const comm::Series* list_ = nullptr;
  const char* call_;
};

void write_status(const Status& status, Bytes* out);
Status read_status(FieldReader* in);

}  // namespace fgmpi::file
