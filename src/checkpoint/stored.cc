// Messages that were taken in before the program has received them: finding and delivering them.
//
// A message is delivered by sending its bytes to the rank itself, so that MPI unpacks it into any
// datatype, cuts what is too long, and counts elements.
#include "checkpoint/deputy.h"
#include "checkpoint/describe.h"
#include "checkpoint/here.h"
#include "checkpoint/wrappers.h"

namespace fgmpi::checkpoint {
namespace {

bool is_wanted(const StoredMessage& message, MPI_Comm comm, int source, int tag) {
  return message.comm == comm && (source == MPI_ANY_SOURCE || source == message.source) &&
         (tag == MPI_ANY_TAG || tag == message.tag);
}

/// Stores a message's envelope and size in a status; its MPI_ERROR stays.
void fill_status(const StoredMessage& message, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = message.source;
  status->MPI_TAG = message.tag;
  g_next.MPI_Status_set_cancelled(status, 0);
  g_next.MPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(message.data.size()));
}

/// Removes the message from the list and returns it.
StoredMessage take(LayerRank& rank, const StoredMessage* message) {
  for (auto at = rank.stored.begin(); at != rank.stored.end(); ++at) {
    if (&*at != message) continue;
    StoredMessage taken = std::move(*at);
    rank.stored.erase(at);
    return taken;
  }
  return {};
}

/// The receive of a message that is in no list any more.
int deliver(LayerRank& rank, const StoredMessage& message, void* buffer, MPI_Count count,
            MPI_Datatype datatype, MPI_Status* status) {
  MPI_Status own;
  const int code =
      by_deputy("MPI_Recv", g_mpi.MPI_Sendrecv_c, message.data.data(),
                static_cast<MPI_Count>(message.data.size()), MPI_PACKED, 0, 0, buffer, count,
                real_of(rank, Object::kDatatype, datatype), 0, 0, rank.self, &own);
  if (status != MPI_STATUS_IGNORE) {
    const int error = status->MPI_ERROR;
    *status = own;
    status->MPI_ERROR = error;
    status->MPI_SOURCE = message.source;
    status->MPI_TAG = message.tag;
  }
  return code;
}

/// Calls the communicator's error handler where a receive has failed. Returns the code.
int handled(const LayerRank& rank, MPI_Comm comm, int code) {
  if (code != MPI_SUCCESS)
    g_next.MPI_Comm_call_errhandler(real_of(rank, Object::kComm, comm), code);
  return code;
}

}  // namespace

const StoredMessage* find_stored_message(const LayerRank& rank, MPI_Comm comm, int source,
                                         int tag) {
  for (const StoredMessage& message : rank.stored)
    if (is_wanted(message, comm, source, tag)) return &message;
  return nullptr;
}

int deliver_stored(LayerRank& rank, const StoredMessage* message, void* buffer, MPI_Count count,
                   MPI_Datatype datatype, MPI_Status* status) {
  const StoredMessage taken = take(rank, message);
  return handled(rank, taken.comm, deliver(rank, taken, buffer, count, datatype, status));
}

int tell_stored(const StoredMessage& message, int* flag, MPI_Status* status) {
  if (flag) *flag = 1;
  fill_status(message, status);
  return MPI_SUCCESS;
}

int match_stored(LayerRank& rank, const StoredMessage* message, int* flag, MPI_Message* handle,
                 MPI_Status* status) {
  if (flag) *flag = 1;
  fill_status(*message, status);
  VirtualMessage* made = nullptr;
  *handle = rank.messages.add(&made);
  made->comm = message->comm;
  made->stored = std::make_unique<StoredMessage>(take(rank, message));
  return MPI_SUCCESS;
}

std::unique_ptr<RequestOutcome> outcome_with_stored(LayerRank& rank, const StoredMessage* message,
                                                    void* buffer, MPI_Count count,
                                                    MPI_Datatype datatype) {
  auto outcome = std::make_unique<RequestOutcome>();
  outcome->code = deliver(rank, take(rank, message), buffer, count, datatype, &outcome->status);
  return outcome;
}

int start_with_stored(LayerRank& rank, const StoredMessage* message, void* buffer, MPI_Count count,
                      MPI_Datatype datatype, Calls call, MPI_Request* request) {
  auto made = std::make_unique<VirtualRequest>();
  keep_words(made.get(), call,
             {word(buffer), count, MPI_DATATYPE_NULL, message->source, message->tag, message->comm},
             false);
  made->outcome = outcome_with_stored(rank, message, buffer, count, datatype);
  make_complete(made.get());
  *request = add_request(rank, std::move(made));
  return MPI_SUCCESS;
}

namespace {

/// Packs a buffer, without an error handler's being called.
int pack(const void* buf, MPI_Count count, MPI_Datatype real, std::vector<char>* packed) {
  MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
  g_next.MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  g_next.MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Count bytes = 0, position = 0;
  int code = g_next.MPI_Pack_size_c(count, real, MPI_COMM_WORLD, &bytes);
  if (code == MPI_SUCCESS) {
    packed->resize(static_cast<size_t>(bytes));
    code = g_next.MPI_Pack_c(buf, count, real, packed->data(), bytes, &position, MPI_COMM_WORLD);
    packed->resize(static_cast<size_t>(position));
  }
  g_next.MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  g_next.MPI_Errhandler_free(&handler);
  return code;
}

}  // namespace

int replace(LayerRank& rank, const char* call, void* buf, MPI_Count count, MPI_Datatype datatype,
            int dest, int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  const MPI_Datatype real = real_of(rank, Object::kDatatype, datatype);
  std::vector<char> packed;
  if (pack(buf, count, real, &packed) != MPI_SUCCESS)  // MPI words the error
    return g_next.MPI_Sendrecv_replace_c(buf, count, g_real_here(rank, Object::kDatatype, datatype),
                                         dest, sendtag, source, recvtag,
                                         g_real_here(rank, Object::kComm, comm), status);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int code = MPI_Irecv_c(buf, count, datatype, source, recvtag, comm, &requests[0]);
  if (code == MPI_SUCCESS)
    code = MPI_Isend_c(packed.data(), static_cast<MPI_Count>(packed.size()), MPI_PACKED, dest,
                       sendtag, comm, &requests[1]);
  return wait_exchange(rank, call, requests, code, status);
}

namespace {

/// A matched message that was taken in, which is no longer in the table; nullptr where MPI has it.
std::unique_ptr<StoredMessage> take_matched(LayerRank* rank, MPI_Message* handle) {
  VirtualMessage* found = rank && handle ? rank->messages.find(*handle) : nullptr;
  if (!found || !found->stored) return nullptr;
  std::unique_ptr<StoredMessage> stored = std::move(found->stored);
  rank->messages.remove(*handle);
  *handle = MPI_MESSAGE_NULL;
  return stored;
}

int receive_matched(void* buffer, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                    MPI_Status* status) {
  LayerRank* rank = current_rank();
  if (!rank || !message) return g_next.MPI_Mrecv_c(buffer, count, datatype, message, status);
  if (const auto stored = take_matched(rank, message))
    return handled(*rank, stored->comm, deliver(*rank, *stored, buffer, count, datatype, status));
  MPI_Message real = real_of(*rank, Object::kMessage, *message);
  const int code = g_next.MPI_Mrecv_c(
      buffer, count, g_real_here(*rank, Object::kDatatype, datatype), &real, status);
  if (real == MPI_MESSAGE_NULL) {
    remove_object(*rank, Object::kMessage, *message);
    *message = MPI_MESSAGE_NULL;
  }
  return code;
}

int start_matched(void* buffer, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                  MPI_Request* request) {
  LayerRank* rank = current_rank();
  if (!rank || !message || !request)
    return g_next.MPI_Imrecv_c(buffer, count, datatype, message, request);
  auto made = std::make_unique<VirtualRequest>();
  if (const auto stored = take_matched(rank, message)) {
    keep_words(made.get(), kCall_MPI_Imrecv_c, {word(buffer), count}, false);
    made->outcome = std::make_unique<RequestOutcome>();
    made->outcome->code = deliver(*rank, *stored, buffer, count, datatype, &made->outcome->status);
    make_complete(made.get());
    *request = add_request(*rank, std::move(made));
    return MPI_SUCCESS;
  }
  keep_words(made.get(), kCall_MPI_Imrecv_c, {word(buffer), count, int64_t{datatype}}, false);
  MPI_Message real = real_of(*rank, Object::kMessage, *message);
  const int code = g_next.MPI_Imrecv_c(
      buffer, count, g_real_here(*rank, Object::kDatatype, datatype), &real, &made->real);
  if (code != MPI_SUCCESS) return code;
  if (real == MPI_MESSAGE_NULL) {
    remove_object(*rank, Object::kMessage, *message);
    *message = MPI_MESSAGE_NULL;
  }
  *request = add_request(*rank, std::move(made));
  return code;
}

}  // namespace
}  // namespace fgmpi::checkpoint

using namespace fgmpi::checkpoint;

#define FGMPI_MATCHED(name, suffix, Count)                                                         \
  EXPORT int name##Mrecv##suffix(void* buf, Count count, MPI_Datatype type, MPI_Message* message,  \
                                 MPI_Status* status) {                                             \
    return receive_matched(buf, count, type, message, status);                                     \
  }                                                                                                \
  EXPORT int name##Imrecv##suffix(void* buf, Count count, MPI_Datatype type, MPI_Message* message, \
                                  MPI_Request* request) {                                          \
    return start_matched(buf, count, type, message, request);                                      \
  }
FGMPI_MATCHED(MPI_, , int)
FGMPI_MATCHED(PMPI_, , int)
FGMPI_MATCHED(MPI_, _c, MPI_Count)
FGMPI_MATCHED(PMPI_, _c, MPI_Count)
