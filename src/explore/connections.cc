// Ports and published names: the order in which ranks come to them.
//
// The callers that wait at a port are a list, and so are those that accept there. Each list is
// compared like a memory of its own, and so is each published name: two arrivals at the same list
// conflict, and so do two accesses to the same name of which one changes it.
#include "base/hash.h"
#include "explore/matcher.h"

namespace fgmpi::explore {
namespace {

using dynamic::ConnectionAccess;

DecidedAccess decided(const ConnectionAccess& access) {
  DecidedAccess out;
  switch (access.use) {
    case ConnectionAccess::kConnect:
    case ConnectionAccess::kAccept:
      out.use = Choice::kArriveAtPort;
      out.detail = access.use == ConnectionAccess::kAccept ? Choice::kAccepts : Choice::kConnects;
      break;
    case ConnectionAccess::kReadName:
    case ConnectionAccess::kChangeName:
      out.use = access.use == ConnectionAccess::kReadName ? Choice::kRead : Choice::kWrite;
      out.detail = Choice::kName;
      break;
  }
  out.object = hash_text(access.name, access.use == ConnectionAccess::kAccept);
  out.bytes = sizeof *access.changes;
  out.memory = reinterpret_cast<const char*>(access.changes);
  out.deed = hash_text(access.name, static_cast<uint64_t>(out.use) + 2);
  return out;
}

}  // namespace

void Matcher::await_connection(const ConnectionAccess& access, const sched::WaitSite* site) {
  await_turn(decided(access), site);
}

void Matcher::record_connection_source(comm::ContextId id) {
  record_edge_source({id.bits, 0, 0, 0});
}

void Matcher::record_connection_target(comm::ContextId id) {
  record_edge_target({id.bits, 0, 0, 0});
}

void Matcher::record_undecided() { chooser_->report_limit(Limit::kOutside); }

}  // namespace fgmpi::explore
