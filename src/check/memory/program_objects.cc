// What a program that was compiled with mpicc -check tells of its memory: the types and variables
// of buffers (gcc/access/plugin/facts.cc), and the blocks of its heap. And frames of functions that
// have returned while an operation uses their memory, in any program.
#include <malloc.h>
#include <unwind.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "check/call.h"
#include "check/memory/accesses.h"
#include "check/memory/heap_map.h"
#include "check/threads/strands.h"

namespace fgmpi::check {
namespace {

using access::ProgramCall;

/// A scalar in the elements of a buffer.
struct ProgramScalar {
  char letter = 0;
  int64_t bytes = 0, offset = 0;
};

/// What the compiler has told of one buffer.
struct ProgramBuffer {
  int argument = -1;
  bool unwritten = false, member = false;
  int64_t bytes = 0;  ///< of an element; 0: its type is unknown
  std::vector<ProgramScalar> scalars;
  std::string type;
};

struct ProgramFacts {
  std::string name;
  bool status_unread = false;
  std::vector<ProgramBuffer> buffers;
};

/// Reads a number and the character behind it.
int64_t read_until(const char** text, char end) {
  char* after = nullptr;
  const int64_t number = std::strtoll(*text, &after, 10);
  *text = after + (*after == end);
  return number;
}

ProgramFacts parse_facts(const char* text) {
  ProgramFacts facts;
  const char* bar = std::strchr(text, '|');
  if (!bar) return facts;
  facts.status_unread = bar > text && bar[-1] == '?';
  facts.name.assign(text, bar - facts.status_unread);
  for (text = bar + 1; *text;) {
    ProgramBuffer b;
    b.argument = static_cast<int>(read_until(&text, 0));
    for (; *text && *text != ':'; ++text) (*text == '!' ? b.unwritten : b.member) = true;
    if (*text) ++text;
    b.bytes = read_until(&text, ':');
    while (*text && *text != ':') {
      ProgramScalar s;
      s.letter = *text++;
      s.bytes = read_until(&text, '@');
      s.offset = read_until(&text, 0);
      b.scalars.push_back(s);
    }
    if (*text) ++text;
    const char* end = std::strchr(text, ';');
    if (!end) break;
    b.type.assign(text, end);
    text = end + 1;
    facts.buffers.push_back(std::move(b));
  }
  return facts;
}

/// The facts with this text. Texts are constants of the program, so their addresses tell them
/// apart.
const ProgramFacts& facts_at(const char* text) {
  static auto* all = new std::unordered_map<const char*, ProgramFacts>;
  auto [at, fresh] = all->try_emplace(text);
  if (fresh) at->second = parse_facts(text);
  return at->second;
}

/// What the program has told of the call of MPI that the thread makes next.
thread_local ProgramCall t_program_call = {};

/// The call's arguments, and more words about a buffer.
findings::Participant me_with(const CheckedCall& call, const std::string& words) {
  findings::Participant me = call.me();
  me.arguments += (me.arguments.empty() ? "" : ", ") + words;
  return me;
}

// ---- Bounds -------------------------------------------------------------------------------------

struct ProgramObject {
  const char *low = nullptr, *high = nullptr;
  const char* what = "";
};

/// The memory that the call uses from this argument on: [low, high); empty where it is unknown.
struct BufferReach {
  const char *low = nullptr, *high = nullptr;
  bool has_gaps = false;  ///< it may leave out bytes between these
};

/// The bytes of an element of the array of requests or statuses that a completion of `count`
/// requests is given; 0: it is another argument, or MPI_STATUSES_IGNORE.
int64_t bytes_of_result(const CheckedCall& call, int argument) {
  const std::string_view name = call.info().parameters[argument].name;
  if (!std::string_view(call.info().parameters[0].name).ends_with("count")) return 0;
  if (name == "array_of_requests") return sizeof(MPI_Request);
  const bool ignored = call.record().words[argument] == word(MPI_STATUSES_IGNORE);
  return name == "array_of_statuses" && !ignored ? sizeof(MPI_Status) : 0;
}

BufferReach reach_of(CheckedCall* call, int argument) {
  const CallRecord& record = call->record();
  const auto base = reinterpret_cast<const char*>(record.words[argument]);
  if (record.words[argument] == word_of_in_place() || !base) return {};
  switch (record.id) {
    case kCall_MPI_Buffer_attach:
    case kCall_MPI_Buffer_attach_c:
    case kCall_MPI_Win_create:
    case kCall_MPI_Win_create_c:
      return {base, base + record.words[1]};
    case kCall_MPI_Win_attach:
      return {base, base + record.words[2]};
    default:
      break;
  }
  if (call->info().role == CallRole::kCompletion)
    return {base, base + call->at(0) * bytes_of_result(*call, argument)};
  if (!(call->info().sets.buffers >> argument & 1)) return {};
  collect_buffers(call);
  if (!call->has_lists()) return {};
  BufferReach reach;
  for (const Region& r : call->lists().regions) {
    if (r.base != base || r.low >= r.high) continue;
    const TypeLayout* l = layout_of(r.type);
    int64_t bytes = 0;
    if (!l || __builtin_mul_overflow(r.count, l->extent, &bytes)) return {};  // MPI rejects it
    reach.has_gaps |= !r.exact;
    if (!reach.low || r.low < reach.low) reach.low = r.low;
    if (!reach.high || r.high > reach.high) reach.high = r.high;
  }
  return reach;
}

/// Does a type with displacements lead from the object into a block of the heap behind it? Programs
/// send several blocks as one structure.
bool ends_in_another_block(const BufferReach& reach, const ProgramObject& object) {
  return reach.has_gaps && reach.high > object.high &&
         heap_block_of(reach.high - 1).low >= object.high;
}

/// Does the call use memory beside the object?
void check_bounds(CheckedCall* call, const BufferReach& reach, const ProgramObject& object) {
  if (!object.low || (reach.low >= object.low && reach.high <= object.high) ||
      ends_in_another_block(reach, object))
    return;
  report(FindingKind::kArguments,
         std::string("a call is given more memory than ") + object.what + " has",
         "what a call reads or writes is memory of one object of the program",
         {me_with(*call, format("%lld bytes from byte %lld of %lld",
                                static_cast<long long>(reach.high - reach.low),
                                static_cast<long long>(reach.low - object.low),
                                static_cast<long long>(object.high - object.low)))});
}

/// Fresh blocks of the heap are filled with this byte, up to so many bytes: where all of a message
/// still has it, or its last bytes, most likely nothing has written them.
constexpr unsigned char kUnwritten = 0xb7;
constexpr size_t kMostMarked = 4096, kFewestMarked = 4, kLastMarked = 32;

bool looks_unwritten(const BufferReach& reach, const ProgramObject& block) {
  const auto bytes = static_cast<size_t>(reach.high - reach.low);
  if (bytes < kFewestMarked || reach.high > block.low + kMostMarked || reach.high > block.high)
    return false;
  return std::all_of(reach.high - std::min(bytes, kLastMarked), reach.high,
                     [](char c) { return static_cast<unsigned char>(c) == kUnwritten; });
}

void check_written(CheckedCall* call, const BufferReach& reach, const ProgramObject& block) {
  if (!looks_unwritten(reach, block)) return;
  report(FindingKind::kBuffers, "memory of the heap is sent that nothing seems to have written",
         "harmless only if nobody uses what is received: the program stores a value before",
         {call->me()}, true);
}

ProgramObject object_of(const Rank& rank, const BufferReach& reach) {
  const HeapBlock block = heap_block_of(reach.low);
  if (block.low) return {block.low, block.high, "the block of the heap"};
  if (reach.low >= rank.stack_low && reach.low < rank.stack_high)
    return {rank.stack_low, rank.stack_high, "the rank's stack"};
  return {};
}

// ---- Types --------------------------------------------------------------------------------------

enum class Fit : uint8_t { kYes, kBytes, kNo };

/// Does an element of a datatype fit the scalar at the same place? kBytes: a type of one byte for
/// another one, as programs do that count in bytes.
Fit fit_of(const BasicElement& e, const ProgramScalar& s) {
  const bool same = e.bytes == s.bytes;
  switch (e.of) {
    case ElementClass::kSigned:
    case ElementClass::kUnsigned:
      if (e.bytes == 1) return Fit::kBytes;
      if (s.letter == 'e') return same ? Fit::kYes : Fit::kNo;
      return same && s.letter == (e.of == ElementClass::kSigned ? 's' : 'u') ? Fit::kYes : Fit::kNo;
    case ElementClass::kFloat:
      return s.letter == 'f' && same                     ? Fit::kYes
             : s.letter == 'c' && 2 * e.bytes == s.bytes ? Fit::kYes
                                                         : Fit::kNo;
    case ElementClass::kComplex:
      return s.letter == 'c' && same                     ? Fit::kYes
             : s.letter == 'f' && e.bytes == 2 * s.bytes ? Fit::kYes
                                                         : Fit::kNo;
    case ElementClass::kChar:
      return e.bytes == 1 ? Fit::kBytes : same && s.letter != 'f' ? Fit::kYes : Fit::kNo;
    case ElementClass::kLogical:
      return e.bytes == 1 ? Fit::kBytes : same && s.letter != 'f' ? Fit::kYes : Fit::kNo;
    default:
      return Fit::kYes;
  }
}

/// Are these scalars of any type: bytes, which may be storage of anything, and addresses?
bool is_wild(const ProgramScalar& s) { return s.bytes == 1 || s.letter == 'p' || s.letter == 'b'; }

Fit fit_at(const ProgramBuffer& b, const BasicElement& e) {
  const int64_t offset = ((e.offset % b.bytes) + b.bytes) % b.bytes;
  for (const ProgramScalar& s : b.scalars) {
    if (s.offset + s.bytes <= offset || offset + e.bytes <= s.offset || is_wild(s)) continue;
    const Fit fit = fit_of(e, s);
    if (fit != Fit::kYes) return fit;
    // Complex numbers may be two of the others, or half of one.
    const bool parts = e.bytes != s.bytes;
    if (!parts && s.offset != offset) return Fit::kNo;
  }
  return Fit::kYes;
}

void check_type(CheckedCall* call, const ProgramBuffer& b, const Parameter& p) {
  if (b.bytes == 0 || b.scalars.empty() || p.second < 0 || p.length < 0 ||
      call->info().parameters[p.second].array)
    return;
  if (call->info().parameters[p.length].what == ParameterUse::kCount && call->at(p.length) <= 0)
    return;
  const auto type = static_cast<MPI_Datatype>(call->at(p.second));
  // A derived type may describe the structure around the member.
  if (b.member && !is_predefined(type)) return;
  static std::vector<BasicElement> elements;
  if (!basic_elements_of(type, &elements)) return;
  Fit worst = Fit::kYes;
  for (const BasicElement& e : elements) worst = std::max(worst, fit_at(b, e));
  // Further elements of the count meet other scalars where the sizes differ.
  const TypeLayout* l = layout_of(type);
  if (worst == Fit::kYes && l && l->extent > 0 && l->extent < b.bytes && elements.size() == 1 &&
      call->info().parameters[p.length].what == ParameterUse::kCount)
    for (int64_t i = 1; i < call->at(p.length) && i * l->extent < b.bytes; ++i) {
      BasicElement next = elements[0];
      next.offset += i * l->extent;
      worst = std::max(worst, fit_at(b, next));
    }
  if (worst == Fit::kYes) return;
  const std::string words = b.type.empty() ? "another type" : b.type;
  const bool note = worst == Fit::kBytes;
  report(FindingKind::kTypes,
         note ? "a buffer of another type is given as characters"
              : "the datatype is not the type of the buffer",
         note ? "harmless only between equal machines: MPI_BYTE is for bytes of any type"
              : "the datatype is that of the buffer's elements in C, or MPI_BYTE or MPI_PACKED",
         {me_with(*call, std::string("buffer of ") + words)}, note);
}

bool is_root_of_broadcast(const CheckedCall& call) {
  const int id = call.record().id;
  if (id != kCall_MPI_Bcast && id != kCall_MPI_Ibcast) return false;
  const OwnComm* own = call.rank()->comm_of(static_cast<MPI_Comm>(call.value(&Positions::comm)));
  return own && !own->comm->inter && call.value(&Positions::root) == own->rank;
}

void check_buffer(CheckedCall* call, const ProgramBuffer& b, const ProgramObject& object) {
  const CallInfo& info = call->info();
  if (b.argument < 0 || b.argument >= info.count) return;
  const Parameter& p = info.parameters[b.argument];
  const BufferReach reach = reach_of(call, b.argument);
  if (object.low && reach.low) check_bounds(call, reach, object);
  // What a persistent operation sends counts only when it starts.
  if (b.unwritten && info.starts != Starts::kPersistent && reach.low &&
      (p.what == ParameterUse::kRead || is_root_of_broadcast(*call)) && reach.high > reach.low)
    report(FindingKind::kBuffers, "memory is sent that nothing has written",
           "what is sent has a value: the program stores it before", {call->me()});
  if (call->at(b.argument) != word_of_in_place()) check_type(call, b, p);
}

}  // namespace

void check_stack_end(CheckedCall* call) {
  const Rank& rank = *call->rank();
  if (rank.owned) return;  // check_program_objects() compares all of the program's memory
  for (unsigned set = call->info().sets.buffers; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    const auto base = reinterpret_cast<const char*>(call->record().words[i]);
    if (base < rank.stack_low || base >= rank.stack_high) continue;
    if (reach_of(call, i).high <= rank.stack_high) continue;
    report(FindingKind::kArguments, "a buffer reaches into memory that is not there",
           "count elements of the datatype are in memory of the program",
           {participant(&rank, call->record(), "is given the buffer")});
  }
}

void check_program_objects(CheckedCall* call) {
  const ProgramCall told = t_program_call;
  t_program_call.facts = nullptr;
  unsigned known = 0;
  if (told.facts) {
    const ProgramFacts& facts = facts_at(told.facts);
    if (facts.name == call->info().name) {
      if (facts.status_unread) call->leave_status_unread();
      for (size_t i = 0; i < facts.buffers.size() && i < std::size(told.object); ++i) {
        const auto low = static_cast<const char*>(told.object[i]);
        check_buffer(call, facts.buffers[i],
                     {low, low ? low + told.bytes[i] : low, "the variable"});
        if (low) known |= 1u << facts.buffers[i].argument;
      }
    }
  }
  for (int i = 0; i < call->info().count; ++i) {
    if (known >> i & 1 || !call->info().parameters[i].pointer) continue;
    const bool sized = i == 0 && (call->record().id == kCall_MPI_Win_create ||
                                  call->record().id == kCall_MPI_Win_create_c ||
                                  call->record().id == kCall_MPI_Buffer_attach ||
                                  call->record().id == kCall_MPI_Buffer_attach_c);
    const bool results = call->info().role == CallRole::kCompletion;
    if (!sized && !results && !(call->info().sets.buffers >> i & 1)) continue;
    const BufferReach reach = reach_of(call, i);
    if (!reach.low || reach.low >= reach.high) continue;
    const ProgramObject object = object_of(*call->rank(), reach);
    check_bounds(call, reach, object);
    if (object.low && object.low != call->rank()->stack_low &&
        call->info().parameters[i].what == ParameterUse::kRead && !sized)
      check_written(call, reach, object);
  }
}

// ---- Frames -------------------------------------------------------------------------------------
namespace {

/// The distance from the frame of CheckedCall's constructor to the frame of the program, by call;
/// at first an estimate that is too large.
uint16_t g_frame_distance[kCallCount] = {};
constexpr uint16_t kMostDistance = 8192;

struct FrameWalk {
  uintptr_t place, stack_pointer = 0;
};

_Unwind_Reason_Code find_frame(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<FrameWalk*>(data);
  if (_Unwind_GetIP(context) != walk->place) return _URC_NO_REASON;
  walk->stack_pointer = _Unwind_GetCFA(context);
  return _URC_END_OF_STACK;
}

}  // namespace

void check_frames(CheckedCall* call, const void* place, const char* frame) {
  Rank* rank = call->rank();
  // The program may have stacks of its own.
  if (frame < rank->stack_low || frame >= rank->stack_high) return;
  uint16_t& distance = g_frame_distance[call->record().id];
  if (distance == 0) distance = kMostDistance;
  const auto is_below = [&](const PendingRegion& p, const char* stack_pointer) {
    return p.low >= rank->stack_low && p.high <= stack_pointer;
  };
  for (const PendingRegion& p : rank->regions) {
    if (!is_below(p, frame + distance)) continue;
    FrameWalk walk{reinterpret_cast<uintptr_t>(place)};
    _Unwind_Backtrace(find_frame, &walk);
    const auto* stack_pointer = reinterpret_cast<const char*>(walk.stack_pointer);
    if (stack_pointer < frame || stack_pointer - frame > kMostDistance) return;  // not found
    distance = static_cast<uint16_t>(stack_pointer - frame);
    if (!is_below(p, stack_pointer)) continue;
    const auto op = rank->requests.find(p.request);
    if (!op || op->second.touched) continue;
    op->second.touched = true;
    report(FindingKind::kBuffers, "a function returns while an operation uses its variable",
           "an operation's buffer is there until the operation is complete",
           {participant(rank, op->second.call, "is not complete"), call->me("follows the return")});
  }
}

namespace {

/// The program frees the bytes from `low` on.
void report_freed(Rank* rank, const char* low, const char* high, const char* function,
                  const void* place) {
  findings::Participant frees;
  frees.rank = rank->world;
  frees.call = function;
  frees.site = site_of(place);
  if (!rank->begun.empty()) make_operations(rank);
  for (const PendingRegion& p : rank->regions) {
    if (p.low >= high || low >= p.high) continue;
    const auto op = rank->requests.find(p.request);
    if (!op) continue;
    report(FindingKind::kBuffers, "memory is freed that a pending operation uses",
           "an operation's buffer is there until the operation is complete",
           {frees, participant(rank, op->second.call, "is not complete")});
    return;
  }
  for (const Exposed& e : rank->windows) {
    if (!e.own || !e.meets(reinterpret_cast<uintptr_t>(low), static_cast<size_t>(high - low)))
      continue;
    std::vector<findings::Participant> calls = {frees};
    const auto& made = rank->made[static_cast<size_t>(Object::kWin)];
    if (const auto from = made.find(static_cast<uint32_t>(e.win)); from != made.end())
      calls.push_back(participant(rank, from->second.call, "made the window"));
    report(FindingKind::kWindows, "memory of a window is freed before the window",
           "MPI_Win_free, or MPI_Win_detach, comes before the memory is freed", std::move(calls));
    return;
  }
}

}  // namespace
}  // namespace fgmpi::check

using namespace fgmpi::check;

/// The function behind access::Call.
EXPORT void fgmpi_check_call(const fgmpi::access::ProgramCall* call) {
  Rank* rank = current_rank();
  if (!rank || rank->ended) return;
  follow_program(rank);
  g_process.has_facts = true;
  t_program_call = *call;
}

/// The functions behind access::Allocated and access::Freed.
EXPORT void fgmpi_check_allocated(void* block, size_t bytes, bool fresh) {
  add_heap_block(block, bytes);
  g_process.has_heap = true;
  Rank* rank = current_rank();
  if (rank && !rank->owned && !rank->ended) follow_program(rank);
  if (rank && rank->order)
    rank->order->forget_memory(reinterpret_cast<uintptr_t>(block),
                               reinterpret_cast<uintptr_t>(block) + bytes);
  if (fresh) std::memset(block, kUnwritten, std::min(bytes, kMostMarked));
}

EXPORT void fgmpi_check_freed(void* block, const char* function, const void* place) {
  remove_heap_block(block);
  Rank* rank = current_rank();
  if (!rank || rank->ended || rank->in_call || g_process.threads) return;
  if (rank->regions.empty() && rank->begun.empty() && rank->windows.empty()) return;
  const auto* low = static_cast<const char*>(block);
  report_freed(rank, low, low + malloc_usable_size(block), function, place);
}
