// libfabric's objects: found, opened and closed together.
//
// The library is loaded when the first endpoint is opened, not linked: it and the vendors'
// libraries that it pulls in cost every process of a job 0.2 s at start (a calibration of clocks in
// a constructor), which a job on one host should not pay.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <string>

#include "base/status.h"

namespace fgmpi::transport::ofi {

struct Fabric {
  fi_info* info = nullptr;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_cq* cq = nullptr;
  fid_av* av = nullptr;
  fid_ep* ep = nullptr;
  fid_mr* memory = nullptr;  ///< all of this process, for remote reads; or nullptr
  uint64_t memory_key = 0;
  /// Readable when something has come from the network, or -1. What is in the queue already need
  /// not show: sleep only while may_sleep().
  int wait_fd = -1;

  ~Fabric() { close(); }
  /// Picks a provider (FI_PROVIDER, else by libfabric's order, but net before tcp;ofi_rxm) and an
  /// interface (FGMPI_OFI_INTERFACE, else the first that is not the loopback).
  Status find();
  /// Opens an endpoint that can send and receive. `memory_key` is asked for as the key for remote
  /// reads of this process's memory. REQUIRES: found.
  Status open(size_t max_message, uint64_t memory_key);
  void close();
  /// Nothing is in the queue that wait_fd would not tell of. REQUIRES: open, wait_fd is not -1.
  bool may_sleep();
  std::string provider() const { return info ? info->fabric_attr->prov_name : "none"; }
  /// Reliable datagrams made by libfabric of a provider that has connections only.
  bool is_layered() const { return provider().find(";ofi_rx") != std::string::npos; }
  /// Sockets without a layer in between: the peer's processor does everything.
  bool is_plain_sockets() const { return provider() == "net" || provider() == "tcp"; }
  /// Messages of several peers go into one receive buffer at the same time, each piece as it
  /// arrives.
  bool fills_side_by_side() const { return is_plain_sockets() || provider() == "sockets"; }
  /// Buffers must be registered before they are sent from or received into.
  bool needs_local_registration() const { return info->domain_attr->mr_mode & FI_MR_LOCAL; }

 private:
  int open_queue();
};

/// Why windows cannot be accessed through a provider, in words, or empty: it must access any memory
/// of a process by one key that the process draws, from and to memory that was not registered.
std::string why_no_access(const fi_info& info);

/// libfabric's words for an error number (positive or negative).
std::string fabric_error(long code);

}  // namespace fgmpi::transport::ofi
