// Error codes for statuses, their texts, and the call of the error handler that answers.

#include "mpi/errors/errors.h"
#include "base/checkpoint_link.h"
#include "base/error_line.h"
#include "mpi/entry.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "base/plain_mutex.h"
#include "comm/errhandler.h"
#include "host/error_text.h"
#include "host/host.h"
#include "mpi/calls.h"
#include "mpi/errors/error_texts.h"
#include "mpi/errors/user_errors.h"
#include "mpi/life/runtime.h"
#include "mpi/own.h"
#include "privatize/privatize.h"
#include "proclet-sched/threads/threads.h"

#pragma weak fgmpi_checkpoint_hooks

namespace fgmpi::mpi {
namespace {

void (*g_tool_fatal)(int error_class, const char* text) = nullptr;

// A code of ours:   31 30  29 ... 19   18 ... 8        7   6 ... 0
//                  | 0 0 | number   | all ones      | 0 | class |
// The host's codes have an index of its messages in bits 18..8, which never reaches all ones, and
// codes that users add have bit 30 (user_errors.h). The texts of the last kRing errors are stored;
// an older code still has its class.
constexpr int kMark = 0x7ff << 8;
constexpr int kMarkMask = kMark | 0x80 | static_cast<int>(0xc0000000u);
constexpr unsigned kRing = 256;
constexpr unsigned kNumbers = 1u << 11;

struct ErrorText {
  int code = 0;
  std::string text;
};

struct ErrorTexts {
  PlainMutex mutex;  ///< protects all below
  unsigned errors = 0;
  ErrorText ours[kRing];
  ErrorText of_host[kRing];  ///< what programs have got, for threads that cannot ask the host
};
ErrorTexts& kept() {
  static ErrorTexts* all = new ErrorTexts;
  return *all;
}
ErrorText& slot(unsigned number) { return kept().ours[number % kRing]; }
/// The host numbers its latest errors from bit 19 on; the bits below say which of its messages an
/// error is.
ErrorText& host_slot(int code) {
  const auto bits = static_cast<unsigned>(code);
  return kept().of_host[(bits >> 19 ^ bits >> 8) % kRing];
}

UserHandlerCaller g_call_user_handler = nullptr;

bool is_ours(int code) { return (code & kMarkMask) == kMark; }

/// The rank whose thread calls MPI at a level that allows only another thread to call; else
/// nullptr.
comm::RankState* rank_of_wrong_thread() {
  const sched::Proclet* owner = sched::is_unattached_thread() ? sched::rank_of_thread() : nullptr;
  return owner ? static_cast<comm::RankState*>(owner->rank_state) : nullptr;
}

/// The rank of the caller, also where another rank is inside.
comm::RankState* rank_here() {
  return sched::is_unattached_thread() ? rank_of_wrong_thread() : comm::rank_state();
}

std::string rank_words() {
  const comm::RankState* rank = rank_here();
  return rank ? "rank " + std::to_string(rank->world.rank) : std::string("a rank before MPI_Init");
}

std::string comm_words(const comm::Comm* comm) {
  if (!comm) return "";
  const comm::RankState* rank = rank_here();
  if (rank && comm == &rank->world) return " (communicator MPI_COMM_WORLD)";
  if (rank && comm == &rank->self) return "";
  char words[64];
  std::snprintf(words, sizeof words, " (rank %d of %d in communicator 0x%08x)", comm->rank,
                comm->size(), static_cast<unsigned>(comm->handle));
  return words;
}

/// The communicator whose handler is called for a call that names no object: MPI_COMM_SELF (MPI-4.0
/// section 9.3); MPI_COMM_WORLD, as in MPI-3.1, while the program has not given MPI_COMM_SELF a
/// handler.
comm::Comm* answers_for_no_object() {
  comm::RankState* rank = rank_here();
  if (!rank) return nullptr;
  return rank->self_answers ? &rank->self : &rank->world;
}

/// The communicator whose handler is called for an error on this one, or on none (nullptr).
comm::Comm* answers_for(comm::Comm* comm) {
  if (!comm) comm = answers_for_no_object();
  comm::RankState* rank = rank_here();
  return comm && rank && comm->errhandler == MPI_ERRHANDLER_NULL ? &rank->world : comm;
}

/// What keeps error codes of ranks that move, or nullptr.
const checkpoint::CheckpointHooks* keeper_of_errors() {
  const auto* hooks = &fgmpi_checkpoint_hooks ? fgmpi_checkpoint_hooks() : nullptr;
  return hooks && hooks->keep_error ? hooks : nullptr;
}

std::string fetch_host_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  host::call([&](const host::Api& h) { return h.Error_string(code, text, &length); });
  return text;
}

/// Called when the program is about to get this code. REQUIRES: inside.
void store_host_text(int code) {
  std::string text = fetch_host_text(code);
  if (const auto* keeper = keeper_of_errors()) keeper->keep_error(code, text.c_str());
  const std::lock_guard<PlainMutex> guard(kept().mutex);
  host_slot(code) = {code, std::move(text)};
}

std::string text_of_host(int code) {
  if (!sched::is_unattached_thread()) return fetch_host_text(code);
  const std::lock_guard<PlainMutex> guard(kept().mutex);
  const ErrorText& words = host_slot(code);
  return words.code == code ? words.text : class_text(class_of(code));
}

int make_code(int error_class, std::string text) {
  int code = 0;
  const auto* keeper = keeper_of_errors();
  {
    const std::lock_guard<PlainMutex> guard(kept().mutex);
    const unsigned number = ++kept().errors & (kNumbers - 1);
    code = kMark | static_cast<int>(number << 19) | (error_class & 0x7f);
    slot(number) = {code, keeper ? text : std::move(text)};
  }
  if (keeper) keeper->keep_error(code, text.c_str());
  return code;
}

bool is_of_host(int code) {
  return !is_ours(code) && !is_of_user(code) && (code < 0 || code > 0x7f);
}

}  // namespace

void set_user_handler_caller(UserHandlerCaller caller) { g_call_user_handler = caller; }

int class_of(int code) {
  if (is_ours(code) || (code >= 0 && code <= 0x7f)) return code & 0x7f;
  if (is_of_user(code)) return class_of_user_code(code);
  if (sched::is_unattached_thread()) return code & 0x7f;  // as the host does
  int error_class = MPI_ERR_UNKNOWN;
  host::call([&](const host::Api& h) { return h.Error_class(code, &error_class); });
  return error_class;
}

std::string text_of(int code) {
  if (const auto* keeper = keeper_of_errors())
    if (const char* text = keeper->text_of_error(code)) return text;
  if (is_ours(code)) {
    const std::lock_guard<PlainMutex> guard(kept().mutex);
    const ErrorText& words = slot(static_cast<unsigned>(code) >> 19 & (kNumbers - 1));
    if (words.code == code) return words.text;
    return class_text(code & 0x7f);
  }
  if (code >= 0 && code <= kLastStandardClass) return class_text(code);
  if (is_of_user(code)) {
    bool known;
    std::string text = text_of_user_code(code, &known);
    return known ? text : class_text(MPI_ERR_UNKNOWN);
  }
  return text_of_host(code);
}

int code_of(const char* call, const Status& status) {
  if (status.ok()) return MPI_SUCCESS;
  return make_code(status.error_class(), std::string(class_text(status.error_class())) + " in " +
                                             call + ": " + status.what());
}

int no_memory(const char* call, MPI_Comm handle) {
  return fail(call, comm::find(handle), error(MPI_ERR_NO_MEM, "no memory is left for it"));
}

void set_tool_fatal(void (*fatal)(int, const char*)) { g_tool_fatal = fatal; }

int fail_code(const char* call, comm::Comm* comm, int code) {
  if (is_of_host(code) && !sched::is_unattached_thread() && host::initialised())
    store_host_text(code);
  // An info argument is checked for being an object before any communicator's handler is used for
  // the call.
  if (is_ours(code) && class_of(code) == MPI_ERR_INFO) comm = nullptr;
  comm::Comm* answers = answers_for(comm);
  const MPI_Errhandler handler = answers ? handler_or_default(answers) : MPI_ERRORS_ARE_FATAL;
  if (comm::returns_codes(handler)) return code;
  if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_ABORT && g_call_user_handler) {
    g_call_user_handler(answers, handler, &code);
    return code;
  }
  std::string text = text_of(code);
  if (is_of_host(code)) text = host::plain_error_text(text);
  if (!is_ours(code)) text += std::string(" in ") + call;
  std::string line = "Fatal error on " + rank_words() + ": " + text;
  std::replace(line.begin(), line.end(), '\n',
               ' ');  // the program's own words may be several lines
  if (g_tool_fatal) g_tool_fatal(class_of(code), text.c_str());
  abort_job(class_of(code), line + comm_words(comm));
}

int fail(const char* call, comm::Comm* comm, const Status& status) {
  return fail_code(call, comm, code_of(call, status));
}

int unsupported(const char* call, MPI_Comm handle) {
  return fail(call, comm::find(handle),
              error(MPI_ERR_UNSUPPORTED_OPERATION,
                    "%s is not supported by this version of Finegrain MPI", call));
}

int host_error(const char* call, int code) { return fail_code(call, nullptr, code); }

int bad_comm(const char* call, MPI_Comm handle) {
  comm::RankState* rank = comm::rank_state();
  if (const comm::RankState* owner = rank_of_wrong_thread())
    return fail(call, nullptr,
                error(MPI_ERR_OTHER,
                      "called by a thread that did not call MPI_Init, at %s; allowed are other "
                      "threads from MPI_THREAD_SERIALIZED on (MPI_Init_thread)",
                      name_of_thread_level(owner->thread_level)));
  bool too_late = rank && (handle == MPI_COMM_WORLD ? rank->world.freed : handle == MPI_COMM_SELF);
  if (!rank || too_late) {
    return fail(call, nullptr,
                error(MPI_ERR_OTHER, "called before MPI_Init or after MPI_Finalize by this rank"));
  }
  return fail(call, nullptr, Status(MPI_ERR_COMM, comm::describe_bad(handle)));
}

void abort_job(int exit_code, const std::string& line) {
  std::fflush(stdout);
  privatize::finish_output();
  write_error_line(line);
  std::fflush(stderr);
  boot().abort(exit_code, line);
  std::abort();  // not reached: says so to compilers that forget it of virtual functions
}

Status error_string(int errorcode, char* string, int* resultlen) {
  std::string text = text_of(errorcode);
  if (text.size() >= MPI_MAX_ERROR_STRING) text.resize(MPI_MAX_ERROR_STRING - 1);
  std::memcpy(string, text.c_str(), text.size() + 1);
  *resultlen = static_cast<int>(text.size());
  return {};
}

}  // namespace fgmpi::mpi

using namespace fgmpi;

int fgmpi_make_error_code(int error_class, const char* text) {
  return mpi::make_code(error_class, text);
}

FGMPI_EXPORT(MPI_Abort);
int PMPI_Abort(MPI_Comm comm, int errorcode) {
  FGMPI_TAKE_TURN("MPI_Abort", PMPI_Abort(comm, errorcode));
  comm::RankState* rank = comm::rank_state();
  const std::string who =
      rank ? "rank " + std::to_string(rank->world.rank) : std::string("a process before MPI_Init");
  (void)comm;  // the standard only asks for the group of comm: like MPICH we end the job
  mpi::abort_job(errorcode, who + " called MPI_Abort with error code " + std::to_string(errorcode));
}
