// The queues of one rank.

#include "launcher/mpiexec/message_search.h"

#include <mpi.h>

#include <algorithm>

namespace fgmpi::launcher {
namespace {

bool covers(const MessageSearch::MessageEnd& pattern, const MessageSearch::MessageEnd& message) {
  return (pattern.source == message.source || pattern.source == MPI_ANY_SOURCE) &&
         (pattern.tag == message.tag || pattern.tag == MPI_ANY_TAG);
}

}  // namespace

void MessageSearch::send(const MessageEnd& message) {
  CommQueues& queues = queues_[message.comm];
  const auto found = std::find_if(queues.posted.begin(), queues.posted.end(),
                                  [&](const auto& p) { return covers(p.pattern, message); });
  if (found == queues.posted.end()) {
    queues.unexpected.push_back(message);
    return;
  }
  senders_[found->number] = message.event;
  queues.posted.erase(found);
}

size_t MessageSearch::take(const MessageEnd& pattern) {
  senders_.push_back(0);
  std::list<MessageEnd>& messages = queues_[pattern.comm].unexpected;
  const auto found = std::find_if(messages.begin(), messages.end(),
                                  [&](const auto& message) { return covers(pattern, message); });
  if (found != messages.end()) {
    senders_.back() = found->event;
    messages.erase(found);
  }
  return senders_.size() - 1;
}

size_t MessageSearch::receive(const MessageEnd& pattern) {
  const size_t number = take(pattern);
  if (senders_[number] == 0) queues_[pattern.comm].posted.push_back({pattern, number});
  return number;
}

void MessageSearch::cancel(size_t receive) {
  for (auto& [comm, queues] : queues_)
    queues.posted.remove_if([=](const PostedPattern& p) { return p.number == receive; });
}

}  // namespace fgmpi::launcher
