// Messages that are there while a receive waits for ever: nearly what it waits for, but with
// another tag, on another communicator or from another rank.
#include "check/messages/messages.h"

#include "base/strings.h"
#include "check/call.h"

namespace fgmpi::check {
namespace {

/// The most messages that are named for one receive.
constexpr size_t kMostUnmatched = 2;

struct WantedMessage {
  int source = 0, tag = 0, source_world = MPI_UNDEFINED;
  const CheckedComm* comm = nullptr;
};

/// What tells the message from one that the receive would match, the more telling first.
enum class Difference : uint8_t { kTag, kComm, kSource, kNone };
constexpr Difference kDifferences[] = {Difference::kTag, Difference::kComm, Difference::kSource};

Difference difference_of(const WantedMessage& wanted, const Inbox::QueueKey& key,
                         int source_world) {
  const bool same_comm = key.comm == wanted.comm->key >> 1;
  const bool same_tag = wanted.tag == MPI_ANY_TAG || wanted.tag == key.tag;
  const bool same_source = wanted.source == MPI_ANY_SOURCE || source_world == wanted.source_world;
  if (same_comm && same_source && !same_tag) return Difference::kTag;
  if (!same_comm && same_source) return Difference::kComm;
  return same_comm && same_tag && !same_source ? Difference::kSource : Difference::kNone;
}

std::string words_of(Difference difference, int tag) {
  switch (difference) {
    case Difference::kTag:
      return format("sends a message with another tag, %d, that nothing receives", tag);
    case Difference::kComm:
      return "sends a message on another communicator that nothing receives";
    default:
      return "sends a message from another rank that nothing receives";
  }
}

/// Will a receive that has begun match messages of this queue?
bool is_expected(const Rank& rank, const Inbox::QueueKey& key) {
  for (const auto& posted : rank.posted)
    if (posted->open && posted->comm->key >> 1 == key.comm &&
        (posted->source == MPI_ANY_SOURCE || posted->source == key.source) &&
        (posted->tag == MPI_ANY_TAG || posted->tag == key.tag))
      return true;
  return false;
}

}  // namespace

void add_unmatched_messages(Rank* rank, const CallRecord& call, const RequestOperation* awaited,
                            std::vector<findings::Participant>* calls) {
  const CallRecord& receive = awaited ? *awaited->call : call;
  const CallRole role = receive.info().role;
  if (role != CallRole::kReceive && role != CallRole::kProbe && role != CallRole::kMatchedProbe &&
      !receives_too(receive.info()))
    return;
  const auto own = rank->comms.find(static_cast<int>(receive.at(receive.info().at.comm)));
  if (own == rank->comms.end()) return;
  WantedMessage wanted = {source_of(receive), receive_tag_of(receive), MPI_UNDEFINED,
                          own->second.comm};
  wanted.source_world = wanted.comm->world_of(wanted.source);
  Inbox& inbox = inbox_of(rank->world);
  size_t named = 0;
  for (const Difference difference : kDifferences)
    for (auto& [key, queue] : inbox.queues) {
      if (named == kMostUnmatched || queue.empty() || is_expected(*rank, key)) continue;
      const QueuedMessage& m = *queue.first();
      if (difference_of(wanted, key, m.source_world()) != difference) continue;
      calls->push_back({m.source_world(), m.call->info().name, arguments_of(m.call, nullptr),
                        m.call->site, words_of(difference, key.tag)});
      ++named;
    }
}

}  // namespace fgmpi::check
