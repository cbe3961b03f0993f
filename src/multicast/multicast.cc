// Multicast transfers of a team: sending, receiving, ending them, and the match by which the
// group's service finds them.

#include "coll/multicast.h"

#include <algorithm>
#include <numeric>

#include "ch4-av-rankmap/hosts.h"
#include "coll/move.h"
#include "coll/selector.h"
#include "multicast/service.h"

namespace fgmpi::coll {

using multicast::Match;
using multicast::Membership;
using multicast::service;
using multicast::TransferCompletion;

bool wants_multicast(const Team& team, settings::SettingId setting, const Shape& shape) {
  const uint32_t least_hosts = least_hosts_of_multicast();
  const comm::SharedComm* shared = team.open().shared;
  if (least_hosts == 0 || !shared || shared->inter || shared->tree || shared->id.is_drawn() ||
      team.count() < 2)
    return false;
  if (settings::is_set(setting)) return settings::text(setting) == "multicast";
  return g_hosts.count() >= least_hosts && picks_multicast(setting, shape) &&
         hosts_of(team) >= least_hosts;
}

namespace {
std::vector<uint32_t> all_of(const Team& team) {
  std::vector<uint32_t> all(team.count());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}
}  // namespace

Multicast::Multicast(const Team& team, Membership* group) : Multicast(team, group, all_of(team)) {}

Multicast::Multicast(const Team& team, Membership* group, const std::vector<uint32_t>& members)
    : team_(team), group_(group), types_(team.types()) {
  // The service numbers the members of a group in the order of processes.
  std::vector<uint32_t> order = members;
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return team.process(a) < team.process(b); });
  index_.resize(team.count(), boost::container::default_init);
  for (uint32_t i = 0; i < order.size(); ++i) index_[order[i]] = i;
}

Match Multicast::match(uint16_t step) const {
  return {team_.open().ctx, team_.open().tag, team_.open().signature, types_, step};
}

void MulticastTransfer::prepare(const Team& team, size_t n, bool is_send) {
  call = team.call();
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
  transfer->prepare(team_, bytes, true);
  if (team_.open().failed())
    return transfer->completion.end(TransferCompletion::TransferOutcome::kGivenUp);
  service().send(group_, match(step), static_cast<const char*>(data), bytes, &transfer->completion);
}

void Multicast::start_recv(uint32_t from, void* data, size_t bytes, uint16_t step,
                           MulticastTransfer* transfer) const {
  transfer->prepare(team_, bytes, false);
  if (team_.open().failed())
    return transfer->completion.end(TransferCompletion::TransferOutcome::kGivenUp);
  service().receive(group_, index_[from], match(step), static_cast<char*>(data), bytes,
                    &transfer->completion);
}

Status Multicast::finish(MulticastTransfer* transfers, size_t count) const {
  Status first;
  for (size_t i = 0; i < count; ++i) {
    MulticastTransfer& t = transfers[i];
    pt2pt::wait(&t, team_.call());
    if (!first.ok()) continue;
    if (t.completion.outcome == TransferCompletion::TransferOutcome::kOtherLength)
      first = truncated(static_cast<int64_t>(t.completion.bytes), static_cast<int64_t>(t.bytes));
    else if (t.completion.outcome == TransferCompletion::TransferOutcome::kOtherArguments)
      first = error(
          MPI_ERR_TYPE,
          "%s: the root's process and process %u do not give the same types: all members must "
          "agree on root, counts and types",
          team_.call(), g_av.me());
    else if (t.completion.outcome == TransferCompletion::TransferOutcome::kGivenUp)
      first = team_.open().failure();
  }
  return first;
}

Status Multicast::finish_after(Status first,
                               std::initializer_list<MulticastTransfer*> transfers) const {
  if (!first.ok()) service().give_up(team_.open().ctx, team_.open().tag, 0);
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
  transfer.prepare(team_, 0, false);
  if (team_.open().failed()) return team_.open().failure();
  service().expect(group_, index_[from], match(step), &transfer.completion);
  Status status = finish(&transfer, 1);
  *bytes = static_cast<size_t>(transfer.completion.bytes);
  return status;
}

}  // namespace fgmpi::coll
