// Memory that the provider moves between processes: large messages that are read out of their
// sender's memory, and accesses to windows. Long ones are divided into pieces, of which a few are
// under way at once. A piece for which the provider has no room is requested again at each poll.

#include <mpi.h>
#include <rdma/fi_atomic.h>

#include <algorithm>

#include "base/count_words.h"
#include "base/environment.h"
#include "base/strings.h"
#include "proclet-sched/coroutine/packing.h"
#include "proclet-sched/sched.h"
#include "transport/ofi/ofi.h"
#include "transport/random.h"

namespace fgmpi::transport::ofi {
namespace {

constexpr size_t kPieceBytes = 4 << 20;

using AccessKind = Access::Kind;

fi_datatype provider_type(AtomicType type) {
  constexpr fi_datatype kTypes[] = {FI_INT8,   FI_UINT8, FI_INT16,  FI_UINT16, FI_INT32,
                                    FI_UINT32, FI_INT64, FI_UINT64, FI_FLOAT,  FI_DOUBLE};
  return kTypes[static_cast<int>(type)];
}
size_t element_bytes(AtomicType type) {
  constexpr size_t kBytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
  return kBytes[static_cast<int>(type)];
}

fi_op provider_op(AccessKind kind, AtomicOp op) {
  constexpr fi_op kOps[] = {FI_SUM,  FI_PROD, FI_MIN, FI_MAX,  FI_LAND,         FI_LOR,
                            FI_LXOR, FI_BAND, FI_BOR, FI_BXOR, FI_ATOMIC_WRITE, FI_ATOMIC_READ};
  return kind == AccessKind::kSwap ? FI_CSWAP : kOps[static_cast<int>(op)];
}

}  // namespace

std::string why_no_access(const fi_info& info) {
  constexpr std::pair<uint64_t, const char*> kWants[] = {
      {FI_MR_LOCAL, "FI_MR_LOCAL"},         {FI_MR_RAW, "FI_MR_RAW"},
      {FI_MR_VIRT_ADDR, "FI_MR_VIRT_ADDR"}, {FI_MR_ALLOCATED, "FI_MR_ALLOCATED"},
      {FI_MR_PROV_KEY, "FI_MR_PROV_KEY"},   {FI_MR_ENDPOINT, "FI_MR_ENDPOINT"}};
  if (!(info.caps & FI_RMA) || !(info.caps & FI_WRITE)) return "it does not access memory (FI_RMA)";
  const auto mode = static_cast<uint64_t>(info.domain_attr->mr_mode);
  if (mode != 0) {
    std::string wants;
    for (const auto& [bit, name] : kWants)
      if (mode & bit) wants += (wants.empty() ? "" : ", ") + std::string(name);
    return "it wants memory registered piece by piece (" +
           (wants.empty() ? format("mr_mode 0x%llx", static_cast<unsigned long long>(mode))
                          : wants) +
           ")";
  }
  if (info.domain_attr->mr_key_size < sizeof(uint64_t))
    return format("its keys have %s; needed are %zu",
                  count_words(info.domain_attr->mr_key_size, "byte").c_str(), sizeof(uint64_t));
  return {};
}

std::string Ofi::describe_access() const {
  if (!fabric_.info) return {};
  const std::string why = why_no_access(*fabric_.info);
  if (why.empty()) return "windows: provider " + fabric_.provider() + " can read and write memory";
  return "windows: messages only, provider " + fabric_.provider() + ": " + why;
}

uint64_t Ofi::grant_access() {
  if (!why_no_access(*fabric_.info).empty()) return 0;
  if (!granted_) {
    uint64_t key;
    random_bytes(&key, sizeof key);
    const uint64_t allowed = FI_REMOTE_READ | FI_REMOTE_WRITE;
    int failed = 0;
    sched::call_on_host([&] {
      failed = fi_mr_reg(fabric_.domain, nullptr, SIZE_MAX, allowed, 0, key, 0, &granted_, nullptr);
    });
    if (failed) {
      granted_ = nullptr;
      return 0;
    }
  }
  ++grants_;
  return fi_mr_key(granted_);
}

void Ofi::withdraw_access() {
  if (grants_ == 0 || --grants_ > 0 || !granted_) return;
  sched::call_on_host([&] { fi_close(&granted_->fid); });
  granted_ = nullptr;
}

/// Atomics of network hardware need not be atomic with those of the processor, which the peer's own
/// ranks use. So only atomics are offered that the peer's processor executes: those that libfabric
/// makes for providers without any.
size_t Ofi::most_atomic(AccessKind kind, AtomicOp op, AtomicType type) const {
  if (!fabric_.is_layered() || !(fabric_.info->caps & FI_ATOMIC)) return 0;
  size_t count = 0;
  int unfit = 0;
  const fi_datatype datatype = provider_type(type);
  const fi_op operation = provider_op(kind, op);
  sched::call_on_host([&] {
    unfit =
        kind == AccessKind::kSwap ? fi_compare_atomicvalid(fabric_.ep, datatype, operation, &count)
        : kind == AccessKind::kFetch ? fi_fetch_atomicvalid(fabric_.ep, datatype, operation, &count)
                                     : fi_atomicvalid(fabric_.ep, datatype, operation, &count);
  });
  return unfit ? 0 : count * element_bytes(type);
}

ReadResult Ofi::read(uint32_t, uint64_t handle, uint64_t remote, void* local, size_t length,
                     uint64_t cookie) {
  auto index = static_cast<uint32_t>(handle);
  if (!peers_[index].memory_key) return ReadResult::kUnsupported;
  if (peers_[index].failed) return ReadResult::kFailed;
  Access what{.kind = AccessKind::kRead};
  what.remote = remote;
  what.key = peers_[index].memory_key;
  what.result = local;
  what.length = length;
  what.cookie = cookie;
  begin_moving(index, what, false);
  return ReadResult::kPending;
}

void Ofi::access(uint64_t handle, const Access& what) {
  begin_moving(static_cast<uint32_t>(handle), what, true);
}

void Ofi::begin_moving(uint32_t index, const Access& what, bool accesses) {
  auto moving = std::make_unique<Moving>();
  for (PieceOperation& piece : moving->pieces) {
    piece.type = Operation::Type::kMove;
    piece.moving = moving.get();
  }
  moving->peer = index;
  moving->accesses = accesses;
  moving->what = what;
  if (peers_[index].failed) moving->failure = "the process is gone";
  for (const void* memory : {what.source, what.compare, static_cast<const void*>(what.result)})
    if (memory) sched::keep_unpacked(memory, what.length);
  sched::call_on_host([&] { issue(moving.get()); });
  movings_.push_back(std::move(moving));
}

/// Asks the provider for the next `length` bytes; libfabric's result.
ssize_t Ofi::issue_piece(const OfiPeer& peer, const Access& what, size_t length,
                         PieceOperation* piece) {
  if (what.kind == AccessKind::kRead)
    return fi_read(fabric_.ep, what.result, length, nullptr, peer.address, what.remote, what.key,
                   &piece->context);
  if (what.kind == AccessKind::kWrite) {
    // The write is complete when the data is in the peer's memory, not when it has left.
    iovec from{const_cast<void*>(what.source), length};
    fi_rma_iov to{what.remote, length, what.key};
    fi_msg_rma message{};
    message.msg_iov = &from;
    message.iov_count = 1;
    message.addr = peer.address;
    message.rma_iov = &to;
    message.rma_iov_count = 1;
    message.context = &piece->context;
    return fi_writemsg(fabric_.ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
  }
  const size_t count = length / element_bytes(what.type);
  fi_ioc from{const_cast<void*>(what.source), count};
  fi_ioc with{const_cast<void*>(what.compare), count}, before{what.result, count};
  fi_rma_ioc to{what.remote, count, what.key};
  fi_msg_atomic message{};
  message.msg_iov = &from;
  message.iov_count = what.source ? 1 : 0;
  message.addr = peer.address;
  message.rma_iov = &to;
  message.rma_iov_count = 1;
  message.datatype = provider_type(what.type);
  message.op = provider_op(what.kind, what.op);
  message.context = &piece->context;
  if (what.kind == AccessKind::kAtomic)
    return fi_atomicmsg(fabric_.ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
  if (what.kind == AccessKind::kFetch)
    return fi_fetch_atomicmsg(fabric_.ep, &message, &before, nullptr, 1, FI_COMPLETION);
  return fi_compare_atomicmsg(fabric_.ep, &message, &with, nullptr, 1, &before, nullptr, 1,
                              FI_COMPLETION);
}

/// Requests as many further pieces as may be under way.
void Ofi::issue(Moving* moving) {
  const OfiPeer& peer = peers_[moving->peer];
  if (__builtin_expect(!peer.greeted && !peer.failed, 0) && !ready(moving->peer)) return;
  const size_t most = std::min(kPieceBytes, fabric_.info->ep_attr->max_msg_size);
  Access& what = moving->what;
  for (PieceOperation& piece : moving->pieces) {
    if (piece.busy) continue;
    if (!what.length || !moving->failure.empty()) return;
    const size_t length = std::min(what.length, most);
    const ssize_t e = issue_piece(peer, what, length, &piece);
    if (e == -FI_EAGAIN) return;
    if (e) {
      moving->failure = fabric_error(e);
      return;
    }
    piece.busy = true;
    ++moving->in_flight;
    what.remote += length;
    what.length -= length;
    if (what.source) what.source = static_cast<const char*>(what.source) + length;
    if (what.result) what.result = static_cast<char*>(what.result) + length;
  }
}

/// Advances what is under way, and completes what is done.
bool Ofi::go_on_moving() {
  bool any = false;
  for (size_t i = 0; i < movings_.size();) {
    Moving* moving = movings_[i].get();
    issue(moving);
    const bool over =
        moving->in_flight == 0 && (moving->what.length == 0 || !moving->failure.empty());
    if (!over) {
      ++i;
      continue;
    }
    any = true;
    std::unique_ptr<Moving> done = std::move(movings_[i]);
    movings_[i] = std::move(movings_.back());
    movings_.pop_back();
    Status status;
    const OfiPeer& peer = peers_[done->peer];
    const bool lost = peer.failed && environment::text(environment::kFt);
    if (!done->failure.empty())
      status = error(lost ? MPIX_ERR_PROC_FAILED : MPI_ERR_OTHER, "%s memory of process %u: %s",
                     done->what.kind == AccessKind::kRead ? "reading from" : "an access to",
                     peer.process, done->failure.c_str());
    if (done->accesses)
      sinks_.memory->accessed(done->what.cookie, std::move(status));
    else
      sinks_.memory->read_done(done->what.cookie, std::move(status));
  }
  return any;
}

}  // namespace fgmpi::transport::ofi
