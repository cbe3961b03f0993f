// Chrome's trace format, which Perfetto reads too: one complete event for each call, one arrow for
// each message.
#include <mpi.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <tuple>

#include "readers/traces/view.h"
#include "track/track_calls.h"

namespace fgmpi::track {
namespace {

/// Messages match by communicator, sender, receiver and tag, in order.
using Channel = std::tuple<uint32_t, int32_t, int32_t, int32_t>;

class JsonWriter {
 public:
  JsonWriter(const TraceView& view, FILE* out) : view_(view), out_(out) {}

  void write() {
    number_sends();
    std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out_);
    const auto& ranks = view_.trace().ranks;
    for (const RankTrace& r : ranks) {
      if (!r.file) continue;
      item(
          "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"process of "
          "ranks "
          "%d to %d\"}}",
          pid(r), r.file->header().first_rank,
          r.file->header().first_rank + r.file->header().ranks - 1);
      for (int thread = 0; thread <= view_.last_thread(r); ++thread) write_thread(r, thread);
    }
    std::fputs("\n]}\n", out_);
  }

 private:
  int pid(const RankTrace& r) const { return r.file->header().pid; }
  int index_of(const RankTrace& r) const {
    return static_cast<int>(&r - view_.trace().ranks.data());
  }
  int tid(const RankTrace& r, int thread) const { return index_of(r) * 256 + thread; }

  template <class... Args>
  void item(const char* format, Args... args) {
    std::fputs(first_ ? "\n" : ",\n", out_);
    first_ = false;
    std::fprintf(out_, format, args...);
  }

  /// Numbers the sent messages, so that their receipts find them.
  void number_sends() {
    for (const RankTrace& r : view_.trace().ranks)
      for (const auto& chunk : r.events)
        for (const CallEvent& e : chunk) {
          const auto kind = static_cast<EventKind>(e.kind & ~kPart);
          if (kind != EventKind::kSend && kind != EventKind::kIsend) continue;
          const Channel c = {view_.comm_of(r, e.comm), index_of(r), view_.world_of(r, e), e.tag};
          sent_[c].push_back(++messages_);
          number_of_[&e] = messages_;
        }
  }

  void write_thread(const RankTrace& r, int thread) {
    item(
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"rank "
        "%d%s\"}}",
        pid(r), tid(r, thread), r.rank, thread ? " (further thread)" : "");
    for (const CallView& c : view_.calls(r, static_cast<uint8_t>(thread))) {
      const bool flush = static_cast<EventKind>(c.call->kind) == EventKind::kFlush;
      const CallEvent* e = c.parts.empty() ? nullptr : c.parts[0];
      item(
          "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"mpi\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":"
          "%.3f",
          flush ? "(tracker)" : kCallNames[c.call->call], pid(r), tid(r, thread),
          static_cast<double>(c.begin) * 1e-3, static_cast<double>(c.end - c.begin) * 1e-3);
      if (e && e->comm != kNoComm)
        std::fprintf(out_, ",\"args\":{\"comm\":%u,\"peer\":%d,\"tag\":%d,\"bytes\":%llu}",
                     view_.comm_of(r, e->comm), e->peer, e->tag,
                     static_cast<unsigned long long>(e->bytes));
      std::fputs("}", out_);
      for (const CallEvent* part : c.parts) write_arrow(r, thread, c, *part);
    }
  }

  void write_arrow(const RankTrace& r, int thread, const CallView& c, const CallEvent& e) {
    constexpr const char* kArrow =
        "{\"ph\":\"%s\",\"name\":\"message\",\"cat\":\"message\",\"id\":%llu,\"pid\":%d,\"tid\":%d,"
        "\"ts\":%.3f%s}";
    const auto kind = static_cast<EventKind>(e.kind & ~kPart);
    if (kind == EventKind::kSend || kind == EventKind::kIsend) {
      item(kArrow, "s", static_cast<unsigned long long>(number_of_[&e]), pid(r), tid(r, thread),
           static_cast<double>(c.begin) * 1e-3, "");
    } else if (kind == EventKind::kRecv || kind == EventKind::kIrecvDone) {
      auto it = sent_.find({view_.comm_of(r, e.comm), view_.world_of(r, e), index_of(r), e.tag});
      if (it == sent_.end() || it->second.empty()) return;  // the send was not recorded
      item(kArrow, "f", static_cast<unsigned long long>(it->second.front()), pid(r), tid(r, thread),
           static_cast<double>(c.end) * 1e-3, ",\"bp\":\"e\"");
      it->second.pop_front();
    }
  }

  const TraceView& view_;
  FILE* const out_;
  bool first_ = true;
  uint64_t messages_ = 0;
  std::map<Channel, std::deque<uint64_t>> sent_;
  std::map<const CallEvent*, uint64_t> number_of_;
};

}  // namespace

Status write_json(const TraceView& view, const std::string& path) {
  FILE* out = std::fopen(path.c_str(), "we");
  if (!out) return error(MPI_ERR_IO, "%s: %s", path.c_str(), std::strerror(errno));
  JsonWriter(view, out).write();
  const bool good = !std::ferror(out);
  if (std::fclose(out) != 0 || !good)
    return error(MPI_ERR_IO, "%s: %s", path.c_str(), std::strerror(errno));
  return {};
}

}  // namespace fgmpi::track
