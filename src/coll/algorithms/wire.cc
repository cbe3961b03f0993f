// Operands as messages between the processes of a team: OperandWire packs an operand with gaps.

#include "coll/algorithms.h"

namespace fgmpi::coll {

Status OperandWire::send(const Team& team, uint32_t to, const char* data) {
  if (!buffer_) return team.send(to, data, r_.bytes());
  FGMPI_TRY(pack({const_cast<char*>(data), r_.count, r_.type}, buffer_.get()));
  return team.send(to, buffer_.get(), r_.bytes());
}

Status OperandWire::recv(const Team& team, uint32_t from, char* data) {
  if (!buffer_) return team.recv(from, data, r_.bytes());
  FGMPI_TRY(team.recv(from, buffer_.get(), r_.bytes()));
  return unpack(buffer_.get(), static_cast<int64_t>(r_.bytes()), {data, r_.count, r_.type});
}

Status OperandWire::exchange(const Team& team, uint32_t with, const char* out, char* in) {
  if (!buffer_) return team.exchange(with, out, r_.bytes(), with, in, r_.bytes());
  auto incoming = raw_memory(r_.bytes());
  FGMPI_TRY(pack({const_cast<char*>(out), r_.count, r_.type}, buffer_.get()));
  FGMPI_TRY(team.exchange(with, buffer_.get(), r_.bytes(), with, incoming.get(), r_.bytes()));
  return unpack(incoming.get(), static_cast<int64_t>(r_.bytes()), {in, r_.count, r_.type});
}

}  // namespace fgmpi::coll
