#include "tools/check/call.h"

#include <cstring>

#include "tools/check/extensions.h"
#include "tools/findings/places.h"

namespace fgmpi::check {

void Call::lock() {
  if (g_process.threads && !locked_) g_process.lock.lock();
  locked_ = g_process.threads;
}

void Call::unlock() {
  if (locked_) g_process.lock.unlock();
  locked_ = false;
}

Call::Call(Calls id, const void* place, int64_t* words) : rank_(current_rank()) {
  record_.id = id;
  if (!rank_ || rank_->ended) {
    rank_ = nullptr;
    return;
  }
  std::memcpy(record_.words, words, sizeof(int64_t) * info().count);
  lock();
  take_arrived();
  record_.site = site_of(rank_, place);
  outer_ = !rank_->in_call || g_process.threads;
  before_ = rank_->current;
  rank_->current = &record_;
  rank_->in_call = true;
  if (info().sets.used) look_at_handles(this);
  if (info().at.given >= 0) look_at_requests(this);
  if (info().sets.buffers) look_at_buffers(this);
  look_at_arguments(this);
  if (info().hides_order) g_process.hidden_order = true;
  unlock();  // the next may switch
  if (info().role == Role::kCollective || info().role == Role::kCreation) look_at_collective(this);
  if (info().role >= kFirstOfMessages && info().role <= kLastOfMessages) {
    lock();
    look_at_messages(this);
    unlock();
  }
}

Call::~Call() {
  if (!rank_) return;
  rank_->current = before_;
  if (outer_) rank_->in_call = false;
}

void Call::after(int result) {
  if (!rank_) return;
  lock();
  take_arrived();
  if (!g_process.deadlock.empty()) withdraw_deadlock();
  const bool some = info().role == Role::kCompletion && result != MPI_SUCCESS;
  if (result == MPI_SUCCESS || some) {
    if (info().at.given >= 0 || info().at.made >= 0) note_requests(this);
    if (posted || alone || info().role == Role::kProbe) note_messages(this);
    if (info().sets.changed) note_handles(this);
    if (collective.comm && info().starts != Starts::kNonblocking)
      leave_collective(rank_, info(), collective);
  } else {
    undo_messages(this, result);
  }
  unlock();
}

MPI_Status* Call::status(MPI_Status* of_program) {
  if (!rank_) return of_program;
  status_read_ = of_program != MPI_STATUS_IGNORE;
  std::memset(&own_status_, 0, sizeof own_status_);
  return told_ = status_read_ ? of_program : &own_status_;
}

MPI_Status* Call::statuses(MPI_Status* of_program, int count) {
  if (!rank_ || count <= 0) return of_program;
  status_read_ = of_program != MPI_STATUSES_IGNORE;
  if (status_read_) return told_ = of_program;
  own_statuses_.resize(static_cast<size_t>(count));
  return told_ = own_statuses_.data();
}

MPI_Request Call::real(MPI_Request request) {
  return rank_ ? real_request(rank_, request) : request;
}

int Call::find(const char* name) const {
  for (int i = 0; i < info().count; ++i)
    if (!std::strcmp(info().parameters[i].name, name)) return i;
  return -1;
}

}  // namespace fgmpi::check
