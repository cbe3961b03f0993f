// Partitioned communication: which MPI_Psend_init matches which MPI_Precv_init, and who
// owns each partition.
//
// Sends match receives of the same communicator, source and tag in the order of the calls that made
// them, without wildcards. So the process of the receiver pairs them as they arrive, and compares
// their types once:
//
//   MPI_Psend_init       --partitioned--> the receiver's process, where the send or the
//                                         matching receive waits for its counterpart
//   the first MPI_Start  --started------> the same: only a send that was started is
//                                         reported if no receive matches it
//
// The program owns a partition of a send until MPI_Pready, and a partition of a receive again when
// MPI_Parrived returns true.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <tuple>

#include "base/strings.h"
#include "check/call.h"
#include "check/extensions.h"
#include "check/wire/wire.h"

namespace fgmpi::check {
namespace {

/// With more partitions than this the single partitions, and so their memory, are not checked.
constexpr int64_t kMostPartitions = 4096;

int64_t partitions_of(const CallRecord& call) {
  for (int i = 0; i < call.info().count; ++i)
    if (!std::strcmp(call.info().parameters[i].name, "partitions")) return call.words[i];
  return 0;
}

struct Send {
  WirePartitioned declared;
  bool started = false;
};
/// A receive, with everything that is needed where nothing of MPI may be called.
struct Receive {
  std::shared_ptr<Partitioned> operation;
  findings::Participant call;
  TypeSignature element;  ///< of the receive's datatype
  int64_t bytes;
};
/// Operations without a counterpart yet; one of the lists is empty.
struct UnmatchedOperations {
  std::deque<Send> sends;
  std::deque<Receive> receives;
};
using Key = std::tuple<int, uint64_t, int, int>;  ///< receiver, communicator, source, tag
std::map<Key, UnmatchedOperations>& g_sides = *new std::map<Key, UnmatchedOperations>;

Key key_of(const WirePartitioned& send) {
  return {send.receiver_world, send.comm >> 1, send.source, send.tag};
}

findings::Participant sender(const WirePartitioned& send, const char* role) {
  return {send.source_world, send.call.info().name, arguments_of(send.call, nullptr),
          send.call.site, role};
}

/// Does the send fit the receive, or its beginning? True where that is unknown.
bool fits(const WirePartitioned& send, const Receive& receive) {
  const TypeSignature& one = receive.element;
  if (!send.known || !one.known || send.packed || one.packed) return true;
  if (send.bytes > receive.bytes) return false;
  if (one.length == 0 || send.length % one.length != 0) return true;
  return TypeSignature{send.hash, send.length} == repeated(one, send.length / one.length);
}

void meet(const WirePartitioned& send, const Receive& receive) {
  receive.operation->met = true;
  if (fits(send, receive)) return;
  report(FindingKind::kTypes,
         send.bytes > receive.bytes ? "a message is longer than the receive that takes it"
                                    : "a message is received with other types than it is sent with",
         "the types of the receive, or the first of them, are those of the send, one by one",
         {receive.call, sender(send, "sends it")});
}

void take(const WirePartitioned& send) {
  UnmatchedOperations& side = g_sides[key_of(send)];
  if (send.kind == WireKind::kStarted) {
    for (Send& waiting : side.sends)
      if (waiting.declared.id == send.id) waiting.started = true;
  } else if (side.receives.empty()) {
    return side.sends.push_back({send});
  } else {
    meet(send, side.receives.front());
    side.receives.pop_front();
  }
  if (side.sends.empty() && side.receives.empty()) g_sides.erase(key_of(send));
}

/// The notice about a send to its receiver's process; `receiver_world` is -1 where none is sent.
WirePartitioned announcement_of(Rank* rank, const CallRecord& call, WireKind kind, uint64_t id) {
  WirePartitioned declared = {};
  declared.kind = kind;
  declared.receiver_world = -1;
  const Positions& at = call.info().at;
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call.at(at.comm)));
  const int receiver = own ? own->comm->world_of(call.at(at.dest)) : MPI_UNDEFINED;
  if (receiver == MPI_UNDEFINED) return declared;
  const auto type = static_cast<MPI_Datatype>(call.at(at.send_type));
  const int64_t count = call.at(at.send_count) * partitions_of(call);
  const TypeSignature s = signature_of(type, count);
  const TypeLayout* l = layout_of(type);
  declared.known = s.known;
  declared.packed = s.packed;
  declared.source = own->rank;
  declared.tag = static_cast<int>(call.at(at.send_tag));
  declared.source_world = rank->world;
  declared.receiver_world = receiver;
  declared.comm = own->comm->key;
  declared.id = id;
  declared.hash = s.hash;
  declared.length = s.length;
  declared.bytes = l ? l->size * count : 0;
  declared.call = call;
  return declared;
}

void announce_partitioned(const WirePartitioned& declared) {
  if (is_local(declared.receiver_world)) return take(declared);
  MPIX_Tool_notify(MPIX_Tool_process(declared.receiver_world), &declared, sizeof declared);
}

void expect(CheckedCall* call, const std::shared_ptr<Partitioned>& operation) {
  Rank* rank = call->rank();
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call->value(&Positions::comm)));
  const auto source = static_cast<int>(call->value(&Positions::source));
  operation->met = true;  // unless a tracked send is expected
  if (!own || own->comm->world_of(source) == MPI_UNDEFINED) return;
  const auto type = static_cast<MPI_Datatype>(call->value(&Positions::recv_type));
  const int64_t count = call->value(&Positions::recv_count) * partitions_of(call->record());
  // A receive of a type that is not known here, as the Fortran binding makes types of array
  // sections, meets its send all the same: else the send would meet the next receive, or none.
  TypeSignature element;
  element.known = false;
  const TypeLayout* l = layout_of(type);
  if (l) element = l->signature;
  operation->met = false;
  const Receive receive = {operation, call->me("receives it"), element, l ? l->size * count : 0};
  const Key key = {rank->world, own->comm->key >> 1, source,
                   static_cast<int>(call->value(&Positions::recv_tag))};
  UnmatchedOperations& side = g_sides[key];
  if (side.sends.empty()) return side.receives.push_back(receive);
  meet(side.sends.front().declared, receive);
  side.sends.pop_front();
  if (side.sends.empty()) g_sides.erase(key);
}

}  // namespace

int64_t partitions_followed(const CallRecord& call) {
  const int64_t n = partitions_of(call);
  return n > 0 && n <= kMostPartitions ? n : 0;
}

void record_partitioned_after(CheckedCall* call, RequestOperation* op) {
  op->partitioned = std::make_shared<Partitioned>();
  if (call->info().role == CallRole::kPartitionedReceive) return expect(call, op->partitioned);
  Rank* rank = call->rank();
  const uint64_t id = static_cast<uint64_t>(rank->world) << 32 | ++rank->last_message_number;
  const WirePartitioned declared =
      announcement_of(rank, call->record(), WireKind::kPartitioned, id);
  if (declared.receiver_world < 0) return;
  op->partitioned->id = id;
  announce_partitioned(declared);
}

void check_partitioned_before(CheckedCall* call, RequestOperation* op) {
  Partitioned& p = *op->partitioned;
  const CallInfo& info = call->info();
  const Life life = info.parameters[info.at.given].life;
  if (op->active && (life == Life::kFreed || life == Life::kChanged))
    report(FindingKind::kArguments,
           life == Life::kFreed ? "a partitioned request is freed while it is active"
                                : "a partitioned request is cancelled while it is active",
           "MPI_Wait or a call like it completes it before",
           {call->me(), participant(call->rank(), op->call, "made it")});
  if (info.role != CallRole::kStart || op->active) return;
  if (op->call->info().role == CallRole::kPartitionedReceive) return;
  p.ready.assign(static_cast<size_t>(partitions_followed(op->call)), {});
  if (p.id && !op->started_once)
    announce_partitioned(announcement_of(call->rank(), op->call, WireKind::kStarted, p.id));
}

namespace {

/// The entry of the partitioned operation that a call is about; nullptr: it is not tracked.
Rank::Requests::TableEntry* operation_of(CheckedCall* call) {
  auto* found =
      call->rank()->requests.find(static_cast<MPI_Request>(call->at(call->find("request"))));
  return found && found->second.partitioned ? found : nullptr;
}

/// f(partition) for each partition below `count` that a call makes ready.
template <class F>
void for_each_partition(const CheckedCall& call, int64_t count, F&& f) {
  auto one = [&](int64_t i) {
    if (i >= 0 && i < count) f(static_cast<size_t>(i));
  };
  if (const int list = call.find("array_of_partitions"); list >= 0) {
    const auto* partitions = reinterpret_cast<const int*>(call.at(list));
    for (int64_t i = 0; partitions && i < call.at(call.find("length")); ++i) one(partitions[i]);
  } else if (const int low = call.find("partition_low"); low >= 0) {
    const int64_t high = std::min(call.at(call.find("partition_high")), count - 1);
    for (int64_t i = call.at(low); i <= high; ++i) one(i);
  } else {
    one(call.at(call.find("partition")));
  }
}

}  // namespace

void check_partitions_before(CheckedCall* call) {
  if (call->has(&Positions::flag)) return;
  auto* found = operation_of(call);
  if (!found || !found->second.active) return;
  const auto& ready = found->second.partitioned->ready;
  bool told = false;
  for_each_partition(*call, static_cast<int64_t>(ready.size()), [&](size_t i) {
    const Partitioned::Ready& before = ready[i];
    if (told || !before.is()) return;
    told = true;
    report(FindingKind::kArguments, "a partition is made ready twice",
           "MPI_Pready or a call like it says once of each partition, after each start, that it is "
           "ready",
           {call->me(),
            {call->rank()->world, kCalls[before.call].name, format("partition=%zu", i), before.site,
             "has made it ready"}});
  });
}

void record_partitions_after(CheckedCall* call) {
  Rank* rank = call->rank();
  auto* found = operation_of(call);
  if (!found) return;
  RequestOperation* op = &found->second;
  if (call->has(&Positions::flag)) {
    const auto i = static_cast<size_t>(call->at(call->find("partition")));
    if (*static_cast<const int*>(call->pointer(&Positions::flag)) && i < op->regions.size())
      end_region(rank, found->first, op, &op->regions[i]);
    return;
  }
  auto& ready = op->partitioned->ready;
  for_each_partition(*call, partitions_followed(op->call), [&](size_t i) {
    if (i < ready.size())
      ready[i] = {call->record().site, static_cast<uint16_t>(call->record().id)};
    if (i < op->regions.size()) begin_region(call, found->first, op, &op->regions[i]);
  });
}

std::string why_incomplete(const RequestOperation& op) {
  // Other threads may have made partitions ready while a call had taken the request
  // out of the table.
  if (!op.partitioned || !op.active || g_process.threads) return "";
  if (op.call->info().role == CallRole::kPartitionedReceive)
    return op.partitioned->met ? "" : "no partitioned send meets it";
  const auto& ready = op.partitioned->ready;
  const auto missing = std::find_if(ready.begin(), ready.end(),
                                    [](const Partitioned::Ready& one) { return !one.is(); });
  return missing == ready.end() ? ""
                                : format("partition %lld is not ready",
                                         static_cast<long long>(missing - ready.begin()));
}

void on_partitioned(const void* data, size_t bytes) {
  WirePartitioned send;
  if (bytes != sizeof send) return;
  std::memcpy(static_cast<void*>(&send), data, sizeof send);
  if (send.call.id < kCallCount && is_local(send.receiver_world)) take(send);
}

void report_partitioned_left() {
  for (const auto& [key, side] : g_sides)
    for (const Send& send : side.sends)
      if (send.started)
        report(FindingKind::kMessages, "a message is never received",
               "each partitioned send that is started has a partitioned receive",
               {sender(send.declared, "")});
}

}  // namespace fgmpi::check
