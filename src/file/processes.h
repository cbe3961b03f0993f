// The exchange of data between the processes of a file in one collective operation on it. The last
// member of each process to arrive sends and receives, by messages with a tag of the operation's
// number. Thread rule: one thread. Everything here may switch.
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
  /// The job's number of the process with index i.
  uint32_t process(uint32_t i) const { return (*list_)[i]; }
  const char* call() const { return call_; }

  /// Messages of one channel do not wait for those of the other.
  enum Channel : int32_t { kData = 0, kHeaders = 0x40000000 };
  Status send(uint32_t to, const void* data, size_t bytes) const;
  Status recv(uint32_t from, Channel channel, Bytes* data) const;
  Status recv(uint32_t from, void* data, size_t bytes) const;
  Status isend(uint32_t to, Channel channel, const void* data, size_t bytes,
               pt2pt::Request** request) const;
  Status irecv(uint32_t from, void* data, size_t bytes, pt2pt::Request** request) const;
  /// Waits for these requests and frees them; returns the first error among them.
  Status finish(std::vector<pt2pt::Request*>* requests) const;

  /// Gives every process's bytes to all processes, in the order of the processes.
  Status gather_all(const Bytes& mine, std::vector<Bytes>* all) const;
  /// Returns the first error of any process, at all of them.
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
