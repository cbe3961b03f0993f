// Multicast transfers of a team: sending, receiving, ending them, and the match by which the
// group's service finds them.

#include "multicast/multicast.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ch4-av-rankmap/av.h"
#include "comm/truncated.h"
#include "multicast/service.h"

namespace fgmpi::multicast {

namespace {
std::vector<uint32_t> all_of(const MulticastCaller& caller) {
  std::vector<uint32_t> all(caller.count());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}
}  // namespace

Multicast::Multicast(const MulticastCaller& caller, Membership* group, uint32_t types)
    : Multicast(caller, group, types, all_of(caller)) {}

Multicast::Multicast(const Multicast& whole, Membership* group,
                     const std::vector<uint32_t>& members)
    : Multicast(whole.caller_, group, whole.types_, members) {}

Multicast::Multicast(const MulticastCaller& caller, Membership* group, uint32_t types,
                     const std::vector<uint32_t>& members)
    : caller_(caller), group_(group), types_(types) {
  // The service numbers the members of a group in the order of processes.
  std::vector<uint32_t> order = members;
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return caller.process(a) < caller.process(b); });
  index_.resize(caller.count(), boost::container::default_init);
  for (uint32_t i = 0; i < order.size(); ++i) index_[order[i]] = i;
}

Match Multicast::match(uint16_t step) const {
  return {caller_.ctx, caller_.tag, caller_.signature, types_, step};
}

void MulticastTransfer::prepare(const MulticastCaller& caller, size_t n, bool is_send) {
  call = caller.call;
  bytes = n;
  sends = is_send;
  completion.owner = this;
  completion.finish = [](TransferCompletion* c) {
    static_cast<MulticastTransfer*>(c->owner)->set_complete();
  };
}

void MulticastTransfer::describe(std::string* out) const {
  *out += call;
  *out +=
      sends ? " (multicast: others have yet to receive)" : " (multicast: its root has yet to send)";
}

void Multicast::start_send(const void* data, size_t bytes, uint16_t step,
                           MulticastTransfer* transfer) const {
  transfer->prepare(caller_, bytes, true);
  if (caller_.failed())
    return transfer->completion.end(TransferCompletion::TransferOutcome::kGivenUp);
  service().send(group_, match(step), static_cast<const char*>(data), bytes, &transfer->completion);
}

void Multicast::start_recv(uint32_t from, void* data, size_t bytes, uint16_t step,
                           MulticastTransfer* transfer) const {
  transfer->prepare(caller_, bytes, false);
  if (caller_.failed())
    return transfer->completion.end(TransferCompletion::TransferOutcome::kGivenUp);
  service().receive(group_, index_[from], match(step), static_cast<char*>(data), bytes,
                    &transfer->completion);
}

Status Multicast::finish(MulticastTransfer* transfers, size_t count) const {
  Status first;
  for (size_t i = 0; i < count; ++i) {
    MulticastTransfer& t = transfers[i];
    pt2pt::wait(&t, caller_.call);
    if (!first.ok()) continue;
    if (t.completion.outcome == TransferCompletion::TransferOutcome::kOtherLength)
      first =
          comm::truncated(static_cast<int64_t>(t.completion.bytes), static_cast<int64_t>(t.bytes));
    else if (t.completion.outcome == TransferCompletion::TransferOutcome::kOtherArguments)
      first = error(
          MPI_ERR_TYPE,
          "%s: the root's process and process %u do not give the same types: all members must "
          "agree on root, counts and types",
          caller_.call, g_av.me());
    else if (t.completion.outcome == TransferCompletion::TransferOutcome::kGivenUp)
      first = caller_.failure();
  }
  return first;
}

Status Multicast::finish_after(Status first,
                               std::initializer_list<MulticastTransfer*> transfers) const {
  if (!first.ok()) service().give_up(caller_.ctx, caller_.tag, 0);
  for (MulticastTransfer* t : transfers) {
    if (!t) continue;
    Status one = finish(t, 1);
    if (first.ok()) first = std::move(one);
  }
  return first;
}

Status Multicast::send(const void* data, size_t bytes, uint16_t step) const {
  MulticastTransfer transfer;
  start_send(data, bytes, step, &transfer);
  return finish(&transfer, 1);
}

Status Multicast::recv(uint32_t from, void* data, size_t bytes, uint16_t step) const {
  MulticastTransfer transfer;
  start_recv(from, data, bytes, step, &transfer);
  return finish(&transfer, 1);
}

Status Multicast::expect(uint32_t from, size_t* bytes, uint16_t step) const {
  MulticastTransfer transfer;
  transfer.prepare(caller_, 0, false);
  if (caller_.failed()) return caller_.failure();
  service().expect(group_, index_[from], match(step), &transfer.completion);
  Status status = finish(&transfer, 1);
  *bytes = static_cast<size_t>(transfer.completion.bytes);
  return status;
}

}  // namespace fgmpi::multicast
