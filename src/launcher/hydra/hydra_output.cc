// The text that waits for the end of its line, by source, and when it is passed on.

#include "launcher/hydra/hydra_output.h"

#include <limits.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"

namespace fgmpi::launcher {
namespace {

/// How long (ns) a long line, or a block that the C library has written, waits for its
/// continuation: far longer than a process that goes on writing needs.
constexpr int64_t kPatience = 5 * kSecond;
/// How long (ns) a text of less than PIPE_BUF bytes waits for the end of its line: mostly the
/// program has flushed it on purpose.
constexpr int64_t kShortPatience = kSecond / 4;
/// Bytes of one read of a pipe, as many as hydra reads at once.
constexpr size_t kReadSize = 64 * 1024;
/// While more than this many bytes of a pipe wait for hydra, the pipe is not read.
constexpr size_t kMostUnread = 4 * kReadSize;
/// How long (ns) the silences within one line may be together, for a line that is written in many
/// small pieces.
constexpr int64_t kPatienceInLine = 10 * kSecond;
/// The most bytes of output of other hosts that wait in memory for the end of a line.
constexpr size_t kMostWaiting = size_t{64} << 20;

int to_ms(int64_t ns) { return static_cast<int>((ns + 999'999) / 1'000'000); }

bool ends_line(char c) { return c == '\n' || c == '\r'; }

/// True where a process asks the launcher's interface (PMI-1 or PMI-2) for the end of the job.
/// Leaves all bytes in the connection.
bool asks_for_abort(int fd) {
  char bytes[4096];
  const ssize_t got = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 && std::string_view(bytes, static_cast<size_t>(got)).find("cmd=abort") !=
                        std::string_view::npos;
}

/// How many bytes follow the last end of a line.
size_t unfinished_bytes(std::string_view text) {
  const char* end = text.data();
  for (const char c : {'\n', '\r'})
    if (const void* at = memrchr(end, c, static_cast<size_t>(text.data() + text.size() - end)))
      end = static_cast<const char*>(at) + 1;
  return static_cast<size_t>(text.data() + text.size() - end);
}

}  // namespace

void Speaker::record_text(int source, std::string_view text) {
  const size_t unfinished = unfinished_bytes(text);
  const bool same_line = who_ == source && unfinished == text.size();
  if (unfinished < text.size()) gave_way_.erase(source);
  if (ends_line(text.back()) || gave_way_.count(source)) {
    who_ = kNobody;
    return;
  }
  who_ = source;
  length_ = (same_line ? length_ : 0) + unfinished;
  silence_ = 0;
  if (!same_line) silence_in_line_ = 0;
  // A block that the C library's stream has written ends anywhere, not where the program paused
  // on purpose.
  const bool is_block = text.size() % PIPE_BUF == 0;
  patience_ = is_block || length_ >= PIPE_BUF ? kPatience : kShortPatience;
}

void Speaker::silent_for(int64_t duration) {
  if (who_ == kNobody) return;
  silence_ += duration;
  silence_in_line_ += duration;
  if (patience_left() <= 0) yield_turn();
}

int64_t Speaker::patience_left() const {
  return std::min(patience_ - silence_, kPatienceInLine - silence_in_line_);
}

void Speaker::yield_turn() {
  gave_way_.insert(who_);
  who_ = kNobody;
}

void Speaker::gone(int source) {
  gave_way_.erase(source);
  if (who_ == source) who_ = kNobody;
}

void OutputLines::closed(int fd) {
  pipes_.erase(fd);
  const auto source = sources_.find(fd);
  if (source != sources_.end()) {
    unfinished_bytes_ -= source->second.kept();
    sources_.erase(source);
  }
  if (last_ == fd) within_line_ = false;
}

void OutputLines::fill(int fd, OutputSource* source) {
  char bytes[kReadSize];
  const ssize_t got = syscall(SYS_read, fd, bytes, sizeof bytes);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  source->written_at = now_ns();
  if (got <= 0) {
    source->ended = true;
    return pass_on_unfinished(source);
  }
  const std::string_view text(bytes, static_cast<size_t>(got));
  source->text.append(text);
  unfinished_bytes_ += text.size();
  const size_t unfinished = unfinished_bytes(text);
  if (unfinished < text.size()) source->whole = source->text.size() - unfinished;
  const size_t length = source->text.size() - std::max(source->whole, source->taken);
  // A block that the C library's stream has written ends anywhere, not where the program paused
  // on purpose.
  const bool is_long = length >= PIPE_BUF || text.size() % PIPE_BUF == 0;
  source->patience = is_long ? kPatience : kShortPatience;
  if (!has_several_ || length >= kLongestLine || unfinished_bytes_ > kMostKept)
    pass_on_unfinished(source);
}

bool OutputLines::read(int fd, void* bytes, size_t count, ssize_t* got) {
  const auto found = sources_.find(fd);
  if (found == sources_.end() || !found->second.is_ready()) return false;
  OutputSource& source = found->second;
  std::string_view text = std::string_view(source.text).substr(0, source.whole);
  text = text.substr(source.taken, count);
  if (const size_t unfinished = unfinished_bytes(text); unfinished < text.size())
    text.remove_suffix(source.taken + text.size() < source.whole ? unfinished : 0);
  const size_t size = text.size();
  std::memcpy(bytes, text.data(), size);
  source.taken += size;
  unfinished_bytes_ -= size;
  *got = static_cast<ssize_t>(size);
  last_ = fd;
  within_line_ = source.has_complete_lines() && !ends_line(source.text[source.taken - 1]);
  if (source.has_complete_lines()) return true;
  source.text.erase(0, source.taken);
  if (source.text.empty()) source.text.shrink_to_fit();
  source.taken = source.whole = 0;
  return true;
}

/// The source from which hydra reads next, or -1. Hydra first finishes a line that it has begun to
/// read; then the sources take turns.
int OutputLines::next_source() const {
  const auto last = sources_.find(last_);
  if (within_line_ && last != sources_.end() && last->second.is_ready()) return last_;
  for (auto at = sources_.upper_bound(last_); at != sources_.end(); ++at)
    if (at->second.is_ready()) return at->first;
  for (const auto& [fd, source] : sources_)
    if (source.is_ready()) return fd;
  return -1;
}

/// Passes on unfinished lines that have waited too long for their continuation. Returns the time,
/// in ns, until the next one has; -1: none waits.
int64_t OutputLines::wait_for_silence(int64_t now) {
  int64_t least = -1;
  for (auto& [fd, source] : sources_) {
    if (source.text.size() == source.whole) continue;
    const int64_t left = source.written_at + source.patience - now;
    if (left <= 0)
      pass_on_unfinished(&source);
    else if (least < 0 || left < least)
      least = left;
  }
  return least;
}

/// poll() in which this class itself reads the pipes that are ready. A pipe is left out while hydra
/// has much of it to read.
int OutputLines::wait(Poll* real, pollfd* fds, nfds_t count, int timeout) {
  std::vector<int> before;
  for (nfds_t i = 0; i < count; ++i) {
    before.push_back(fds[i].fd);
    if (!is_output(fds[i])) continue;
    const OutputSource& source = sources_[fds[i].fd];
    const bool is_full = source.whole - source.taken > kMostUnread;
    if (source.ended || is_full || job_is_aborted_) fds[i].fd = -1;  // poll() skips it
  }
  int events = real(fds, count, timeout);
  for (nfds_t i = 0; i < count; ++i) {
    const bool hidden = fds[i].fd != before[i];
    fds[i].fd = before[i];
    if (hidden || events < 0) fds[i].revents = 0;
    if (!fds[i].revents) continue;
    if (!is_output(fds[i])) {
      job_is_aborted_ |= asks_for_abort(fds[i].fd);
      continue;
    }
    fill(fds[i].fd, &sources_[fds[i].fd]);
    has_filled_ = true;
    fds[i].revents = 0;
    --events;
  }
  return events;
}

/// Called after a process has asked for the end of the job. mpiexec.hydra ends as soon as it
/// learns of that, so hydra first gets all text that is left to read. Returns the number of events
/// for hydra.
int OutputLines::pass_on_all(pollfd* fds, nfds_t count, int events) {
  for (auto& [fd, source] : sources_) pass_on_unfinished(&source);
  job_is_aborted_ = next_source() >= 0;
  if (!job_is_aborted_) return events;
  for (nfds_t i = 0; i < count; ++i) fds[i].revents = 0;
  return 0;
}

int OutputLines::poll(Poll* real, pollfd* fds, nfds_t count, int timeout) {
  constexpr int kOfOneProcess = 2;
  if (!has_several_)
    has_several_ = std::count_if(fds, fds + count, [&](const pollfd& f) { return is_output(f); }) >
                   kOfOneProcess;
  const int64_t begin = now_ns();
  for (;;) {
    int limit = timeout;
    if (timeout > 0) limit = std::max(0, timeout - to_ms(now_ns() - begin));
    const int64_t silence = wait_for_silence(now_ns());
    if (silence >= 0) limit = limit < 0 ? to_ms(silence) : std::min(limit, to_ms(silence));
    has_filled_ = false;
    int events = wait(real, fds, count, next_source() >= 0 ? 0 : limit);
    if (events < 0) return events;
    if (job_is_aborted_) events = pass_on_all(fds, count, events);
    const int ready = next_source();
    for (nfds_t i = 0; i < count; ++i) {
      if (fds[i].fd != ready || !is_output(fds[i])) continue;
      fds[i].revents = POLLIN;
      ++events;
    }
    if (events > 0) return events;
    const bool is_over = timeout >= 0 && now_ns() - begin >= timeout * int64_t{1'000'000};
    if (is_over && !has_filled_) return 0;
  }
}

void OutputJoin::gone(int source) {
  speaker_.gone(source);
  write_waiting();
}

bool OutputJoin::write(int fd, std::string_view text) {
  if (text.empty()) return true;
  if (!speaker_.waits_for_other(source_)) {
    if (!write_(fd, text)) return false;
    speaker_.record_text(source_, text);
    last_text_at_ = now_ns();
    write_waiting();
    return true;
  }
  if (waiting_.empty() || waiting_.back().source != source_ || waiting_.back().fd != fd)
    waiting_.push_back({source_, fd, {}});
  waiting_.back().bytes.append(text);
  waiting_bytes_ += text.size();
  if (waiting_bytes_ > kMostWaiting) {
    speaker_.yield_turn();
    write_waiting();
  }
  return true;
}

/// Writes the texts that need not wait for a speaker, in the order of their arrival.
void OutputJoin::write_waiting() {
  for (;;) {
    const auto next = std::find_if(waiting_.begin(), waiting_.end(), [&](const WaitingText& t) {
      return !speaker_.waits_for_other(t.source);
    });
    if (next == waiting_.end()) return;
    const WaitingText text = std::move(*next);
    waiting_.erase(next);
    waiting_bytes_ -= text.bytes.size();
    write_(text.fd, text.bytes);  // a failure is reported to hydra by its next write
    speaker_.record_text(text.source, text.bytes);
    last_text_at_ = now_ns();
  }
}

int OutputJoin::limit(int timeout) const {
  if (waiting_.empty() || speaker_.who() == Speaker::kNobody) return timeout;
  const int patience = to_ms(std::max<int64_t>(speaker_.patience_left(), 0));
  return timeout < 0 ? patience : std::min(timeout, patience);
}

void OutputJoin::look() {
  if (waiting_.empty() || speaker_.who() == Speaker::kNobody) return;
  const int64_t now = now_ns();
  speaker_.silent_for(now - last_text_at_);
  last_text_at_ = now;
  write_waiting();
}

void OutputJoin::finish() {
  for (const WaitingText& text : waiting_) write_(text.fd, text.bytes);
  waiting_.clear();
  waiting_bytes_ = 0;
}

}  // namespace fgmpi::launcher
