// Describes in words what a proclet waits for.

#include "pt2pt/sites.h"

#include <cstring>

#include "base/count_words.h"
#include "base/strings.h"
#include "ch4-av-rankmap/process_groups.h"
#include "pt2pt/requests.h"

namespace fgmpi::pt2pt {

namespace {
Naming g_naming;

void add_communicator(uint64_t ctx, std::string* out) {
  std::string name = format("communicator of context 0x%llx", static_cast<unsigned long long>(ctx));
  if (g_naming.communicator) g_naming.communicator(ctx, &name);
  *out += ", " + name;
}

std::string number_or_any(int32_t value, int32_t any, const char* any_name) {
  return value == any ? any_name : format("%d", value);
}

std::string words_of_target(const Peer& to) {
  const uint32_t global = g_av.global_of(to.process, to.local);
  if (global == AddressVector::kNoRange) return "to a rank that has ended";
  const GroupRank g = g_process_groups.find_rank(static_cast<int32_t>(global));
  if (g.pgid == 0) return format("to world rank %u", g.lpid);
  return format(g_process_groups.hosted(g.pgid) ? "to spawned rank %u <%08x>"
                                                : "to rank %u of a connected job <%08x>",
                g.lpid, g_process_groups.short_name(g.pgid) & 0x7fffffffu);
}
}  // namespace

void set_naming(const Naming& naming) { g_naming = naming; }

void describe_recv(const Envelope& pattern, uint64_t bytes, std::string* out) {
  WaitFor from;
  if (awaited_source(pattern, &from) && from.peer.local == kProcessEndpoint) {
    *out += format("for process %u", from.peer.process);
    add_communicator(pattern.ctx, out);
    return;
  }
  *out += "source " + number_or_any(pattern.source, MPI_ANY_SOURCE, "MPI_ANY_SOURCE") + ", tag " +
          number_or_any(pattern.tag, MPI_ANY_TAG, "MPI_ANY_TAG");
  if (bytes != ~uint64_t{0}) *out += ", up to " + count_words(bytes, "byte");
  add_communicator(pattern.ctx, out);
}

void describe_send(const SendOp& op, std::string* out) {
  if (op.to.process == kUnknownProcess)
    *out += format("to rank %u, whose address is being asked for", op.to.local);
  else if (op.to.local == kProcessEndpoint)
    *out += format("to process %u", op.to.process);
  else
    *out += words_of_target(op.to);
  *out += format(", tag %d, ", op.envelope.tag) + count_words(op.size, "byte");
  add_communicator(op.envelope.ctx, out);
}

bool awaited_source(const Envelope& pattern, WaitFor* out) {
  return pattern.source != MPI_ANY_SOURCE && g_naming.locate &&
         g_naming.locate(pattern.ctx, pattern.source, &out->peer);
}

bool awaited_destination(const SendOp& op, WaitFor* out) {
  out->peer = op.to.process == kByWorld ? g_av.locate(op.to.local) : op.to;
  return op.to.process != kUnknownProcess;
}

void SendSite::words(const WaitSite* site, std::string* out) {
  describe_send(*static_cast<const SendSite*>(site)->op, out);
}
void RecvSite::words(const WaitSite* site, std::string* out) {
  const RecvOp* op = static_cast<const RecvSite*>(site)->op;
  describe_recv(op->envelope, op->capacity, out);
}
void ProbeSite::words(const WaitSite* site, std::string* out) {
  describe_recv(*static_cast<const ProbeSite*>(site)->pattern, ~uint64_t{0}, out);
}

void RequestsSite::words(const WaitSite* site, std::string* out) {
  const RequestsSite* self = static_cast<const RequestsSite*>(site);
  size_t incomplete = 0;
  const Request* first = nullptr;
  for (size_t i = 0; i < self->count; ++i) {
    const Request* r = self->requests[i];
    if (!r || r->complete() || !r->active) continue;
    if (!first) first = r;
    ++incomplete;
  }
  if (!first) return;
  if (incomplete > 1) *out += format("%zu requests, the first: ", incomplete);
  if (std::strcmp(first->call, site->call)) *out += first->call + std::string(" ");
  first->describe(out);
}

bool awaited(const sched::WaitSite* site, WaitFor* out) {
  if (site->describe == SendSite::words)
    return awaited_destination(*static_cast<const SendSite*>(site)->op, out);
  if (site->describe == RecvSite::words)
    return awaited_source(static_cast<const RecvSite*>(site)->op->envelope, out);
  if (site->describe == ProbeSite::words)
    return awaited_source(*static_cast<const ProbeSite*>(site)->pattern, out);
  if (site->describe == RequestsSite::words) {
    const RequestsSite* self = static_cast<const RequestsSite*>(site);
    for (size_t i = 0; i < self->count; ++i) {
      const Request* r = self->requests[i];
      if (r && !r->complete() && r->active) return r->awaits(out);
    }
  }
  return false;
}

void SendRequest::describe(std::string* out) const { describe_send(op, out); }
bool SendRequest::awaits(WaitFor* out) const { return awaited_destination(op, out); }
void RecvRequest::describe(std::string* out) const { describe_recv(op.envelope, op.capacity, out); }
bool RecvRequest::awaits(WaitFor* out) const { return awaited_source(op.envelope, out); }

}  // namespace fgmpi::pt2pt

constinit const fgmpi::pt2pt::SiteTable fgmpi_site_table = {
    fgmpi::pt2pt::SiteTable::kVersion,
    fgmpi::pt2pt::SendSite::words,
    fgmpi::pt2pt::RecvSite::words,
    fgmpi::pt2pt::ProbeSite::words,
    fgmpi::pt2pt::RequestsSite::words,
    sizeof(fgmpi::pt2pt::SendOp),
    sizeof(fgmpi::pt2pt::RecvOp),
    sizeof(fgmpi::pt2pt::Request),
    fgmpi::pt2pt::g_engine.endpoints.memory_cell()};
