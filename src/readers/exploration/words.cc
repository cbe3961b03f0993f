// Connections to explored processes, and the words that come over them (explore/channel.h).
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "explore/channel.h"
#include "readers/exploration/session.h"

namespace fgmpi::explore {

void Explorer::accept_peer() {
  for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    auto peer = std::make_shared<ExploredProcess>();
    peer->fd = fd;
    peers_.push_back(std::move(peer));
  }
}

void Explorer::read_from(const PeerRef& peer) {
  uint8_t piece[65536];
  const ssize_t n = receive_some(peer->fd, piece, sizeof piece, &peer->outputs);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return on_gone(peer);
  peer->in.insert(peer->in.end(), piece, piece + n);
  size_t at = 0;
  for (uint32_t size; peer->in.size() - at >= sizeof size; at += sizeof size + size) {
    std::memcpy(&size, peer->in.data() + at, sizeof size);
    if (peer->in.size() - at - sizeof size < size) break;
    if (!take_word(peer, peer->in.data() + at + sizeof size, size))
      give_up("a process says what cannot be understood");
  }
  peer->in.erase(peer->in.begin(), peer->in.begin() + static_cast<ptrdiff_t>(at));
}

bool Explorer::take_word(const PeerRef& peer, const uint8_t* bytes, size_t size) {
  FieldReader in(bytes, size);
  const auto word = static_cast<ChannelWord>(in.get<uint8_t>());
  if (word == ChannelWord::kHello) {
    const auto execution = in.get<uint32_t>(), pid = in.get<uint32_t>();
    if (!in.failed()) on_hello(peer, execution, static_cast<pid_t>(pid));
    return !in.failed();
  }
  if (word == ChannelWord::kReaped) {
    const auto pid = in.get<uint32_t>();
    const auto status = in.get<int32_t>();
    if (!in.failed()) on_end(static_cast<pid_t>(pid), status);
    return !in.failed();
  }
  Execution* e = execution_of(peer);
  if (!e) return true;
  e->heard = now_ns();
  // An earlier execution has reported the rest.
  const bool is_new = !e->pick && e->at + 1 == e->path.size();
  if (word == ChannelWord::kPast) {
    const EventSet past = read_set(&in);
    if (!in.failed() && is_new) tree_.set_past(e->path, past);
  } else if (word == ChannelWord::kRace) {
    Race race;
    race.event = in.get<uint32_t>();
    race.early = in.get<uint8_t>() != 0;
    race.by = in.get<uint32_t>();
    race.sender_past = read_set(&in);
    race.without = read_set(&in);
    if (!in.failed() && is_new) tree_.add_race(e->path, race);
  } else if (word == ChannelWord::kMatch) {
    const auto sender = in.get<int32_t>();
    const auto match = in.get<Choice>();
    if (!in.failed() && e->is_trial) record_match(sender, match);
  } else if (word == ChannelWord::kUnable) {
    if (e->keeping) not_kept(e);
  } else if (word == ChannelWord::kLimit) {
    limit_ = std::max(limit_, static_cast<Limit>(in.get<uint8_t>()));
  } else if (word == ChannelWord::kRedundant) {
    e->redundant = true;
    send_word(peer->fd, begin_word(ChannelWord::kStop));
  } else if (word == ChannelWord::kQuestion) {
    std::vector<Choice> choices = read_choices(&in);
    if (in.failed() || choices.empty()) return false;
    on_question(*e, std::move(choices));
  } else {
    return false;
  }
  return !in.failed();
}

void Explorer::wait_for_words() {
  std::vector<pollfd> fds = {{listener_, POLLIN, 0}};
  std::vector<PeerRef> asked;
  for (const PeerRef& peer : peers_) {
    if (peer->gone) continue;
    fds.push_back({peer->fd, POLLIN, 0});
    asked.push_back(peer);
  }
  if (poll(fds.data(), fds.size(), 200) <= 0) return;
  if (fds[0].revents) accept_peer();
  for (size_t i = 0; i < asked.size(); ++i)
    if (fds[i + 1].revents && !asked[i]->gone) read_from(asked[i]);
  peers_.remove_if([](const PeerRef& peer) { return peer->gone; });
}

}  // namespace fgmpi::explore
