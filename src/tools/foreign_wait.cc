#include "tools/foreign_wait.h"

#include <mpi.h>

#include <vector>

#include "base/strings.h"
#include "comm/context.h"
#include "pt2pt/requests.h"

namespace fgmpi::tools {
namespace {

/// Bytes of an object of another process: its addresses mean nothing here, and no destructor is called.
template <class T>
class Copy {
 public:
  Copy(const ReadMemory& read, uint64_t address)
      : good_(address && read(address, bytes_, sizeof bytes_)) {}
  explicit operator bool() const { return good_; }
  const T* operator->() const { return reinterpret_cast<const T*>(bytes_); }
  const T& operator*() const { return *reinterpret_cast<const T*>(bytes_); }

 private:
  alignas(T) char bytes_[sizeof(T)];
  bool good_;
};

uint64_t address_of(const void* there) { return reinterpret_cast<uint64_t>(there); }

std::string words_of(uint64_t ctx) {
  const comm::ContextId id{ctx & ~uint64_t{0xff}};
  if (id.lbi() == comm::kWorldLbi) return "MPI_COMM_WORLD";
  if (id.lbi() == comm::kSelfLbi) return "MPI_COMM_SELF";
  return format("communicator <%u,%u>", id.lid(), id.lbi());
}

std::string words_of(const pt2pt::Envelope& pattern) {
  const std::string source =
      pattern.source == MPI_ANY_SOURCE ? "MPI_ANY_SOURCE" : format("%d", pattern.source);
  const std::string tag = pattern.tag == MPI_ANY_TAG ? "MPI_ANY_TAG" : format("%d", pattern.tag);
  return "source " + source + ", tag " + tag + ", " + words_of(pattern.ctx);
}

}  // namespace

bool ForeignWaits::readable() const {
  return table_.version == pt2pt::SiteTable::kVersion &&
         table_.send_bytes == sizeof(pt2pt::SendOp) &&
         table_.receive_bytes == sizeof(pt2pt::RecvOp) &&
         table_.request_bytes == sizeof(pt2pt::Request);
}

std::string ForeignWaits::text(uint64_t address) const {
  std::string out;
  // It may end with its page.
  for (char c; out.size() < 48 && read_(address + out.size(), &c, 1) && c != '\0';) out += c;
  return escaped(out);
}

std::string ForeignWaits::of_send(const pt2pt::SendOp& send) const {
  return name_(send.to) + format(", tag %d, ", send.envelope.tag) + words_of(send.envelope.ctx);
}

std::string ForeignWaits::of_request(uint64_t request, const std::string& waits_in) const {
  const Copy<pt2pt::Request> common(read_, request);
  if (!common) return "";
  const std::string call = text(address_of(common->call));
  const auto says = [&](const char* part) { return call.find(part) != call.npos; };
  // Which class it is of is known by the call that has made it.
  const bool receives = says("recv") || says("Recv"), sends = says("send") || says("Send");
  std::string what;
  if (receives && !sends) {
    if (const Copy<pt2pt::RecvRequest> receive(read_, request); receive)
      what = words_of(receive->op.envelope);
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
    return op ? words_of(op->envelope) : "";
  }
  if (common->describe == table_.probe) {
    const Copy<pt2pt::ProbeSite> probe(read_, site);
    const Copy<pt2pt::Envelope> pattern(read_, probe ? address_of(probe->pattern) : 0);
    return pattern ? words_of(*pattern) : "";
  }
  if (common->describe == table_.requests) {
    const Copy<pt2pt::RequestsSite> requests(read_, site);
    return requests ? of_requests(*requests) : "";
  }
  return "";
}

}  // namespace fgmpi::tools
