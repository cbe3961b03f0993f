// The words of a wait, read from the memory of another process.

#include "info/foreign_wait.h"

#include <mpi.h>

#include <vector>

#include "base/strings.h"
#include "comm/context.h"
#include "pt2pt/requests.h"

namespace fgmpi::tools {
namespace {

/// Bytes of an object of another process: its addresses mean nothing here, and no destructor is
/// called.
template <class T>
class Copy {
 public:
  Copy(const ReadMemory& read, uint64_t address) {
    good_ = address && read(address, bytes_, sizeof bytes_);
  }
  explicit operator bool() const { return good_; }
  const T* operator->() const { return reinterpret_cast<const T*>(bytes_); }
  const T& operator*() const { return *reinterpret_cast<const T*>(bytes_); }

 private:
  alignas(T) char bytes_[sizeof(T)];
  bool good_;
};

uint64_t address_of(const void* there) { return reinterpret_cast<uint64_t>(there); }

}  // namespace

ForeignWaits::ForeignWaits(ReadMemory read, NamePeer name, const pt2pt::SiteTable& table,
                           const comm::CommTable& comms)
    : read_(std::move(read)),
      name_(std::move(name)),
      table_(table),
      comms_(comms),
      knows_comms_(comms.version == comm::CommTable::kVersion &&
                   comms.comm_bytes == sizeof(comm::Comm) &&
                   comms.shared_bytes == sizeof(comm::SharedComm)) {
  uint64_t at = knows_comms_ ? address_of(comms_.first) : 0;
  for (size_t looks = 0; at && looks < kMostNames; ++looks) {
    const Copy<comm::ShownName> shown(read_, at);
    if (!shown) break;
    // Members usually give a communicator the same name: the name of one member is read.
    if (std::string& words = names_[shown->id]; words.empty())
      words = text(address_of(shown->words));
    at = address_of(shown->next);
  }
}

std::string ForeignWaits::of_communicator(uint64_t ctx) const {
  const auto id = comm::ContextId::of_plane(ctx);
  if (id.lbi() == comm::kWorldLbi) return "MPI_COMM_WORLD";
  if (id.lbi() == comm::kSelfLbi) return "MPI_COMM_SELF";
  const auto named = names_.find(id.bits);
  const std::string name =
      named == names_.end() || named->second.empty() ? "communicator" : named->second;
  if (id.is_drawn()) return name + format(" <%016llx>", static_cast<unsigned long long>(id.bits));
  return name + format(" <%u,%u>", id.lid(), id.lbi());
}

std::string ForeignWaits::of_pattern(const pt2pt::Envelope& pattern) const {
  const bool of_world = comm::ContextId::of_plane(pattern.ctx).lbi() == comm::kWorldLbi;
  const char mark = of_world ? kWorldRank : kCommRank;
  const std::string source = pattern.source == MPI_ANY_SOURCE
                                 ? "MPI_ANY_SOURCE"
                                 : mark + std::to_string(pattern.source) + mark;
  const std::string tag = pattern.tag == MPI_ANY_TAG ? "MPI_ANY_TAG" : format("%d", pattern.tag);
  return "source " + source + ", tag " + tag + ", " + of_communicator(pattern.ctx);
}

bool ForeignWaits::readable() const {
  return table_.version == pt2pt::SiteTable::kVersion &&
         table_.send_bytes == sizeof(pt2pt::SendOp) &&
         table_.receive_bytes == sizeof(pt2pt::RecvOp) &&
         table_.request_bytes == sizeof(pt2pt::Request);
}

std::string ForeignWaits::text(uint64_t address) const {
  std::string out;
  // Byte by byte: the page behind the text may be unreadable.
  for (char c; out.size() < 48 && read_(address + out.size(), &c, 1) && c != '\0';) out += c;
  return escaped(out);
}

std::string ForeignWaits::of_send(const pt2pt::SendOp& send) const {
  return name_(send.to) + format(", tag %d, ", send.envelope.tag) +
         of_communicator(send.envelope.ctx);
}

std::string ForeignWaits::of_request(uint64_t request, const std::string& waits_in) const {
  const Copy<pt2pt::Request> common(read_, request);
  if (!common) return "";
  const std::string call = text(address_of(common->call));
  const auto mentions = [&](const char* part) { return call.find(part) != call.npos; };
  // The name of the call that made the request tells its class.
  const bool receives = mentions("recv") || mentions("Recv"),
             sends = mentions("send") || mentions("Send");
  std::string what;
  if (receives && !sends) {
    if (const Copy<pt2pt::RecvRequest> receive(read_, request); receive)
      what = of_pattern(receive->op.envelope);
  } else if (sends && !receives) {
    if (const Copy<pt2pt::SendRequest> send(read_, request); send) what = of_send(send->op);
  }
  if (call == waits_in) return what;
  return what.empty() ? call : call + " " + what;
}

std::string ForeignWaits::of_requests(const pt2pt::RequestsSite& site) const {
  if (site.count > kMostRequests) return "";
  std::vector<const pt2pt::Request*> all(site.count);
  if (!read_(address_of(site.requests), all.data(), all.size() * sizeof all[0])) return "";
  const std::string waits_in = text(address_of(site.call));
  size_t incomplete = 0;
  std::string first;
  for (const pt2pt::Request* each : all) {
    const Copy<pt2pt::Request> request(read_, address_of(each));
    if (!request || request->complete() || !request->active) continue;
    if (incomplete++ == 0) first = of_request(address_of(each), waits_in);
  }
  return incomplete > 1 ? format("%zu requests, the first: ", incomplete) + first : first;
}

std::string ForeignWaits::words(uint64_t site) const {
  const Copy<sched::WaitSite> common(read_, site);
  if (!common || !common->describe) return "";
  if (common->describe == table_.send) {
    const Copy<pt2pt::SendSite> send(read_, site);
    const Copy<pt2pt::SendOp> op(read_, send ? address_of(send->op) : 0);
    return op ? of_send(*op) : "";
  }
  if (common->describe == table_.receive) {
    const Copy<pt2pt::RecvSite> receive(read_, site);
    const Copy<pt2pt::RecvOp> op(read_, receive ? address_of(receive->op) : 0);
    return op ? of_pattern(op->envelope) : "";
  }
  if (common->describe == table_.probe) {
    const Copy<pt2pt::ProbeSite> probe(read_, site);
    const Copy<pt2pt::Envelope> pattern(read_, probe ? address_of(probe->pattern) : 0);
    return pattern ? of_pattern(*pattern) : "";
  }
  if (common->describe == table_.requests) {
    const Copy<pt2pt::RequestsSite> requests(read_, site);
    return requests ? of_requests(*requests) : "";
  }
  if (knows_comms_ && common->describe == comms_.meeting) {
    const Copy<comm::MeetingSite> meeting(read_, site);
    const Copy<comm::Comm> comm(read_, meeting ? address_of(meeting->comm) : 0);
    const Copy<comm::SharedComm> shared(read_, comm ? address_of(comm->shared) : 0);
    return shared ? of_communicator(shared->id.bits) : "";
  }
  return "";
}

}  // namespace fgmpi::tools
