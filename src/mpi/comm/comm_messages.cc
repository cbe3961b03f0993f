// Counting of a rank's messages on a communicator, by way.

#include "mpi/comm/comm_messages.h"

#include <cstring>
#include <unordered_map>

#include "base/counters.h"
#include "ch4-av-rankmap/av.h"
#include "mpi/tools/events.h"
#include "pt2pt/engine.h"

namespace fgmpi::mpi {

MessageWay way_to(uint32_t world_rank) {
  uint32_t local;
  if (__builtin_expect(g_av.is_mine(world_rank, &local), 1)) return MessageWay::kLocal;
  if (world_rank >= g_av.world_size()) return MessageWay::kNetwork;
  const bool first = g_av.transport_bit(g_av.locate(world_rank).process) == 0;
  return first && pt2pt::g_engine.transports.first_shares_memory() ? MessageWay::kShared
                                                                   : MessageWay::kNetwork;
}

namespace comm_messages {
namespace {

struct CommMessages {
  uint32_t users = 0;  ///< handles that are started
  uint64_t messages[kWays] = {}, bytes[kWays] = {};
};
std::unordered_map<const void*, CommMessages> g_counted;

const void* start(const void* comm) {
  ++g_counted[comm].users;
  events::update_wanted();
  return comm;
}

void stop(const void* comm) {
  auto it = g_counted.find(comm);
  if (--it->second.users == 0) g_counted.erase(it);
  events::update_wanted();
}

template <MessageWay way, bool of_bytes>
uint64_t read(const void* comm) {
  auto it = g_counted.find(comm);
  if (it == g_counted.end()) return 0;
  return (of_bytes ? it->second.bytes : it->second.messages)[static_cast<int>(way)];
}

[[maybe_unused]] const bool g_provided = [] {
  using namespace counters;
  provide(kCommLocalMessages, read<MessageWay::kLocal, false>, {start, stop});
  provide(kCommLocalBytes, read<MessageWay::kLocal, true>, {start, stop});
  provide(kCommSharedMessages, read<MessageWay::kShared, false>, {start, stop});
  provide(kCommSharedBytes, read<MessageWay::kShared, true>, {start, stop});
  provide(kCommNetworkMessages, read<MessageWay::kNetwork, false>, {start, stop});
  provide(kCommNetworkBytes, read<MessageWay::kNetwork, true>, {start, stop});
  return true;
}();

}  // namespace

bool counting() { return !g_counted.empty(); }

void count(const comm::Comm* comm, int dest, int64_t bytes) {
  auto it = g_counted.find(comm);
  if (it == g_counted.end() || dest >= comm->shared->peers().size()) return;
  const MessageWay way = dest < 0
                             ? MessageWay::kNetwork
                             : way_to(static_cast<uint32_t>(comm->shared->peers().world_of(dest)));
  ++it->second.messages[static_cast<int>(way)];
  it->second.bytes[static_cast<int>(way)] += static_cast<uint64_t>(bytes);
}

}  // namespace comm_messages
}  // namespace fgmpi::mpi
