// Reading a parked rank's wait from another thread.

#include "profile/waits.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "pt2pt/requests.h"
#include "pt2pt/sites.h"

#pragma weak fgmpi_site_table

namespace fgmpi::report {
namespace {

using pt2pt::SiteTable;

/// The bytes of an object whose constructor and destructor do not run.
template <class T>
struct Bytes {
  alignas(T) char bytes[sizeof(T)];
  const T* operator->() const { return reinterpret_cast<const T*>(bytes); }
};

uint64_t address_of(const void* there) { return reinterpret_cast<uint64_t>(there); }

}  // namespace

Waits::Waits() {
  if (!&fgmpi_site_table) return;
  const SiteTable& t = fgmpi_site_table;
  char byte = 0, copy = 1;
  readable_ = t.version == SiteTable::kVersion && t.send_bytes == sizeof(pt2pt::SendOp) &&
              t.receive_bytes == sizeof(pt2pt::RecvOp) &&
              t.request_bytes == sizeof(pt2pt::Request) && read(address_of(&byte), &copy);
}

Awaited Waits::of(int32_t local, uint64_t site, const RankRecord& rank) {
  Awaited out;
  out.peer = rank.peer;
  // As large as the largest site, to read any site by one system call. Behind a site lies more of
  // the rank's stack.
  Bytes<pt2pt::RequestsSite> any;
  static_assert(sizeof(pt2pt::RecvSite) <= sizeof any);
  const uint32_t now = rank.now;
  if (now == 0 || now > kCallCount || !site || !read(site, &any)) return out;
  const SiteTable& t = fgmpi_site_table;
  if (any->describe == t.receive && rank.peer >= kIsSource) {
    const auto* receive = reinterpret_cast<const pt2pt::RecvSite*>(any.bytes);
    out.others = others(local, address_of(receive->op));
  } else if (any->describe == t.requests) {
    out.peer = first_incomplete(address_of(any->requests), any->count, kCalls[now - 1].any_ends_it);
  }
  return out;
}

/// The number of ranks, other than the one that the receive names, whose messages have arrived.
int Waits::others(int32_t local, uint64_t receive) {
  Bytes<pt2pt::RecvOp> op;
  Bytes<pt2pt::Endpoint> endpoint;
  // A variable of the library, which always exists.
  pt2pt::Endpoint* const all = __atomic_load_n(fgmpi_site_table.endpoints, __ATOMIC_RELAXED);
  iovec here[] = {{op.bytes, sizeof op}, {endpoint.bytes, sizeof endpoint}};
  iovec there[] = {{reinterpret_cast<void*>(receive), sizeof op},
                   {all + local + 1, sizeof endpoint}};
  if (memory_.read_pieces({here, there, 2}) != static_cast<ssize_t>(sizeof op + sizeof endpoint))
    return 0;
  int32_t seen[kMostOthers];
  int count = 0;
  uint64_t at = address_of(endpoint->unexpected.front());
  Bytes<pt2pt::Arrived> message;
  for (int looks = 0; looks < 2 * kMostOthers && count < kMostOthers; ++looks) {
    if (!at || !read(at, &message)) break;
    const int32_t source = message->envelope.source;
    if (message->envelope.ctx == op->envelope.ctx && source != op->envelope.source &&
        std::find(seen, seen + count, source) == seen + count)
      seen[count++] = source;
    at = address_of(message->next);
  }
  return count;
}

/// The peer of the first incomplete request, receives first; kNoPeer also where any of several
/// requests ends the wait.
int32_t Waits::first_incomplete(uint64_t requests, size_t count, bool any_ends_it) {
  pt2pt::Request* all[kMostRequests];
  count = std::min<size_t>(count, kMostRequests);
  if (!g_hot.peers || !memory_.read(requests, all, count * sizeof all[0])) return kNoPeer;
  int32_t found = kNoPeer;
  int incomplete = 0;
  for (size_t i = 0; i < count; ++i) {
    Bytes<pt2pt::Request> request;
    if (!all[i] || !read(address_of(all[i]), &request) || request->complete() || !request->active)
      continue;
    if (incomplete++ && any_ends_it) return kNoPeer;
    const int32_t peer = peer_of_request(static_cast<MPI_Request>(request->handle));
    if (peer >= kIsSource && !any_ends_it) return peer;
    if (found == kNoPeer) found = peer;
  }
  return found;
}

}  // namespace fgmpi::report
