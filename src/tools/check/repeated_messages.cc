#include "tools/check/repeated_messages.h"

#include <algorithm>

#include "tools/check/call.h"
#include "tools/check/messages.h"

namespace fgmpi::check {
namespace {

/// More nonblocking operations at a time are looked at by Call.
constexpr size_t kMostBegun = 64;

bool can_send(const Rank& rank, const KeptCall& call) {
  if (!call.is_known(rank.epoch, KeptCall::kSent) || call.sent.to < 0) return false;
  return !is_local(call.sent.to) ||
         (call.is_known(rank.epoch, KeptCall::kSendsTo) && call.sends_to.is_there());
}

/// Does it take from one queue, behind no receive that it is not known of which it takes?
bool can_receive(const Rank& rank, const KeptCall& call) {
  return rank.in_turn && call.is_known(rank.epoch, KeptCall::kTakesFrom) &&
         call.takes_from.is_there();
}

int source_of(const CallRecord& call) { return static_cast<int>(call.at(call.info().at.source)); }
int tag_of(const CallRecord& call) { return static_cast<int>(call.at(call.info().at.recv_tag)); }

/// Do two receives take from one queue? REQUIRES: of both it is known from which.
bool take_from_same(const KeptCall& a, const KeptCall& b) {
  return a.takes_on == b.takes_on && source_of(a) == source_of(b) && tag_of(a) == tag_of(b);
}

/// Is no receive under way that takes from the same queue? A blocking one has no place among them.
bool is_first(const Rank& rank, const KeptCall& call) {
  return std::none_of(rank.begun.begin(), rank.begun.end(),
                      [&](const Begun& b) { return !b.sends && take_from_same(*b.call, call); });
}

/// A hash of where a buffer lies and whether it is written, of which Rank::begun_sum is the sum.
uint64_t reach_of(const char* low, uint64_t bytes, bool writes) {
  uint64_t hash = reinterpret_cast<uintptr_t>(low) * kGoldenRatio ^ (bytes << 1 | writes);
  hash = (hash ^ hash >> 32) * kGoldenRatio;
  return hash ^ hash >> 29;
}

/// Does its buffer meet none of what has begun? REQUIRES: KeptCall::kReach.
bool is_beside(const Rank& rank, KeptCall* call, bool writes) {
  if (call->reach.beside == rank.begun_sum && call->is_known(rank.epoch, KeptCall::kBeside))
    return true;
  for (const Begun& b : rank.begun)
    if ((writes || !b.sends) && b.low < call->reach.high && call->reach.low < b.high())
      return false;
  call->reach.beside = rank.begun_sum;
  call->set_known(rank.epoch, KeptCall::kBeside);
  return true;
}

/// The receive of a message has begun that is, or was, in place.
void say_taken(MessageQueue* queue, const InPlace& one) {
  if (one.told)
    step_taken(one.id);
  else
    queue->taken_up_to = one.id;
}

/// A receive has begun that will take the next message of a queue: who sends that knows it, now or when it comes.
void make_ready(MessageQueue* queue) {
  for (uint16_t i = 0; i < queue->in_place; ++i) {
    InPlace& one = queue->placed[i];
    if (one.matched) continue;
    one.matched = 1;
    say_taken(queue, one);
    return;
  }
  Message* m = queue->list;
  while (m && m->matched) m = m->next;
  if (!m) {
    ++queue->ready;
    return;
  }
  m->matched = 1;
  step_taken(m->id);
}

/// Has the receive begun, if no standard send were buffered?
bool has_begun(const Rank& rank, uint64_t number) {
  return follows_steps() && !rank.unbuffered.written && rank.unbuffered.posted >= number;
}

/// The message of a receive that is complete, and the queue from which it was taken.
struct Taken {
  InPlace message;  ///< id 0: it is not there
  MessageQueue* queue = nullptr;
};

/// take_message() where it is not in place, or was never taken by this receive.
[[gnu::noinline]] Taken take_from_list(Rank* rank, KeptCall* call, MessageQueue* queue) {
  if (!queue->first()) return {};
  Message* m = queue->take_first();
  if (!fits_as_before(*rank, *m, *call)) {
    const Positions& at = call->info().at;
    compare(rank, *m, *call, static_cast<MPI_Datatype>(call->at(at.recv_type)),
            call->at(at.recv_count), call);
  }
  m->has_clock ? rank->knows.learn(m->known) : rank->knows.learn_near(m->known.near);
  InPlace taken;
  taken.id = m->id;
  taken.matched = m->matched;
  taken.begun = m->begun;
  taken.told = 1;
  drop_message(m);
  inbox_of(rank->world)
      .erase_if_many(*queue, key_of(call->takes_on, source_of(*call), tag_of(*call)));
  return {taken, queue};
}

/// Takes the message of a receive that is complete out of its queue.
Taken take_message(Rank* rank, KeptCall* call, const KnownQueue& from) {
  MessageQueue* queue = from.is_there()
                            ? from.queue
                            : &queue_for(&inbox_of(rank->world), &call->takes_from, &call->takes_on,
                                         call->takes_on, source_of(*call), tag_of(*call));
  const bool fits = queue->in_place && queue->contents && queue->contents == call->fits &&
                    call->is_known(rank->epoch, KeptCall::kFits);
  if (!fits) return take_from_list(rank, call, queue);
  if (queue->near_name != rank->knows.near_name()) rank->knows.learn_near(queue->near);
  return {queue->take_placed(), queue};
}

}  // namespace

void note_posted(Rank* rank) {
  for (Begun& b : rank->begun)
    if (!b.sends && !b.ready && has_begun(*rank, b.id) && b.from().is_there()) {
      b.ready = true;
      make_ready(b.queue);
    }
  if (!rank->receives_from || rank->unbuffered.first < rank->unbuffered.steps.size()) return;
  make_ready(std::exchange(rank->receives_from, nullptr));
}

// ---- MPI_Send, MPI_Recv, MPI_Sendrecv ----------------------------------------------------------------------------------

bool RepeatedMessage::begin() {
  take_arrived();
  Rank* rank = rank_;
  KeptCall& call = *same_;
  const Role role = call.info().role;
  const bool sends = role != Role::kReceive;
  receives_ = role != Role::kSend;
  const bool beside = rank->regions.empty() &&
                      (rank->begun.empty() || (call.is_known(rank->epoch, KeptCall::kReach) &&
                                               is_beside(*rank, &call, receives_)));
  if (!beside || (sends && !can_send(*rank, call)) ||
      (receives_ && !(can_receive(*rank, call) && is_first(*rank, call))))
    return give_up();
  enter();
  if (sends) message_ = send_known(rank, same_, false, &taken_);
  if (receives_ && follows_steps()) {
    if (is_free(rank->unbuffered))
      make_ready(call.takes_from.queue);
    else
      rank->receives_from = call.takes_from.queue;
  }
  progress_by_call();
  return true;
}

MPI_Status* RepeatedMessage::status(MPI_Status* of_program) {
  status_read_ = of_program != MPI_STATUS_IGNORE;
  told_ = status_read_ ? of_program : &own_status_;
  told_->MPI_SOURCE = kNotTold;
  return told_;
}

void RepeatedMessage::after(int result) {
  return_from_mpi();
  Rank* rank = rank_;
  KeptCall& call = *same_;
  rank->receives_from = nullptr;
  if (result == MPI_SUCCESS) {
    if (receives_) {
      ++rank->next_posted;
      const auto [m, queue] = take_message(rank, &call, call.takes_from);
      if (!m.matched && m.id) {
        if (is_free(rank->unbuffered))
          say_taken(queue, m);
        else
          step_take(rank, m.id, true);
      }
      if (!m.begun && m.id) step_need_begun(waiting(), m.id, nullptr);
    }
    if (message_ && !taken_ && !is_known_taken(rank, call, message_))
      step_need_taken(waiting(), message_, nullptr);
  } else {
    const uint64_t before = g_process.reports;
    const bool taken = is_taken(result, told_);
    if (receives_ && !taken && call.takes_from.is_there()) call.takes_from.queue->ready = 0;
    if (message_ && !taken) take_back(call.sent.comm, call.sent.to, message_);
    if (receives_ && taken) received_alone(waiting(), told_, status_read_);
    if (g_process.reports == before) note_error(rank, call, result);
  }
  progress_by_call();
}

// ---- MPI_Isend, MPI_Irecv ----------------------------------------------------------------------------------------------

template <bool kSends>
bool RepeatedStart<kSends>::begin() {
  take_arrived();
  Rank* rank = rank_;
  KeptCall& call = *same_;
  if (rank->begun.size() >= kMostBegun || !rank->regions.empty() ||
      !call.is_known(rank->epoch, KeptCall::kReach) ||
      call.reach.high - call.reach.low > UINT32_MAX || !is_beside(*rank, &call, !kSends) ||
      !(kSends ? can_send(*rank, call) : can_receive(*rank, call)))
    return give_up();
  enter();
  if (kSends) {
    id_ = send_known(rank, same_, false, &taken_);
  } else {
    id_ = ++rank->next_posted;
    step_receive(rank, id_);
  }
  progress_by_call();
  return true;
}

template <bool kSends>
void RepeatedStart<kSends>::after(int result) {
  return_from_mpi();
  Rank* rank = rank_;
  KeptCall& call = *same_;
  constexpr int kRequest = 6;  // which argument it is
  auto* request = reinterpret_cast<MPI_Request*>(call.words[kRequest]);
  if (result != MPI_SUCCESS) [[unlikely]] {
    if (kSends && !is_taken(result, nullptr)) take_back(call.sent.comm, call.sent.to, id_);
    note_error(rank, call, result);
  } else if (*request != MPI_REQUEST_NULL) {
    if (*request == kSentHandle) *request = next_sent_handle(rank);
    const bool ready = kSends ? taken_ : has_begun(*rank, id_) && call.takes_from.is_there();
    if (!kSends && ready) make_ready(call.takes_from.queue);
    const char* low = call.reach.low;
    const auto bytes = static_cast<uint32_t>(call.reach.high - low);
    Begun& b = rank->begun.emplace_back();
    b.call = same_;
    b.at = request;
    b.handle = *request;
    b.sends = kSends;
    b.ready = ready;
    b.id = id_;
    b.low = low;
    b.bytes = bytes;
    if (kSends) {
      if (g_process.wants(Kind::kBuffers)) b.checksum = checksum_between(low, low + bytes);
    } else {
      b.erased = call.takes_from.erased;
      b.queue = call.takes_from.queue;
    }
    rank->begun_sum += reach_of(low, bytes, !kSends);
  }
  progress_by_call();
}

template class RepeatedStart<true>;
template class RepeatedStart<false>;

// ---- MPI_Wait, MPI_Waitall ---------------------------------------------------------------------------------------------

/// Is each of the list something that has begun, in an order in which receives from one queue are complete? Sets Begun::index.
bool RepeatedWait::find_begun() {
  int found = 0;
  for (Begun& b : rank_->begun) {
    auto i = b.at - list_;
    if (i < 0 || i >= count_ || list_[i] != b.handle)
      i = std::find(list_, list_ + count_, b.handle) - list_;
    b.index = i < count_ ? static_cast<int16_t>(i) : int16_t{-1};
    found += b.index >= 0;
  }
  if (found != count_) return false;
  if (static_cast<size_t>(found) == rank_->begun.size()) return true;
  for (size_t i = 0; i < rank_->begun.size(); ++i) {
    const Begun& earlier = rank_->begun[i];
    if (earlier.sends || earlier.index >= 0) continue;
    for (size_t k = i + 1; k < rank_->begun.size(); ++k) {
      const Begun& b = rank_->begun[k];
      if (!b.sends && b.index >= 0 && take_from_same(*b.call, *earlier.call)) return false;
    }
  }
  return true;
}

bool RepeatedWait::begin() {
  take_arrived();
  const CallInfo& info = same_->info();
  const int64_t* words = same_->words;
  const Parameter& p = info.parameters[info.at.given];
  list_ = reinterpret_cast<MPI_Request*>(words[info.at.given]);
  const int64_t count = p.array ? words[p.length] : 1;
  count_ = count <= static_cast<int64_t>(kMostBegun) ? static_cast<int>(count) : 0;
  if (!list_ || count_ <= 0 || !find_begun()) return give_up();
  enter();
  rank_->wait = this;
  for (const Begun& b : rank_->begun)
    if (b.index >= 0 && is_sent_handle(b.handle)) list_[b.index] = kSentHandle;
  progress_by_call();
  return true;
}

const std::vector<MPI_Request>* RepeatedWait::leave_to_call() {
  given_.assign(static_cast<size_t>(count_), MPI_REQUEST_NULL);
  for (const Begun& b : rank_->begun)
    if (b.index >= 0) given_[static_cast<size_t>(b.index)] = b.handle;
  left_to_call_ = true;
  return &given_;
}

void RepeatedWait::complete() {
  Rank* rank = rank_;
  const Waiting waits = waiting();
  const bool sums = g_process.wants(Kind::kBuffers);
  // What is read of receives is fetched before it is read: other ranks have run since they began.
  for (const Begun& b : rank->begun) {
    if (b.index < 0) continue;
    if (!b.sends) {
      __builtin_prefetch(&b.call->known_in);
      __builtin_prefetch(&b.call->fits);
      __builtin_prefetch(b.queue);
      continue;
    }
    if (sums && checksum_between(b.low, b.high()) != b.checksum) report_changed(rank, *b.call);
    if (b.ready || is_known_taken(rank, *b.call, b.id)) continue;
    const Record awaited(b.call);
    step_need_taken(waits, b.id, &awaited);
  }
  for (const Begun& b : rank->begun) {
    if (b.sends || b.index < 0 || !b.from().is_there() || !b.queue->list) continue;
    const Message& m = *b.queue->list;
    __builtin_prefetch(&m.call->users);
    if (!m.matched) prefetch_sender(m);
  }
  bool all_begun = true;
  for (Begun& b : rank->begun) {
    if (b.sends || b.index < 0) continue;
    const auto [m, queue] = take_message(rank, b.call, b.from());
    if (!m.matched && m.id) {
      if (has_begun(*rank, b.id))
        say_taken(queue, m);
      else
        step_matched(rank, b.id, m.id, true);
    }
    b.id = m.begun ? 0 : m.id;
    all_begun = all_begun && !b.id;
  }
  if (!all_begun)
    for (const Begun& b : rank->begun) {
      if (b.sends || b.index < 0 || !b.id) continue;
      const Record awaited(b.call);
      step_need_begun(waits, b.id, &awaited);
    }
  if (static_cast<size_t>(count_) == rank->begun.size()) {
    rank->begun.clear();
    rank->begun_sum = 0;
    return;
  }
  std::erase_if(rank->begun, [&](const Begun& b) {
    if (b.index >= 0) rank->begun_sum -= reach_of(b.low, b.bytes, !b.sends);
    return b.index >= 0;
  });
}

/// What the program wants no statuses of: receives whose source and tag are known.
void RepeatedWait::fill(MPI_Status* statuses) const {
  for (int i = 0; i < count_; ++i) {
    const auto* entry = rank_->requests.find(given_[static_cast<size_t>(i)]);
    if (!entry || !entry->second.posted) continue;
    statuses[i].MPI_SOURCE = entry->second.posted->source;
    statuses[i].MPI_TAG = entry->second.posted->tag;
  }
}

/// Something went wrong, or somebody has asked what the rank waits for.
void RepeatedWait::complete_by_call(int result) {
  Rank* rank = rank_;
  if (!left_to_call_) make_operations(rank);
  std::vector<MPI_Request> left(list_, list_ + count_);
  for (size_t i = 0; i < left.size(); ++i)
    if (left[i] == kSentHandle) left[i] = given_[i];
  std::copy(given_.begin(), given_.end(), list_);
  leave();
  rank->wait = nullptr;
  rank->given = {};
  const Record again(same_);
  const CallInfo& info = again->info();
  int64_t words[kMostArguments];
  std::copy(std::begin(again->words), std::end(again->words), words);
  Call call(static_cast<Calls>(again->id), again->place, words);
  for (int i = 0; i < info.count; ++i) {
    auto* of_program = reinterpret_cast<MPI_Status*>(words[i]);
    MPI_Status* told = nullptr;
    if (info.parameters[i].what == What::kStatus) told = call.status(of_program);
    if (info.parameters[i].what == What::kStatuses) told = call.statuses(of_program, count_);
    if (told && told != of_program) fill(told);
  }
  rank_ = nullptr;
  call.after(result);
  std::copy(left.begin(), left.end(), list_);
}

void RepeatedWait::after(int result) {
  return_from_mpi();
  if (result != MPI_SUCCESS || left_to_call_) return complete_by_call(result);
  complete();
  rank_->wait = nullptr;
  progress_by_call();
}

RepeatedWait::~RepeatedWait() {
  if (!rank_) return;  // else MPI has thrown, or all is done
  if (left_to_call_ && rank_->given.data() == given_.data()) rank_->given = {};
  rank_->wait = nullptr;
}

}  // namespace fgmpi::check
