// Fuzz target: any bytes as a process's packed colors and keys. The first byte says how many
// members it has; what is accepted must come out the same when packed again.
#include <cstdlib>
#include <numeric>

#include <mpi.h>

#include "comm/split_wire.h"

using namespace fgmpi;
using namespace fgmpi::comm;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 5) return 0;
  std::vector<int32_t> ranks(data[0]);
  std::iota(ranks.begin(), ranks.end(), 10);
  std::vector<uint8_t> message(data + 1, data + size);  // its own block: a sanitizer sees its end
  // Mostly the right number of members, so that the rest is looked at.
  if (data[1] & 7) message[0] = data[0], message[1] = message[2] = message[3] = 0;
  FieldReader in(message.data(), message.size());
  std::vector<SplitEntry> entries;
  if (!unpack_split(&in, ranks, 0, &entries)) return 0;
  std::vector<SplitMember> members;
  for (int32_t rank : ranks) members.push_back({MPI_UNDEFINED, 0, rank});
  for (const SplitEntry& e : entries) {
    if (e.rank < 10 || e.rank >= 10 + static_cast<int32_t>(ranks.size())) std::abort();
    members[static_cast<size_t>(e.rank - 10)] = {static_cast<int32_t>(e.color),
                                                 static_cast<int32_t>(e.key ^ 0x80000000u), e.rank};
  }
  std::vector<uint8_t> packed;
  pack_split(members, &packed);
  FieldReader again(packed.data(), packed.size());
  std::vector<SplitEntry> copy;
  if (!unpack_split(&again, ranks, 0, &copy) || again.left() || copy.size() != entries.size())
    std::abort();
  for (size_t i = 0; i < copy.size(); ++i)
    if (copy[i].color != entries[i].color || copy[i].key != entries[i].key) std::abort();
  return 0;
}
