// Objects behind handles: which call made them, uses after they were freed, and objects
// left at the end.
#include <cstring>

#include "check/call.h"
#include "check/extensions.h"
#include "host/handle_bits.h"

namespace fgmpi::check {
namespace {

uint64_t key_of(Object object, int64_t handle) {
  return object == Object::kFile ? static_cast<uint64_t>(handle) : static_cast<uint32_t>(handle);
}

/// Is the handle null, or that of a predefined object?
bool is_nobodys(Object object, uint64_t key) {
  if (object == Object::kKeyval) return false;
  const auto handle = static_cast<int>(key);
  return object == Object::kFile ? key == 0 : is_predefined(handle) || host::is_null_handle(handle);
}

/// The word for an object in reports; null for kinds that are not tracked from creation to free.
const char* name_of(Object object) {
  switch (object) {
    case Object::kComm:
      return "communicator";
    case Object::kGroup:
      return "group";
    case Object::kDatatype:
      return "datatype";
    case Object::kOp:
      return "operation";
    case Object::kInfo:
      return "info object";
    case Object::kErrhandler:
      return "error handler";
    case Object::kKeyval:
      return "key of attributes";
    case Object::kWin:
      return "window";
    case Object::kFile:
      return "file";
    case Object::kMessage:
      return "matched message";
    default:
      return nullptr;
  }
}

uint64_t read_handle(const Parameter& p, int64_t word, int i = 0) {
  const auto* at = reinterpret_cast<const char*>(word);
  if (!at) return 0;
  if (p.object == Object::kFile) {
    uint64_t handle = 0;
    std::memcpy(&handle, at, sizeof handle);
    return handle;
  }
  int handle = 0;
  std::memcpy(&handle, at + static_cast<size_t>(i) * sizeof handle, sizeof handle);
  return static_cast<uint32_t>(handle);
}

/// "an info object", "a window".
std::string with_article(const std::string& noun) {
  const bool vowel = !noun.empty() && std::strchr("aeio", noun[0]);  // not u: a user's
  return (vowel ? "an " : "a ") + noun;
}

/// Has the library made the object without a call that the checker has seen, and given it the
/// handle of one that was freed?
bool is_of_library(Object object, uint64_t key) {
  return object == Object::kDatatype && &MPIX_Tool_has_datatype &&
         MPIX_Tool_has_datatype(static_cast<MPI_Datatype>(key)) != 0;
}

/// The rank, other than this one, that has made the object; null where none has.
Rank* find_maker(const Rank* rank, size_t object, uint64_t key) {
  for (const auto& other : g_process.all)
    if (other && other.get() != rank && other->made[object].contains(key)) return other.get();
  return nullptr;
}

/// Checks that the rank owns the object whose handle a call uses.
void check_handle_use(CheckedCall* call, const Parameter& p, uint64_t key) {
  Rank* rank = call->rank();
  const auto object = static_cast<size_t>(p.object);
  // The function of a reduction's operation runs in one rank for all ranks of a process, so it may
  // use handles of another.
  if (rank->made[object].contains(key) || call->nested()) return;
  const std::string what = with_article(name_of(p.object));
  if (p.object == Object::kComm && g_process.makes_others) return;
  Rank* const maker = find_maker(rank, object, key);
  if (auto freed = rank->freed[object].find(key); freed != rank->freed[object].end()) {
    if (!maker && is_of_library(p.object, key)) return;
    report(FindingKind::kArguments, what + " is used after it was freed",
           "a handle may be used until the call that frees it",
           {call->me(), participant(rank, freed->second, "freed it")});
    return;
  }
  if (maker)
    report(FindingKind::kArguments, what + " of another rank is used",
           "a handle means something only to the rank that made it",
           {call->me(), participant(maker, maker->made[object].at(key).call, "made it")});
}

/// Does the call make a type that needs no commit? True for copies of committed types.
bool made_committed(const CheckedCall& call) {
  const char* name = call.info().name;
  if (!std::strcmp(name, "MPI_Type_dup")) {
    const auto old = static_cast<uint32_t>(call.at(0));
    auto& made =
        const_cast<CheckedCall&>(call).rank()->made[static_cast<size_t>(Object::kDatatype)];
    auto found = made.find(old);
    return found == made.end() || found->second.committed;
  }
  return std::strncmp(name, "MPI_Type_", 9) != 0 || !std::strncmp(name, "MPI_Type_get", 12);
}

/// Records a new object, or one more handle to it. `into`: the address that the
/// handle was written to.
void record_made_requests(CheckedCall* call, const CallRecord& record, const Parameter& p,
                          uint64_t key, int64_t into) {
  if (is_nobodys(p.object, key)) return;
  Rank* rank = call->rank();
  ++rank->epoch;
  const auto object = static_cast<size_t>(p.object);
  CreatedObject& made = rank->made[object]
                            .try_emplace(key, CreatedObject{record, 0, made_committed(*call)})
                            .first->second;
  if (++made.count > 1) {
    made.again = SharedCall(record);
    made.again_into = into;
  }
  rank->freed[object].erase(key);
  if (p.object == Object::kDatatype && made.count == 1) forget_layout(static_cast<int>(key));
}

/// A handle that several calls returned must be freed as often. The address of the freed variable
/// shows whether it held the result of the last call, so that a leak names the call whose handle
/// was not freed.
void forget_one(CreatedObject* made, int64_t from) {
  if (made->again && made->again_into != from) made->call = *made->again;
  made->again = {};
}

void record_freed_handles(CheckedCall* call, const Parameter& p, uint64_t key, int64_t from) {
  if (is_nobodys(p.object, key)) return;
  Rank* rank = call->rank();
  ++rank->epoch;
  const auto object = static_cast<size_t>(p.object);
  auto found = rank->made[object].find(key);
  if (found == rank->made[object].end()) return;
  if (--found->second.count > 0) return forget_one(&found->second, from);
  // A handler that the rank has only been given may live on: who made it is not known where that
  // was done for a program of the standard ABI.
  const char* const maker = found->second.call.info().name;
  const bool was_given =
      p.object == Object::kErrhandler &&
      (std::strstr(maker, "_get_errhandler") || !std::strcmp(maker, "MPI_Errhandler_get"));
  rank->made[object].erase(found);
  if (!was_given) rank->freed[object].insert_or_assign(key, call->record());
  if (p.object == Object::kComm) rank->forget_comm(static_cast<int>(key));
  if (p.object == Object::kDatatype) forget_layout(static_cast<int>(key));
}

/// The number of handles that the call has written into the array, which may be longer.
int64_t written_into(const CheckedCall& call, const Parameter& array) {
  int ints, addresses, types, combiner;
  MPI_Count many_ints, many_addresses, counts, many_types;
  switch (call.record().id) {
    case kCall_MPI_Type_get_contents:
      g_next.MPI_Type_get_envelope(static_cast<MPI_Datatype>(call.at(0)), &ints, &addresses, &types,
                                   &combiner);
      return types;
    case kCall_MPI_Type_get_contents_c:
      g_next.MPI_Type_get_envelope_c(static_cast<MPI_Datatype>(call.at(0)), &many_ints,
                                     &many_addresses, &counts, &many_types, &combiner);
      return many_types;
    default:
      return array.length < 0 ? 0 : call.at(array.length);
  }
}

/// Does MPI return an existing object, which the program must not free?
bool gives_predefined(const CallInfo& info) {
  return !std::strncmp(info.name, "MPI_Type_create_f90_", 20) ||
         !std::strcmp(info.name, "MPI_Type_match_size") ||
         !std::strcmp(info.name, "MPI_Type_get_value_index");
}

}  // namespace

void check_handles_before(CheckedCall* call) {
  const CallInfo& info = call->info();
  for (unsigned set = info.sets.used; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    const Parameter& p = info.parameters[i];
    if (p.pointer) call->old[i] = read_handle(p, call->at(i));
    const uint64_t key = p.pointer ? call->old[i] : key_of(p.object, call->at(i));
    if (is_nobodys(p.object, key)) continue;
    const OwnComm* last = call->rank()->last_own;
    if (p.object == Object::kComm && !p.pointer && last && call->at(i) == last->handle) continue;
    if (p.object != Object::kMessage && p.object != Object::kKeyval) check_handle_use(call, p, key);
    if (p.object == Object::kComm && p.life == Life::kFreed)
      write_ranks_given(call->rank(), static_cast<MPI_Comm>(key));
    // Another thread may receive the same handle again before this call returns.
    if (call->had_threads() && p.life == Life::kFreed && p.object != Object::kMessage)
      record_freed_handles(call, p, key, call->at(i));
  }
}

void record_handles_after(CheckedCall* call) {
  const CallInfo& info = call->info();
  const bool predefined = gives_predefined(info);
  for (unsigned set = info.sets.changed; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    const Parameter& p = info.parameters[i];
    if (predefined) {  // the handle may be that of an object that was freed
      call->rank()->freed[static_cast<size_t>(p.object)].erase(read_handle(p, call->at(i)));
      continue;
    }
    if (p.life == Life::kCreated && p.array) {
      const int64_t n = written_into(*call, p);
      for (int k = 0; k < n; ++k)
        if (uint64_t key = read_handle(p, call->at(i), k))
          record_made_requests(call, call->record(), p, key,
                               call->at(i) + k * static_cast<int64_t>(sizeof(int)));
    } else if (p.life == Life::kCreated && info.starts == Starts::kNonblocking) {
      continue;  // the object exists when the request is complete: record_handles_made_by()
    } else if (p.life == Life::kCreated) {
      if (uint64_t key = read_handle(p, call->at(i)))
        record_made_requests(call, call->record(), p, key, call->at(i));
    } else if (p.life == Life::kFreed && p.object != Object::kMessage) {
      if (!call->had_threads()) record_freed_handles(call, p, call->old[i], call->at(i));
    } else if (p.life == Life::kFreed && read_handle(p, call->at(i)) != call->old[i]) {
      record_freed_handles(call, p, call->old[i], call->at(i));
    } else if (p.life == Life::kChanged && p.object == Object::kDatatype &&
               !std::strcmp(info.name, "MPI_Type_commit")) {
      auto& made = call->rank()->made[static_cast<size_t>(Object::kDatatype)];
      if (auto found = made.find(call->old[i]); found != made.end()) found->second.committed = true;
      ++call->rank()->epoch;
    }
  }
}

void record_handles_made_by(CheckedCall* call, const CallRecord& nonblocking) {
  if (!nonblocking.info().sets.changed) return;
  for (int i = 0; i < nonblocking.info().count; ++i) {
    const Parameter& p = nonblocking.info().parameters[i];
    if (name_of(p.object) && p.life == Life::kCreated)
      record_made_requests(call, nonblocking, p, read_handle(p, nonblocking.words[i]),
                           nonblocking.words[i]);
  }
}

void report_leftovers(Rank* rank) {
  for (size_t object = 0; object < std::size(rank->made); ++object)
    for (const auto& [key, made] : rank->made[object]) {
      const auto of = static_cast<Object>(object);
      const std::string what = name_of(of);
      if (of == Object::kMessage) {
        report(FindingKind::kMessages, "a message that a probe has matched is never received",
               "MPI_Mrecv or MPI_Imrecv follows each MPI_Mprobe and successful MPI_Improbe",
               {participant(rank, made.call)});
        continue;
      }
      report(
          FindingKind::kLeaks,
          (of == Object::kErrhandler || of == Object::kInfo || of == Object::kOp ? "an " : "a ") +
              what + (of == Object::kFile ? " is never closed" : " is never freed"),
          "what a rank makes it frees before MPI_Finalize", {participant(rank, made.call)});
    }
}

}  // namespace fgmpi::check
