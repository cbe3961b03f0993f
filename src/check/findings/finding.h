// A finding: something wrong that a tool has seen in a job, and the calls that take part in it.
//
// Tools that watch a job (check) make findings in each process. When the job has ended, mpiexec
// reads those of all processes, joins equal ones of many ranks, finds the lines of the program, and
// writes the report. Thread rule: values; no state.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fgmpi::findings {

/// The classes of findings, as -check=CLASS,... names them.
enum class FindingKind : uint8_t {
  kLeaks,
  kMessages,
  kCollectives,
  kTypes,
  kArguments,
  kBuffers,
  kBuffering,
  kDeadlock,
  kRaces,
  kWindows,
  kFiles,
  kThreads,
  kCount
};

struct KindText {
  const char* name;   ///< the word of -check= and of reports
  const char* about;  ///< one line for reports for machines
};
inline constexpr KindText kKinds[] = {
    {"leaks", "objects and requests that are never freed or completed"},
    {"messages", "messages that are never received, receives that nothing matches"},
    {"collectives", "collective calls whose arguments do not agree"},
    {"types", "messages whose types differ between sender and receiver"},
    {"arguments", "arguments that MPI forbids"},
    {"buffers", "buffers that are used while an operation needs them"},
    {"buffering", "sends that only buffering lets return, collectives that may wait for all"},
    {"deadlock", "ranks that wait for ever"},
    {"races", "receives, probes and completions whose result depends on which message comes first"},
    {"windows", "one-sided accesses that conflict, and epochs that are not as MPI wants them"},
    {"files", "accesses of ranks to the same bytes of a file that nothing orders"},
    {"threads",
     "calls of threads that the level of MPI_Init_thread does not allow, or at the same time"},
};
static_assert(sizeof kKinds / sizeof kKinds[0] == static_cast<size_t>(FindingKind::kCount));

/// Reads "leaks,types" or "all" into a mask of kinds. Returns the first word that
/// names no kind, or "".
std::string_view parse_kinds(std::string_view text, uint32_t* mask);
inline constexpr uint32_t bit_of(FindingKind kind) { return 1u << static_cast<uint32_t>(kind); }
inline constexpr uint32_t kAllKinds = (1u << static_cast<uint32_t>(FindingKind::kCount)) - 1;

/// The exit status of mpiexec -check when there were findings.
inline constexpr int kStatusWithFindings = 86;

/// A site in the program: an offset in an object file.
struct Site {
  std::string path;
  uint64_t offset = 0;
};

/// A call that takes part. `site`: a number from Spool::add_site(), 0 when unknown.
struct Participant {
  int64_t rank = -1;      ///< in MPI_COMM_WORLD; -1: of no rank
  std::string call;       ///< "MPI_Send"
  std::string arguments;  ///< "count=1, datatype=MPI_INT, dest=1"
  uint64_t site = 0;
  std::string role;  ///< "", or what the call did: "was made here"
  /// Sites of the calling functions, the innermost first. The report shows one of them where `site`
  /// lies in a header of the system.
  std::vector<uint64_t> callers = {};
};

/// Calls that records of a spool name by a key. Each list holds a call, then what that call waits
/// for, and is never empty.
using NamedCalls = std::map<uint64_t, std::vector<Participant>>;

struct Finding {
  FindingKind kind = FindingKind::kLeaks;
  std::string sentence;            ///< what is wrong, without a rank, so that ranks can be joined
  std::string allowed;             ///< what MPI allows instead
  std::vector<Participant> calls;  ///< at least one; the first one's rank is counted
  bool note = false;               ///< may be intended, so the exit status does not change
};

/// A key of the finding: equal in all processes, and for findings that differ only in
/// ranks and arguments.
uint64_t key_of(const Finding& finding);

}  // namespace fgmpi::findings
