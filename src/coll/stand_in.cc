// The table of stand-ins. A stand-in is filled at its request's start and emptied at
// its completion.

#include "coll/stand_in.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/before_complete.h"

namespace fgmpi::coll {
namespace {

using StandIns = std::unordered_map<const pt2pt::Request*, std::unique_ptr<StandIn>>;

/// Never destroyed, as programs use MPI until they end.
StandIns& stand_ins() {
  static auto* all = new StandIns;
  return *all;
}

/// Stand-ins of requests that are gone, until the next stand-in is added: a tool that wraps the
/// call which completed a request still reads the buffers that it got.
std::vector<std::unique_ptr<StandIn>>& dropped() {
  static auto* all = new std::vector<std::unique_ptr<StandIn>>;
  return *all;
}

void empty_stand_in(pt2pt::Request* request) {
  const auto found = stand_ins().find(request);
  if (found != stand_ins().end() && request->outcome.error.ok()) found->second->empty();
}

}  // namespace

void store_stand_in(pt2pt::Request* request, std::unique_ptr<StandIn> memory) {
  comm::g_before_complete = empty_stand_in;
  dropped().clear();
  stand_ins()[request] = std::move(memory);
  if (!request->persistent && request->complete()) empty_stand_in(request);
}

// Both are called for every request. Where the hook is not set, no request has ever had a stand-in.
void fill_stand_in(const pt2pt::Request* request) {
  if (!comm::g_before_complete) return;
  const auto found = stand_ins().find(request);
  if (found != stand_ins().end()) found->second->fill();
}

void drop_stand_in(const pt2pt::Request* request) {
  if (!comm::g_before_complete) return;
  const auto found = stand_ins().find(request);
  if (found == stand_ins().end()) return;
  dropped().push_back(std::move(found->second));
  stand_ins().erase(found);
}

}  // namespace fgmpi::coll
