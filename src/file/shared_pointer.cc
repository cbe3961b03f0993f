// The shared pointer at the leader's process, and the notices that ask for it.

#include "file/shared_pointer.h"

#include <cstring>
#include <unordered_map>

#include "base/assert.h"
#include "base/count_words.h"
#include "file/access.h"

namespace fgmpi::file {
namespace {

enum class NoteKind : uint64_t { kAsk = 1, kAnswer, kBeyond };
struct Note {
  uint64_t cookie;
  int64_t value;
  NoteKind kind;
};
static_assert(sizeof(Note) == 24);

/// A rank that waits for an answer; it lies on the rank's stack.
struct Asker {
  sched::Proclet* proclet = nullptr;
  int64_t value = 0;
  bool answered = false, beyond = false;
};

std::unordered_map<uint64_t, SharedFile*>& by_context() {
  static auto* map = new std::unordered_map<uint64_t, SharedFile*>;
  return *map;
}
std::unordered_map<uint64_t, Asker*>& askers() {
  static auto* map = new std::unordered_map<uint64_t, Asker*>;
  return *map;
}

/// Returns false when the pointer would be beyond the largest offset.
bool fetch_here(SharedFile* shared, int64_t by, int64_t* before) {
  *before = shared->shared_pointer;
  return !__builtin_add_overflow(*before, by, &shared->shared_pointer) ||
         ((shared->shared_pointer = *before), false);
}

void on_note(uint32_t from, uint64_t ctx, const void* data, size_t bytes) {
  Note note;
  if (bytes != sizeof note) return pt2pt::refuse_notice();
  std::memcpy(&note, data, sizeof note);
  if (note.kind == NoteKind::kAsk) {
    auto found = by_context().find(ctx);
    if (found == by_context().end() || found->second->leader != g_av.me() || note.value < 0)
      return pt2pt::refuse_notice();
    Note answer{note.cookie, 0, NoteKind::kAnswer};
    if (!fetch_here(found->second, note.value, &answer.value)) answer.kind = NoteKind::kBeyond;
    return pt2pt::notify(from, pt2pt::kNoticeFile, ctx, &answer, sizeof answer);
  }
  auto found = askers().find(note.cookie);
  if (found == askers().end()) return pt2pt::refuse_notice();
  Asker* asker = found->second;
  askers().erase(found);
  asker->value = note.value;
  asker->answered = true;
  asker->beyond = note.kind != NoteKind::kAnswer;
  if (asker->proclet) sched::ready(asker->proclet);
}

}  // namespace

void start_messages() {
  static const bool done = (pt2pt::set_notice_handler(pt2pt::kNoticeFile, on_note), true);
  (void)done;
}

void register_shared(SharedFile* shared) {
  by_context()[shared->id.plane(comm::kPlaneInternal)] = shared;
}
void drop_shared(SharedFile* shared) { by_context().erase(shared->id.plane(comm::kPlaneInternal)); }

Status fetch_shared(SharedFile* shared, int64_t by, int64_t* before, const char* call) {
  bool beyond = false;
  if (shared->leader == g_av.me()) {
    beyond = !fetch_here(shared, by, before);
  } else {
    static uint64_t g_cookie = 0;
    Asker mine;
    const Note note{++g_cookie, by, NoteKind::kAsk};
    askers()[note.cookie] = &mine;
    pt2pt::notify(shared->leader, pt2pt::kNoticeFile, shared->id.plane(comm::kPlaneInternal), &note,
                  sizeof note);
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
