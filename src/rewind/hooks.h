// What src/tape, which is preloaded in front of the library, calls in a process whose run is
// recorded or repeated.
//
// Thread rule: the scheduler's thread. Nothing switches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::rewind {

/// What a call does with messages between two ranks.
enum class MessageRole : uint8_t { kNone, kSends, kReceives, kExchanges };

/// An MPI call as it begins.
struct CallBegun {
  const char* name;  ///< MPI_Send
  uint32_t number;   ///< of the call among those that are wrapped
  /// The rank that it names (destination, source, root, target), or kNoPartner.
  int32_t partner;
  int64_t count;  ///< of elements, or 0
  const void* place;
  int32_t comm;      ///< the handle of the communicator, or 0
  int32_t tag;       ///< or kNoTag
  MessageRole role;  ///< a persistent request has the role of the operation that it starts
  bool persistent;   ///< only makes a request; the messages come when that is started
};
inline constexpr int32_t kNoPartner = INT32_MIN, kNoTag = INT32_MIN;

/// What else is to be seen of the last event of the running rank, so that receives can be joined
/// with sends (launcher/mpiexec/message_search.h).
struct CallDetail {
  enum CallDetailKind : uint32_t {
    kReceivesToo,     ///< it exchanges: what it receives, from `partner` with `tag`
    kRequestMade,     ///< it has made the request `handle`
    kRequestStarted,  ///< it starts the request
    kRequestAwaited,  ///< it completes the request, or tests it
    kRequestCancelled,
    kMessageTaken,     ///< it has found the message `handle`, from `partner` with `tag`
    kMessageReceived,  ///< it receives the message
  } kind;
  int32_t handle;
  int32_t comm = 0, partner = kNoPartner, tag = kNoTag;
};

struct RewindHooks {
  /// The next event of the run.
  void (*count_call)(const CallBegun& call);
  /// Lists a detail of the rank's last event. Only called while *lists.
  void (*add_detail)(const CallDetail& detail);
  const bool* lists;
  /// Random numbers that the program gets without a system call: writes them down, or replaces
  /// them by the recorded ones.
  void (*pass_random)(void* bytes, size_t size);
  /// How a place (a return address) becomes an address of the program as the linker loaded it.
  void (*set_places)(uint64_t (*place_of)(const void* place));
  /// A system call of a tool in the process, which is neither recorded nor answered.
  long (*direct_call)(long number, long a, long b, long c, long d, long e, long f);
  /// Is true where the checker looks at a repeated run.
  const bool* is_checked;
};

}  // namespace fgmpi::rewind

/// Begins to check this repeated run for these kinds of findings, which are written to the
/// descriptor. In src/check; called before ranks run.
extern "C" __attribute__((visibility("default"))) void fgmpi_check_begin_rewound(uint32_t kinds,
                                                                                 int fd);

/// nullptr in all processes but those of mpiexec -record and -rewind.
extern "C" __attribute__((visibility("default"))) const fgmpi::rewind::RewindHooks*
fgmpi_rewind_hooks();
