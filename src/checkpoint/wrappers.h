// What the generated wrappers call. Thread rule: a rank's; functions that begin or end an operation
// may switch, as the operation may.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "checkpoint/rank.h"
#include "watch/interpose.h"

/// A function and its profiling name, which both lead to the layer: a program that calls the latter
/// has virtual handles, too.
#define FGMPI_BOTH(name, parameters, called)    \
  EXPORT int name parameters { return called; } \
  EXPORT int P##name parameters { return called; }

namespace fgmpi::checkpoint {

// ---- Lengths of arrays of handles
/// The ranks that a rank of the communicator (virtual) sends to.
int ranks_of(const LayerRank& rank, MPI_Comm comm);
/// Are arrays with one element a rank significant at this rank?
bool is_root(const LayerRank& rank, MPI_Comm comm, int root);
/// In- and outdegree of the rank in the communicator's topology.
std::pair<int, int> neighbors_of(const LayerRank& rank, MPI_Comm comm);

/// A duplicate of a type is committed where the type is.
inline void copy_committed(const LayerRank& rank, MPI_Datatype from, MPI_Datatype to) {
  const VirtualType* type = rank.types.find(from);
  if (VirtualType* made = rank.types.find(to)) made->committed = !type || type->committed;
}

// ---- Requests
template <size_t n>
void keep_words(VirtualRequest* request, Calls call, const int64_t (&words)[n], bool persistent) {
  static_assert(n <= kMostArguments);
  request->call = call;
  request->persistent = persistent;
  request->active = !persistent;
  std::copy(words, words + n, request->words);
}

/// The request's operation begins again, by the arguments that were kept.
template <class... Parameters>
int start_again(int (*start)(LayerRank*, VirtualRequest*, Parameters...), LayerRank* rank,
                VirtualRequest* request) {
  request->kept.clear();
  return [&]<size_t... i>(std::index_sequence<i...>) {
    return start(rank, request, argument<Parameters>(request->words[i])...);
  }
  (std::index_sequence_for<Parameters...>{});
}

/// Returns the virtual handle of a request that has begun (or was made, a persistent one).
MPI_Request add_request(LayerRank& rank, std::unique_ptr<VirtualRequest> request);
/// Does only the program complete the request (MPI_Grequest_start)?
bool is_generalized(const VirtualRequest& request);
/// The request is no longer the program's nor MPI's.
void remove_request(LayerRank& rank, MPI_Request request);

/// A rank that goes on in another process has its errors' texts there, too.
void describe_error(RequestOutcome* outcome);
void remake_error(RequestOutcome* outcome);

/// A withdrawn or inactive receive takes a stored message, where there is one for it, and is
/// complete.
bool take_stored(LayerRank& rank, VirtualRequest* request);
/// A blocking operation has been interrupted: it becomes a request, and is waited for. May switch.
int wait_later(LayerRank& rank, const char* call, VirtualRequest&& made, MPI_Status* status);
/// Waits for the receive and the send of an exchange, or ends the former where the latter could not
/// begin (`code`). May switch.
int wait_exchange(LayerRank& rank, const char* call, MPI_Request (&requests)[2], int code,
                  MPI_Status* status);

// ---- Counts of messages, and of collective operations
/// A blocking collective operation of the communicator (virtual) is about to begin. In the test
/// mode all objects may be made anew here.
void before_collective(LayerRank& rank, MPI_Comm comm);
/// A receive has returned this code and status.
void count_taken(LayerRank& rank, int code, const MPI_Status* status);

// ---- Messages that were taken in when a checkpoint was made. They come before all that are still
// in MPI, as they were sent earlier.
const StoredMessage* find_stored_message(const LayerRank& rank, MPI_Comm comm, int source, int tag);
inline const StoredMessage* find_stored(const LayerRank& rank, MPI_Comm comm, int source, int tag) {
  if (__builtin_expect(rank.stored.empty(), 1)) return nullptr;
  return find_stored_message(rank, comm, source, tag);
}
/// MPI_Recv of a stored message. `datatype` is virtual.
int deliver_stored(LayerRank& rank, const StoredMessage* message, void* buffer, MPI_Count count,
                   MPI_Datatype datatype, MPI_Status* status);
/// MPI_Probe and MPI_Iprobe; `flag` may be null.
int tell_stored(const StoredMessage& message, int* flag, MPI_Status* status);
int match_stored(LayerRank& rank, const StoredMessage* message, int* flag, MPI_Message* handle,
                 MPI_Status* status);
/// How a receive that takes a stored message ends.
std::unique_ptr<RequestOutcome> outcome_with_stored(LayerRank& rank, const StoredMessage* message,
                                                    void* buffer, MPI_Count count,
                                                    MPI_Datatype datatype);
/// MPI_Irecv of a stored message.
int start_with_stored(LayerRank& rank, const StoredMessage* message, void* buffer, MPI_Count count,
                      MPI_Datatype datatype, Calls call, MPI_Request* request);
/// MPI_Sendrecv_replace, whose send reads a copy of the buffer. Both have forms for large counts.
int replace(LayerRank& rank, const char* call, void* buf, MPI_Count count, MPI_Datatype datatype,
            int dest, int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status* status);

/// Makes a request of MPI's that is complete, with the request's outcome.
void make_complete(VirtualRequest* request);

}  // namespace fgmpi::checkpoint
