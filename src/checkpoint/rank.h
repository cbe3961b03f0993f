// What the layer knows of a rank: its tables of virtual handles, how requests were made, counts of
// messages, and messages that were taken in.
//
// The state belongs to the rank alone and holds no pointer to anything of its process: after a
// restart elsewhere, remake() gives each entry a new object of MPI. What MPI itself can answer
// about an object (members, topology, contents of a type) is asked only when a checkpoint is taken
// (describe.h); here is what it cannot: functions of the program, arguments of requests.
//
// Thread rule: a rank's; ranks have at most MPI_THREAD_SERIALIZED under this layer. Functions that
// call MPI say whether they may switch.
#pragma once

#include <fenv.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/checkpoint_link.h"
#include "checkpoint/checkpoint_calls.h"
#include "checkpoint/descriptions.h"
#include "checkpoint/objects.h"
#include "checkpoint/sessions.h"
#include "checkpoint/tool_extensions.h"
#include "checkpoint/windows_files.h"
#include "watch/words.h"

namespace fgmpi::checkpoint {

/// The proxies by which the bindings of Fortran and C++ have their attribute functions called.
using CopyProxy = int (*)(void* user, int handle, int keyval, void* extra, int kind, void* value,
                          void** out, int* flag);
using DeleteProxy = int (*)(void* user, int handle, int keyval, int kind, void* value, void* extra);

/// The functions of the program behind an operation, a keyval or an error handler.
struct Callbacks {
  enum class Form : uint8_t { kOp, kLargeOp, kStateOp, kComm, kType, kWin, kFile, kSession };

  LayerRank* owner = nullptr;
  Form form = Form::kOp;
  bool commutes = false;
  bool with_state = false;         ///< an error handler that takes its state
  void* function = nullptr;        ///< of an operation or a handler; a keyval's copy function
  void* remove = nullptr;          ///< a keyval's delete function
  void* extra = nullptr;           ///< the program's, passed to its functions
  void* destructor = nullptr;      ///< of `extra`
  void* cxx = nullptr;             ///< the C++ binding's caller
  CopyProxy copy_proxy = nullptr;  ///< null: the functions are C's
  DeleteProxy remove_proxy = nullptr;
  int64_t fortran_extra = 0;  ///< what `extra` points to where Fortran has passed it by address
};

/// Collective operations that a rank has begun on a communicator. Blocking ones match in an order
/// of their own; the other order is of nonblocking ones and of calls that make persistent ones.
struct BegunCollectives {
  uint64_t blocking = 0, nonblocking = 0;
};

struct VirtualComm {
  int real = MPI_COMM_NULL;
  int here = 0;         ///< MPI's object where the rank is (here.h); 0: none was needed yet
  bool visits = false;  ///< `here` is not `real`
  uint64_t key = 0;     ///< equal for all members, and for no other communicator of the job
  BegunCollectives begun;
  uint64_t weight = 0;  ///< the weights of all members have the sum 0
  std::unique_ptr<CommDescription> described;
};
struct VirtualGroup {
  int real = MPI_GROUP_NULL;
  std::vector<int> world_ranks;  ///< while described
};
struct VirtualType {
  int real = MPI_DATATYPE_NULL;
  int here = 0;        ///< as VirtualComm's
  uint32_t uses = 0;   ///< pending requests that were made with it
  bool freed = false;  ///< by the program
  bool committed = false;
  bool permanent = false;  ///< may not be freed: it is a type of Fortran's that has a parameter
  std::unique_ptr<TypeDescription> described;
};
struct VirtualInfo {
  int real = MPI_INFO_NULL;
  std::vector<std::pair<std::string, std::string>> described;
};
struct VirtualCallbacks {
  int real = 0;
  uint32_t uses = 0;   ///< of an error handler: handles that the program has of it
  bool freed = false;  ///< by the program
  Callbacks* calls = nullptr;
};

/// A message that was taken in before the program has received it.
struct StoredMessage {
  MPI_Comm comm = MPI_COMM_NULL;  ///< virtual
  int source = 0, tag = 0;
  std::vector<char> data;
};

struct VirtualMessage {
  int real = MPI_MESSAGE_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Status status = {};
  std::unique_ptr<StoredMessage> stored;  ///< the message was taken in
};

inline constexpr int kMostArguments = 14;

/// How a request that has no counterpart in MPI any more ended.
struct RequestOutcome {
  MPI_Status status = {};
  int code = MPI_SUCCESS;
  bool handled = false;  ///< the error handler has been called
  std::string text;      ///< of the code, which another process does not know
};

struct VirtualRequest {
  int real = MPI_REQUEST_NULL;  ///< what MPI waits for
  /// A persistent request's own handle, which `real` equals but where its operation has ended
  /// without MPI.
  int persistent_real = MPI_REQUEST_NULL;
  Calls call = {};
  bool persistent = false, active = true;
  bool staged = false;                   ///< MPI's own request keeps a copy of its buffers
  bool sends = false, receives = false;  ///< a message from or to another rank, or itself
  bool freed = false;                    ///< by the program, while it was active
  bool withdrawn = false;                ///< begins again when the objects have been made
  uint64_t made_order = 0;               ///< members make persistent collectives in one order
  uint64_t order = 0;                    ///< receives match in the order in which they began
  /// A persistent collective's are as a VirtualComm's; `starts`: how often it was started.
  uint64_t key = 0, weight = 0, starts = 0;
  int64_t words[kMostArguments] = {};
  /// The operation has ended, and the program does not know yet.
  std::unique_ptr<RequestOutcome> outcome;
  bool is_complete = false;  ///< `real` is a request that make_complete() has made
  bool has_place = true;     ///< false: the program's pointer to a request is null
  /// The communicator that the operation makes, and where its handle belongs.
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm* made_at = nullptr;
  /// Arrays of MPI's handles that the operation reads until it has ended.
  std::vector<std::vector<int>> kept;
  /// Copies of the program's arrays that `words` point to.
  struct KeptArray {
    std::vector<char> bytes;
    bool types;  ///< of virtual handles of datatypes
  };
  std::vector<KeptArray> arrays;

  /// Where MPI is to put its request.
  MPI_Request* place() { return has_place ? &real : nullptr; }
  /// Copies an array of the program's, to which this word points.
  template <class Element>
  void keep_array(size_t at, const Element* array, int64_t n, bool types) {
    if (!array || n <= 0) return;
    const char* const bytes = reinterpret_cast<const char*>(array);
    arrays.push_back({{bytes, bytes + static_cast<size_t>(n) * sizeof *array}, types});
    words[at] = reinterpret_cast<int64_t>(arrays.back().bytes.data());
  }
  template <class Handles>
  int* keep(Handles& handles) {
    kept.push_back(handles.take());
    return kept.back().empty() ? handles.data() : kept.back().data();
  }
};

/// The latest error codes of a rank that moves: another process knows no texts for them.
struct KeptErrors {
  struct KeptError {
    int code = MPI_SUCCESS;
    char text[MPI_MAX_ERROR_STRING] = "";
  };
  KeptError latest[4];
  uint32_t next = 0;
};

/// A buffer that the program has attached (MPI_Buffer_attach).
struct BsendBuffer {
  void* address = nullptr;
  int64_t bytes = 0;
};

/// What a call begins that all members of a communicator begin.
struct NextCollective {
  enum class Begins : uint8_t {
    kNone,
    kBlocking,
    kNonblocking,
    kFree,
    kStart,
    kFreeRequest,
    kShared
  };
  Begins kind = Begins::kNone;
  MPI_Comm comm = MPI_COMM_NULL;            ///< virtual
  const VirtualRequest* request = nullptr;  ///< kStart, kFreeRequest
  const SharedObject* object = nullptr;     ///< kShared: a window or file
};

/// Processor time of a process, ns.
struct ProcessorTimes {
  int64_t all = 0, user = 0, system = 0;
  void add(const ProcessorTimes& other, int64_t sign) {
    all += sign * other.all;
    user += sign * other.user;
    system += sign * other.system;
  }
};

struct LayerRank {
  ObjectTable<VirtualComm, Object::kComm> comms;
  ObjectTable<VirtualGroup, Object::kGroup> groups;
  ObjectTable<VirtualType, Object::kDatatype> types;
  ObjectTable<VirtualCallbacks, Object::kOp> ops;
  ObjectTable<VirtualCallbacks, Object::kKeyval> keyvals;
  ObjectTable<VirtualCallbacks, Object::kErrhandler> errhandlers;
  ObjectTable<VirtualInfo, Object::kInfo> infos;
  ObjectTable<VirtualMessage, Object::kMessage> messages;
  ObjectTable<VirtualRequest, Object::kRequest> requests;
  ObjectTable<VirtualFile, Object::kFile> files;
  ObjectTable<VirtualWin, Object::kWin> windows;
  ObjectTable<VirtualSession, Object::kSession> sessions;

  MPI_Comm layer = MPI_COMM_NULL;  ///< the layer's duplicate of MPI_COMM_WORLD
  MPI_Comm self =
      MPI_COMM_NULL;  ///< and of MPI_COMM_SELF, over which stored messages are delivered
  int world_rank = 0;
  bool initialised = false;
  void* tool_word = nullptr;  ///< of a tool in front of the layer (base/moves_link.h)
  uint32_t home = 0;          ///< the process in which it has begun
  int home_process = 0;       ///< that one's number in the system
  /// Where ranks move: what the processes that it has left had used by then, minus what those to
  /// which it has come had.
  ProcessorTimes times_before;
  std::unique_ptr<KeptErrors> errors;  ///< where ranks move
  uint64_t random_state = 0;           ///< of the mode of tests in which ranks move (moves.h)
  bool has_deputy = false;  ///< which calls MPI for it (deputy.h), once the rank has begun MPI

  // Stops of the job (stop.h).
  enum class Place : uint8_t { kRuns, kWaits, kPauses };
  Place place = Place::kRuns;
  bool released = false;       ///< a pause ends for one call
  uint32_t round = 0;          ///< of the latest stop that it has been through
  uint32_t called_by_mpi = 0;  ///< functions of the program that MPI has called and that run
  void* wait = nullptr;        ///< while it waits or pauses: how to end that
  const char* call = nullptr;  ///< the call in front of which, or in which, it has stopped
  NextCollective next;
  std::vector<uint64_t> freed_keys;  ///< communicators that it has freed lately
  uint64_t freed_sum = 0;            ///< part of collectives_begun() of all that it has freed

  uint64_t sent = 0, taken = 0;  ///< messages between ranks
  uint64_t errors_handled = 0;   ///< times that an error handler has made a success of an error
  std::list<StoredMessage> stored;
  BsendBuffer buffer;
  uint64_t next_order = 0;
  BegunCollectives world_begun;
  uint64_t world_weight = 0;    ///< as VirtualComm's, of MPI_COMM_WORLD
  uint32_t freed_requests = 0;  ///< those that the program has freed while they were active

  std::vector<RegisteredRepresentation> representations;
  MPI_Errhandler file_errors = MPI_ERRORS_RETURN;  ///< of MPI_FILE_NULL, virtual, while described

  // What a checkpoint cannot hold yet.
  int opened_groups = 0;
  uint32_t kept_by_calls = 0;  ///< CheckpointHooks::keeps
  bool other_jobs = false, comm_buffers = false, session_buffers = false, own_errors = false;

  /// Attribute functions do not call the program: objects are taken apart, or made anew.
  bool quiet = false;
  uint32_t restarts = 0;             ///< how often the rank has gone on in other processes
  uint64_t before_remake = 0;        ///< collectives until the test mode makes objects anew
  uint64_t before_move = 0;          ///< and until it gives or takes the rank's deputy
  uint64_t remade = 0, refused = 0;  ///< how often it has

  // How the rank goes on after it was saved (save.h).
  RankRoot root;
  void* goes_on_at[5] = {};  ///< the frame of save(), by __builtin_setjmp()
  fenv_t modes = {};
  bool begins_again = false;          ///< MPI was initialised once more, and objects are made
  LayerRank* next_stopped = nullptr;  ///< of the ranks of the process that wait to be saved
  PredefinedComms predefined;
  int thread_level = MPI_THREAD_SINGLE;  ///< that MPI_Init has given
  /// While it is not null, a quiet delete function adds the attribute that it was called for.
  std::vector<StoredAttribute>* found = nullptr;
};

/// Makes a rank's state, and stores it in the rank's word.
LayerRank* begin_rank(void** word);
/// The running rank's state, which is made when it is first asked for; nullptr where no rank runs.
inline LayerRank* current_rank() {
  void** word = MPIX_Tool_word ? MPIX_Tool_word() : nullptr;
  if (!word) return nullptr;
  if (__builtin_expect(!*word, 0)) return begin_rank(word);
  return static_cast<LayerRank*>(*word);
}

// ---- From virtual handles to MPI's. What is no virtual handle is returned as it is; a virtual one
// without an object becomes a handle that MPI does not know.
int real_of(const LayerRank& rank, Object kind, int handle);
/// Is this the handle of an object that somebody has made, rather than a predefined or null one?
bool is_made(Object kind, int real);
/// Gives an object of MPI's a virtual handle; predefined and null handles stay as they are.
int add_object(LayerRank& rank, Object kind, int real);
/// The object of a virtual handle was freed.
void remove_object(LayerRank& rank, Object kind, int handle);
/// The virtual handle of an object of MPI's, in what the program's functions are called with.
int virtual_of(const LayerRank& rank, Object kind, int real);

/// A communicator that the program has got from MPI: makes a virtual handle, and finds its key.
MPI_Comm add_comm(LayerRank& rank, MPI_Comm real);
void remove_comm(LayerRank& rank, MPI_Comm comm);
/// MPI_Type_free of a virtual handle.
int free_type(LayerRank& rank, MPI_Datatype* type);
/// The communicator (virtual) of a request's operation; MPI_COMM_NULL where it has none.
inline MPI_Comm comm_of(const VirtualRequest& request) {
  const int at = kCommArguments[request.call];
  return at < 0 ? MPI_COMM_NULL : static_cast<MPI_Comm>(request.words[at]);
}
/// The operation (virtual) of a reduction; MPI_OP_NULL where there is none.
inline MPI_Op op_of(const VirtualRequest& request) {
  const int at = kOpArguments[request.call];
  return at < 0 ? MPI_OP_NULL : static_cast<MPI_Op>(request.words[at]);
}
/// The weight of a member in a sum over all members that is 0 where they have equal terms.
inline uint64_t weight_of(bool first, int members) {
  return first ? static_cast<uint64_t>(members) - 1 : ~uint64_t{0};
}
/// What stands for the count of collectives of a communicator that the rank has freed.
inline constexpr uint64_t kFreedCount = ~uint64_t{0};
/// MPI_COMM_WORLD among the keys of communicators.
inline constexpr uint64_t kWorldKey = ~uint64_t{0};
/// The numbers of the orders of collectives on a communicator, mixed with its key: after that of
/// nonblocking ones come those of persistent requests.
inline constexpr uint64_t kNonblockingOrder = 1;
/// The collectives of a communicator (virtual) that are counted; null for all others. *key: as
/// VirtualComm's; *weight: likewise.
BegunCollectives* begun_on(LayerRank& rank, MPI_Comm comm, uint64_t* key, uint64_t* weight);
/// The rank has freed a communicator or a persistent collective.
void note_freed(LayerRank& rank, uint64_t key, uint64_t weight);
/// Counts a collective operation of the communicator.
void count_collective(LayerRank& rank, MPI_Comm comm, bool blocking);

/// The real handles of an array of virtual ones.
template <Object kind>
class RealHandles {
 public:
  RealHandles(const LayerRank& rank, const int* handles, int64_t n) : program_(handles) {
    if (!handles || !std::any_of(handles, handles + std::max<int64_t>(n, 0), is_virtual)) return;
    real_.resize(static_cast<size_t>(n));
    for (size_t i = 0; i < real_.size(); ++i) real_[i] = real_of(rank, kind, handles[i]);
  }
  std::vector<int> take() { return std::move(real_); }
  /// Old calls of MPI have no const where they only read.
  int* data() { return real_.empty() ? const_cast<int*>(program_) : real_.data(); }

 private:
  const int* program_;
  std::vector<int> real_;
};

using watch::argument;
using watch::word;

}  // namespace fgmpi::checkpoint
