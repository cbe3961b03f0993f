// Ports and published names among the ranks of one explored process.

#include "dynamic/inside.h"

#include <mpi.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "base/hash.h"
#include "base/strings.h"
#include "ch4-av-rankmap/mlut.h"
#include "comm/group.h"
#include "comm/meeting.h"
#include "dynamic/connection_decider.h"
#include "proclet-sched/sched.h"

namespace fgmpi::dynamic {

ConnectionDecider* g_connection_decider = nullptr;

namespace inside {
namespace {

/// A side that waits at a port for the other one.
struct WaitingSide {
  const RankMap* group;
  comm::ContextId own;
  Met* out;
  sched::Proclet* proclet = nullptr;
  Status status;
};

/// The sides that wait: [0] to connect, [1] to accept. One of the lists is empty.
struct InsidePort {
  std::deque<WaitingSide*> waiting[2];
};

std::map<std::string, InsidePort>& g_ports = *new std::map<std::string, InsidePort>;

struct PublishedName {
  std::string port;
  uint64_t changes = 0;  ///< counts changes; it is the memory that accesses touch
};

std::map<std::string, PublishedName>& g_names = *new std::map<std::string, PublishedName>;

/// Waits for the running rank's turn at a port or name.
void await_turn(const ConnectionAccess& access, const char* call) {
  const sched::WaitSite site{call, nullptr, true};
  g_connection_decider->await_connection(access, &site);
}

Status no_port(const std::string& name) {
  return error(MPI_ERR_PORT,
               "port_name is \"%s\"; allowed is a name that MPI_Open_port has given in the "
               "explored process, of a port that is open",
               escaped(name).c_str());
}

void describe_inside_wait(const sched::WaitSite* site, std::string* out) {
  *out += std::string_view(site->call) == "MPI_Comm_accept"
              ? "waiting for somebody to connect to the port"
              : "waiting for somebody to accept at the port";
}

/// Gives each side the other's group, and both the same id.
Status join(const WaitingSide& a, const WaitingSide& b) {
  if (const int common = comm::intersect(*a.group, *b.group).size())
    return error(MPI_ERR_COMM,
                 "the two sides have %d ranks in common; allowed are sides that have none", common);
  const comm::ContextId id{std::min(a.own.bits, b.own.bits)};
  *a.out = {*b.group, id, b.own};
  *b.out = {*a.group, id, a.own};
  return {};
}

}  // namespace

bool is_on() { return g_connection_decider != nullptr; }

void record_order_source(comm::ContextId id) {
  if (is_on()) g_connection_decider->record_connection_source(id);
}

void record_order_target(comm::ContextId id) {
  if (is_on()) g_connection_decider->record_connection_target(id);
}

void record_undecided() { g_connection_decider->record_undecided(); }

// ---- Ports --------------------------------------------------------------------------------------

std::string open_port() {
  static auto* opened = new std::map<uint32_t, uint32_t>;
  const uint32_t rank = comm::rank_state()->local;
  std::string name = format("explored:%u:%u", rank, (*opened)[rank]++);
  g_ports[name];
  return name;
}

Status close_port(const std::string& name) {
  const auto port = g_ports.find(name);
  if (port == g_ports.end()) return no_port(name);
  if (!port->second.waiting[1].empty())
    return error(MPI_ERR_PORT,
                 "port_name is \"%s\"; allowed is a port that no MPI_Comm_accept waits at",
                 escaped(name).c_str());
  for (WaitingSide* caller : port->second.waiting[0]) {
    caller->status = no_port(name);
    sched::ready(caller->proclet);
  }
  g_ports.erase(port);
  return {};
}

Status meet(const std::string& name, bool accepts, const RankMap& group, comm::ContextId own,
            const char* call, Met* out) {
  if (!g_ports.contains(name)) return no_port(name);
  await_turn({accepts ? ConnectionAccess::kAccept : ConnectionAccess::kConnect, name}, call);
  const auto found = g_ports.find(name);
  if (found == g_ports.end()) return no_port(name);
  record_order_source(own);
  WaitingSide mine{&group, own, out, nullptr, {}};
  std::deque<WaitingSide*>& others = found->second.waiting[!accepts];
  if (others.empty()) {
    found->second.waiting[accepts].push_back(&mine);
    mine.proclet = sched::current();
    const sched::WaitSite site{call, describe_inside_wait, true};
    sched::park(&site);
    return std::move(mine.status);
  }
  WaitingSide* other = others.front();
  others.pop_front();
  Status status = join(mine, *other);
  other->status = comm::copy_status(status);
  sched::ready(other->proclet);
  return status;
}

// ---- Names --------------------------------------------------------------------------------------

Status publish_name(const std::string& service, const std::string& port) {
  PublishedName& name = g_names[service];
  await_turn({ConnectionAccess::kChangeName, service, &name.changes}, "MPI_Publish_name");
  if (!name.port.empty())
    return error(MPI_ERR_SERVICE,
                 "service_name is \"%s\"; allowed is a name that nobody has published",
                 escaped(service).c_str());
  name.port = port;
  ++name.changes;
  return {};
}

Status unpublish_name(const std::string& service) {
  PublishedName& name = g_names[service];
  await_turn({ConnectionAccess::kChangeName, service, &name.changes}, "MPI_Unpublish_name");
  if (name.port.empty())
    return error(MPI_ERR_SERVICE,
                 "service_name is \"%s\"; allowed is a name that this process has published",
                 escaped(service).c_str());
  name.port.clear();
  ++name.changes;
  return {};
}

Status lookup_name(const std::string& service, std::string* port) {
  PublishedName& name = g_names[service];
  await_turn({ConnectionAccess::kReadName, service, &name.changes}, "MPI_Lookup_name");
  if (name.port.empty())
    return error(MPI_ERR_NAME, "service_name is \"%s\", which nobody has published",
                 escaped(service).c_str());
  *port = name.port;
  return {};
}

}  // namespace inside
}  // namespace fgmpi::dynamic
