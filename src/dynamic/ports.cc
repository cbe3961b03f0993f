// Opening, closing and calling ports, and waiting for callers.

#include "dynamic/ports.h"

#include <mpi.h>

#include <deque>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/strings.h"
#include "dynamic/inside.h"
#include "dynamic/links.h"

namespace fgmpi::dynamic {
namespace {

/// The most callers that wait at a port; more are refused until some have been accepted.
constexpr size_t kMostCallers = 4096;

struct Port {
  SecretKey key;
  std::deque<std::unique_ptr<Conversation>> callers;
  std::deque<DeadlineWaiter*> acceptors;  ///< proclets that wait in accept()
};

std::map<uint32_t, Port>& g_ports = *new std::map<uint32_t, Port>;
uint32_t g_next_port = 1;

Status no_port(const std::string& name, const char* allowed) {
  return error(MPI_ERR_PORT, "port_name is \"%s\"; allowed is %s", escaped(name).c_str(), allowed);
}

/// The port that a name denotes, if it is open here.
Port* find_port(const std::string& text) {
  PortName name;
  if (!name.parse(text)) return nullptr;
  auto it = g_ports.find(name.number);
  return it != g_ports.end() && it->second.key.same(name.key) ? &it->second : nullptr;
}

/// Adds a process that has sent a hello to a port.
bool accept_caller(const StreamHello& hello, int fd) {
  auto it = g_ports.find(hello.number);
  if (it == g_ports.end() || !hello.key.same(it->second.key)) return false;
  Port& port = it->second;
  while (!port.callers.empty() && port.callers.front()->ended()) port.callers.pop_front();
  if (port.callers.size() >= kMostCallers) return false;
  auto caller = std::make_unique<Conversation>();
  caller->adopt(fd, true);
  caller->pause(true);  // until it is accepted
  port.callers.push_back(std::move(caller));
  if (!port.acceptors.empty()) {
    port.acceptors.front()->wake();
    port.acceptors.pop_front();
  }
  return true;
}

void describe_accept(const sched::WaitSite*, std::string* out) {
  *out += "waiting for a job to connect";
}

constexpr const char* kOpenHere =
    "the name of a port that was opened in the process of the root and not closed";

}  // namespace

Status open_port(std::string* name) {
  if (inside::is_on()) {
    *name = inside::open_port();
    return {};
  }
  FGMPI_TRY(links().listen());
  set_port_handler(accept_caller);
  const uint32_t number = g_next_port++;
  Port& port = g_ports[number];
  port.key = SecretKey::draw();
  *name = PortName{links().contact(), number, port.key}.to_string();
  // There are at most four addresses, as half a dozen would not fit.
  FGMPI_CHECK(name->size() < MPI_MAX_PORT_NAME);
  return {};
}

Status close_port(const std::string& text) {
  if (inside::is_on()) return inside::close_port(text);
  Port* port = find_port(text);
  if (!port) return no_port(text, "the name of a port that this process has opened and not closed");
  if (!port->acceptors.empty()) return no_port(text, "a port that no MPI_Comm_accept waits at");
  PortName name;
  name.parse(text);
  g_ports.erase(name.number);
  return {};
}

void wake_acceptors() {
  for (auto& [number, port] : g_ports)
    for (DeadlineWaiter* acceptor : port.acceptors) acceptor->wake();
}

Status accept(const std::string& name, const char* call, std::unique_ptr<Conversation>* out,
              const AcceptLimit* limit) {
  for (;;) {
    Port* port = find_port(name);
    if (!port) return no_port(name, kOpenHere);
    while (!port->callers.empty()) {
      *out = std::move(port->callers.front());
      port->callers.pop_front();
      if (!(*out)->ended() && ((limit && limit->accepts_closed) || !(*out)->hung_up())) return {};
    }
    if (limit && limit->over) return error(limit->error_class, "%s", limit->words);
    const int64_t deadline = limit ? limit->deadline : INT64_MAX;
    if (now_ns() >= deadline)
      return error(limit->error_class,
                   "nobody has connected in time (MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT)");
    DeadlineWaiter waiter;
    port->acceptors.push_back(&waiter);
    waiter.wait(deadline, call, describe_accept);
    if ((port = find_port(name))) std::erase(port->acceptors, &waiter);
  }
}

Status call_port(const std::string& text, std::unique_ptr<Conversation>* out) {
  PortName name;
  if (!name.parse(text)) return no_port(text, "a name that MPI_Open_port has given");
  auto made = std::make_unique<Conversation>();
  StreamHello hello = make_hello(StreamHello::kPort, name.key);
  hello.number = name.number;
  made->write(&hello, sizeof hello, nullptr, 0);
  made->connect(addresses_of(name.contact));
  *out = std::move(made);
  return {};
}

}  // namespace fgmpi::dynamic
