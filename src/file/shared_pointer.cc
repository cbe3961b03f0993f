// The shared pointer at the leader's process, and the notices that ask for it.

#include "file/shared_pointer.h"

#include <cstring>
#include <unordered_map>

#include "base/assert.h"
#include "base/count_words.h"
#include "file/access.h"

namespace fgmpi::file {
namespace {

enum class PointerNoticeKind : uint64_t { kAsk = 1, kAnswer, kBeyond };
struct PointerNotice {
  uint64_t cookie;
  int64_t value;
  PointerNoticeKind kind;
};
static_assert(sizeof(PointerNotice) == 24);

/// A rank that waits for an answer; it lies on the rank's stack.
struct PointerRequester {
  sched::Proclet* proclet = nullptr;
  int64_t value = 0;
  bool answered = false, beyond = false;
};

struct SharedPointers {
  std::unordered_map<uint64_t, SharedFile*> files;             ///< open files by context
  std::unordered_map<uint64_t, PointerRequester*> requesters;  ///< by the cookie of their notice
  uint64_t last_cookie = 0;
};
/// Never destroyed.
SharedPointers& shared_pointers() {
  static auto& all = *new SharedPointers;
  return all;
}

/// Returns false when the pointer would be beyond the largest offset.
bool fetch_here(SharedFile* shared, int64_t by, int64_t* before) {
  *before = shared->shared_pointer;
  return !__builtin_add_overflow(*before, by, &shared->shared_pointer) ||
         ((shared->shared_pointer = *before), false);
}

void on_pointer_notice(uint32_t from, uint64_t ctx, const void* data, size_t bytes) {
  PointerNotice notice;
  if (bytes != sizeof notice) return pt2pt::refuse_notice();
  std::memcpy(&notice, data, sizeof notice);
  if (notice.kind == PointerNoticeKind::kAsk) {
    auto found = shared_pointers().files.find(ctx);
    if (found == shared_pointers().files.end() || found->second->leader != g_av.me() ||
        notice.value < 0)
      return pt2pt::refuse_notice();
    PointerNotice answer{notice.cookie, 0, PointerNoticeKind::kAnswer};
    if (!fetch_here(found->second, notice.value, &answer.value))
      answer.kind = PointerNoticeKind::kBeyond;
    return pt2pt::notify(from, pt2pt::kNoticeFile, ctx, &answer, sizeof answer);
  }
  auto found = shared_pointers().requesters.find(notice.cookie);
  if (found == shared_pointers().requesters.end()) return pt2pt::refuse_notice();
  PointerRequester* requester = found->second;
  shared_pointers().requesters.erase(found);
  requester->value = notice.value;
  requester->answered = true;
  requester->beyond = notice.kind != PointerNoticeKind::kAnswer;
  if (requester->proclet) sched::ready(requester->proclet);
}

}  // namespace

void start_messages() {
  static const bool done = (pt2pt::set_notice_handler(pt2pt::kNoticeFile, on_pointer_notice), true);
  (void)done;
}

void register_shared(SharedFile* shared) {
  shared_pointers().files[shared->id.plane(comm::kPlaneInternal)] = shared;
}
void drop_shared(SharedFile* shared) {
  shared_pointers().files.erase(shared->id.plane(comm::kPlaneInternal));
}

Status fetch_shared(SharedFile* shared, int64_t by, int64_t* before, const char* call) {
  bool beyond = false;
  if (shared->leader == g_av.me()) {
    beyond = !fetch_here(shared, by, before);
  } else {
    PointerRequester mine;
    const PointerNotice notice{++shared_pointers().last_cookie, by, PointerNoticeKind::kAsk};
    shared_pointers().requesters[notice.cookie] = &mine;
    pt2pt::notify(shared->leader, pt2pt::kNoticeFile, shared->id.plane(comm::kPlaneInternal),
                  &notice, sizeof notice);
    if (!mine.answered) {
      sched::WaitSite site;
      site.call = call;
      mine.proclet = sched::current();
      sched::park(&site);
    }
    *before = mine.value;
    beyond = mine.beyond;
  }
  if (!beyond) return {};
  return error(
      MPI_ERR_ARG,
      "an access of %s from the shared file pointer of %s on reaches beyond the largest offset",
      count_words(static_cast<uint64_t>(by), "etype").c_str(), shared->descriptor.path().c_str());
}

}  // namespace fgmpi::file
