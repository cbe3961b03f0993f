// Chooses a provider, and opens libfabric's objects.

#include "transport/ofi/fabric.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <mpi.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/environment.h"
#include "base/host_name.h"
#include "base/settings.h"
#include "base/strings.h"

namespace fgmpi::transport::ofi {
namespace {

/// The few functions of libfabric that are not called through an object.
struct Library {
  decltype(&::fi_getinfo) getinfo;
  decltype(&::fi_freeinfo) freeinfo;
  decltype(&::fi_dupinfo) dupinfo;
  decltype(&::fi_fabric) fabric;
  decltype(&::fi_strerror) strerror;
};
Library g_library;

Status load_library() {
  if (g_library.getinfo) return {};
  void* handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return error(MPI_ERR_OTHER, "cannot load libfabric: %s", dlerror());
  auto find = [&](auto* function, const char* name) {
    *function = reinterpret_cast<std::remove_reference_t<decltype(*function)>>(dlsym(handle, name));
    return *function != nullptr;
  };
  if (!find(&g_library.freeinfo, "fi_freeinfo") || !find(&g_library.dupinfo, "fi_dupinfo") ||
      !find(&g_library.fabric, "fi_fabric") || !find(&g_library.strerror, "fi_strerror") ||
      !find(&g_library.getinfo, "fi_getinfo"))
    return error(MPI_ERR_OTHER, "libfabric.so.1 lacks a function that is needed: %s", dlerror());
  return {};
}

bool is_loopback_or_link_local(const fi_info* info) {
  if (!info->src_addr) return false;
  if (info->addr_format == FI_SOCKADDR_IN) {
    auto* address = static_cast<const sockaddr_in*>(info->src_addr);
    return (ntohl(address->sin_addr.s_addr) >> 24) == 127;
  }
  if (info->addr_format == FI_SOCKADDR_IN6) {
    auto* address = static_cast<const sockaddr_in6*>(info->src_addr);
    return IN6_IS_ADDR_LOOPBACK(&address->sin6_addr) || IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr);
  }
  return false;
}

/// The provider to use. libfabric lists providers best first, but tcp;ofi_rxm before net. net uses
/// the same sockets without a layer in between, and so without two system calls a message (11.0
/// against 6.8 us half a round trip). Later versions of libfabric call net tcp. Who names a layer
/// in FI_PROVIDER wants it, also where the provider below would do.
const char* best_provider(const fi_info* list) {
  const char* wanted = environment::text(environment::kFabricProvider);
  const bool wants_layer = wanted && std::strstr(wanted, "ofi_rx");
  for (const fi_info* i = list; i && wants_layer; i = i->next)
    if (std::strstr(i->fabric_attr->prov_name, ";ofi_rx")) return i->fabric_attr->prov_name;
  const char* first = list->fabric_attr->prov_name;
  if (std::strcmp(first, "tcp;ofi_rxm")) return first;
  for (const char* plain : {"tcp", "net"})
    for (const fi_info* i = list; i; i = i->next)
      if (!std::strcmp(i->fabric_attr->prov_name, plain)) return plain;
  return first;
}

/// Chooses the best provider's best interface: each provider is listed once for each interface.
const fi_info* choose(const fi_info* list) {
  const std::string& wanted = settings::text(settings::kOfiInterface);
  const char* best = best_provider(list);
  for (bool anything : {false, true}) {
    for (const fi_info* i = list; i; i = i->next) {
      std::string_view provider = i->fabric_attr->prov_name;
      // The provider shm cannot leave the host.
      if (provider == "shm" || provider != best) continue;
      if (!wanted.empty() ? wanted == i->domain_attr->name
                          : anything || !is_loopback_or_link_local(i))
        return i;
    }
  }
  return nullptr;
}

/// The one epoll descriptor among those that epoll descriptor `fd` watches, or -1.
///
/// net (1.17) watches two descriptors for a queue: the sockets' epoll, and one that becomes
/// readable with the first completion and is never read again, neither by fi_trywait (which does
/// nothing) nor by fi_cq_read. A process that sleeps on both never sleeps any more. The second one
/// is for completions found by other threads, which this transport does not have. The kernel is
/// asked what `fd` watches (proc(5), fdinfo), because libfabric gives no certain answer: its list
/// of descriptors (FI_WAIT_POLLFD) stays empty until a thread has waited, and fi_cq_sread does not
/// wait when its milliseconds are over before it reads the clock.
int event_queue_behind(int fd) {
  std::FILE* info = std::fopen(format("/proc/self/fdinfo/%d", fd).c_str(), "re");
  if (!info) return -1;
  int found = -1, queues = 0;
  char line[256];
  while (std::fgets(line, sizeof line, info)) {
    int watched;
    char kind[64] = "";
    if (std::sscanf(line, "tfd: %d", &watched) != 1 ||
        readlink(format("/proc/self/fd/%d", watched).c_str(), kind, sizeof kind - 1) < 0 ||
        std::string_view(kind) != "anon_inode:[eventpoll]")
      continue;
    found = watched;
    ++queues;
  }
  std::fclose(info);
  return queues == 1 ? found : -1;
}

/// Atomics may cost time: they are opened only where windows use them.
constexpr std::string_view kAsked = "provider";
constexpr uint64_t kMessages = FI_MSG | FI_MULTI_RECV | FI_SEND | FI_RECV;

/// The hints that every provider must meet; nullptr: no memory.
fi_info* make_hints() {
  fi_info* hints = g_library.dupinfo(nullptr);
  if (!hints) return nullptr;
  hints->ep_attr->type = FI_EP_RDM;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->av_type = FI_AV_TABLE;
  return hints;
}

/// Adds atomics to the same provider and interface, if it has them: *info is replaced.
void add_atomics(fi_info** info) {
  fi_info* hints = make_hints();
  if (!hints) return;
  hints->caps = (*info)->caps | FI_ATOMIC | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  hints->domain_attr->mr_mode = (*info)->domain_attr->mr_mode;
  fi_info* list = nullptr;
  if (!g_library.getinfo(FI_VERSION(1, 11), nullptr, nullptr, 0, hints, &list)) {
    for (const fi_info* i = list; i; i = i->next) {
      if (std::strcmp(i->fabric_attr->prov_name, (*info)->fabric_attr->prov_name) ||
          std::strcmp(i->domain_attr->name, (*info)->domain_attr->name) ||
          i->addr_format != (*info)->addr_format)
        continue;
      g_library.freeinfo(*info);
      *info = g_library.dupinfo(i);
      break;
    }
    g_library.freeinfo(list);
  }
  g_library.freeinfo(hints);
}

Status find_info(fi_info** out) {
  FGMPI_TRY(load_library());
  fi_info* hints = make_hints();
  if (!hints) return error(MPI_ERR_OTHER, "libfabric has no memory");
  // The first search is for providers that access any memory; the second allows all modes that a
  // network card may need.
  hints->caps = kMessages | FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  hints->domain_attr->mr_mode = 0;
  fi_info* list = nullptr;
  int failed = g_library.getinfo(FI_VERSION(1, 11), nullptr, nullptr, 0, hints, &list);
  if (failed) {
    hints->caps = kMessages;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
    failed = g_library.getinfo(FI_VERSION(1, 11), nullptr, nullptr, 0, hints, &list);
  }
  g_library.freeinfo(hints);
  const char* provider = environment::text(environment::kFabricProvider);
  const std::string host = host_name();
  if (failed)
    return error(MPI_ERR_OTHER,
                 "libfabric has no provider for reliable datagrams on host %s (FI_PROVIDER=%s): %s",
                 host.c_str(), provider ? provider : "", g_library.strerror(-failed));
  const fi_info* best = choose(list);
  if (best) *out = g_library.dupinfo(best);
  g_library.freeinfo(list);
  if (*out && settings::text(settings::kRmaNetwork) == kAsked) add_atomics(out);
  if (best) return {};
  if (!settings::is_set(settings::kOfiInterface))
    return error(
        MPI_ERR_OTHER,
        "FI_PROVIDER=%s: on host %s this is shared memory only; allowed is a provider that "
        "leaves the host",
        provider ? provider : "", host.c_str());
  return error(MPI_ERR_OTHER,
               "FGMPI_OFI_INTERFACE=%s: libfabric knows no such interface on host %s",
               settings::text(settings::kOfiInterface).c_str(), host.c_str());
}

}  // namespace

std::string fabric_error(long code) {
  return g_library.strerror(static_cast<int>(code < 0 ? -code : code));
}

Status Fabric::find() { return find_info(&info); }

Status Fabric::open(size_t max_message, uint64_t key) {
  auto failed = [&](const char* what, int code) {
    return error(MPI_ERR_OTHER, "libfabric provider %s: %s: %s", provider().c_str(), what,
                 fabric_error(code).c_str());
  };
  if (int e = g_library.fabric(info->fabric_attr, &fabric, nullptr)) return failed("fi_fabric", e);
  if (int e = fi_domain(fabric, info, &domain, nullptr)) return failed("fi_domain", e);
  int e = open_queue();
  if (e) return failed("fi_cq_open", e);
  fi_av_attr av_attr{};
  av_attr.type = FI_AV_TABLE;
  if ((e = fi_av_open(domain, &av_attr, &av, nullptr))) return failed("fi_av_open", e);
  if ((e = fi_endpoint(domain, info, &ep, nullptr))) return failed("fi_endpoint", e);
  if ((e = fi_ep_bind(ep, &av->fid, 0))) return failed("fi_ep_bind", e);
  if ((e = fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV))) return failed("fi_ep_bind", e);
  size_t least = max_message;
  if ((e = fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least)))
    return failed("fi_setopt", e);
  if ((e = fi_enable(ep))) return failed("fi_enable", e);
  if ((info->caps & FI_RMA) && info->domain_attr->mr_mode == 0 &&
      info->domain_attr->mr_key_size >= sizeof key &&
      !fi_mr_reg(domain, nullptr, SIZE_MAX, FI_REMOTE_READ, 0, key, 0, &memory, nullptr))
    memory_key = key;
  return {};
}

/// Opens the completion queue with the best way to sleep on it; 0 or libfabric's error number.
int Fabric::open_queue() {
  fi_cq_attr attr{};
  attr.format = FI_CQ_FORMAT_DATA;
  attr.wait_obj = FI_WAIT_FD;
  if (!fi_cq_open(domain, &attr, &cq, nullptr)) {
    if (fi_control(&cq->fid, FI_GETWAIT, &wait_fd)) wait_fd = -1;
    if (!is_plain_sockets() || wait_fd < 0) return 0;
    const int sockets = event_queue_behind(wait_fd);
    if (sockets >= 0) wait_fd = sockets;
    return 0;
  }
  attr.wait_obj = FI_WAIT_NONE;
  return fi_cq_open(domain, &attr, &cq, nullptr);
}

bool Fabric::may_sleep() {
  // A read of no entries makes progress and shows whether the queue is empty; fi_trywait of net
  // always succeeds.
  if (is_plain_sockets()) return fi_cq_read(cq, nullptr, 0) == -FI_EAGAIN;
  fid* queue = &cq->fid;
  return fi_trywait(fabric, &queue, 1) == 0;
}

void Fabric::close() {
  auto end = [](auto*& object) {
    if (object) fi_close(&object->fid);
    object = nullptr;
  };
  end(ep);
  end(memory);
  end(av);
  end(cq);
  end(domain);
  end(fabric);
  if (info) g_library.freeinfo(info);
  info = nullptr;
  wait_fd = -1;
}

}  // namespace fgmpi::transport::ofi
