// libfabric's objects: found, opened and closed together.
//
// The library is loaded when the first endpoint is opened, not linked. It and the vendors'
// libraries that it loads cost every process 0.2 s at start (a calibration of clocks in a
// constructor), which a job on one host should not pay.
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
  /// Readable when something has arrived from the network, or -1. It may not show what is in the
  /// queue already: sleep only while may_sleep().
  int wait_fd = -1;

  ~Fabric() { close(); }
  /// Picks a provider (FI_PROVIDER, else by libfabric's order, but net before tcp;ofi_rxm) and an
  /// interface (FGMPI_OFI_INTERFACE, else the first that is not the loopback).
  Status find();
  /// Opens an endpoint that can send and receive. `memory_key` is the wanted key for remote reads
  /// of this process's memory. REQUIRES: find() was ok.
  Status open(size_t max_message, uint64_t memory_key);
  void close();
  /// True when the queue has nothing that wait_fd does not show. REQUIRES: open, wait_fd is not -1.
  bool may_sleep();
  std::string provider() const { return info ? info->fabric_attr->prov_name : "none"; }
  /// True when libfabric makes reliable datagrams from a provider that has connections only.
  bool is_layered() const { return provider().find(";ofi_rx") != std::string::npos; }
  /// True for sockets without a layer in between: the peer's processor does all the work.
  bool is_plain_sockets() const { return provider() == "net" || provider() == "tcp"; }
  /// True when messages of several peers are written into one receive buffer at the same time, each
  /// piece as it arrives.
  bool fills_side_by_side() const { return is_plain_sockets() || provider() == "sockets"; }
  /// True when buffers must be registered before they are sent from or received into.
  bool needs_local_registration() const { return info->domain_attr->mr_mode & FI_MR_LOCAL; }

 private:
  int open_queue();
};

/// Words for why windows cannot be accessed through a provider, or empty. The provider must
/// access any memory of a process by one key that the process chooses, from and to memory that
/// was not registered.
std::string why_no_access(const fi_info& info);

/// libfabric's words for an error number (positive or negative).
std::string fabric_error(long code);

}  // namespace fgmpi::transport::ofi
