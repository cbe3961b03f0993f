// Objects in terms of the job: what they are made of, asked from MPI when a checkpoint is taken,
// and how they are made again from that, in any process that hosts the rank.
//
// Order. Members of a communicator make it together, each rank its communicators in the order of
// their keys: so no cycle of waiting ranks can arise. All else is local.
//
// Thread rule: a rank's. Functions on communicators may switch.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

#include "checkpoint/rank.h"
#include "host/internal.h"

namespace fgmpi::checkpoint {

// comms.cc ----------------------------------------------------------------------------------------
/// Returns false where the communicator has members outside of the job.
bool describe_comm(LayerRank& rank, VirtualComm* comm);
/// Describes a communicator that is never made again: MPI_COMM_WORLD, MPI_COMM_SELF.
void describe_predefined(LayerRank& rank, MPI_Comm comm, CommDescription* description);
/// The communicator's own things, which were described: handler, name, hints, attributes.
void restore_extras(LayerRank& rank, MPI_Comm real, const CommDescription& description);
/// Collective over its members; may switch.
void remake_comm(LayerRank& rank, VirtualComm* comm);
/// The members of a group as ranks of MPI_COMM_WORLD, MPI_UNDEFINED where one is of another job.
std::vector<int> world_ranks_of(const LayerRank& rank, MPI_Group group);
MPI_Group group_of(const LayerRank& rank, const std::vector<int>& world_ranks);
std::vector<std::pair<std::string, std::string>> contents_of(MPI_Info info);
MPI_Info info_of(const std::vector<std::pair<std::string, std::string>>& contents);
/// As world_ranks_of(), but an empty list for a group that is that of MPI_COMM_WORLD.
std::vector<int> members_of(const LayerRank& rank, MPI_Group group);
/// A communicator of these members, as members_of() tells them, who all make it and then give it
/// back. May switch.
class CommOfMembers {
 public:
  CommOfMembers(LayerRank& rank, const std::vector<int>& members);
  ~CommOfMembers();
  CommOfMembers(const CommOfMembers&) = delete;
  CommOfMembers& operator=(const CommOfMembers&) = delete;
  MPI_Comm real() const { return real_; }

 private:
  MPI_Comm real_ = MPI_COMM_NULL;
  bool made_ = false;
};

/// The error handler (virtual) that was set for a communicator or window (MPI's), or for its parent
/// before it was made; MPI_ERRHANDLER_NULL where none was.
MPI_Errhandler own_errhandler(const LayerRank& rank, int object);
void set_own_errhandler(const LayerRank& rank, int object, MPI_Errhandler errhandler);

// types.cc ----------------------------------------------------------------------------------------
bool is_permanent_type(MPI_Datatype real);
/// Is the type nested so often that its description would not fit a rank's stack?
bool is_too_deep(MPI_Datatype real);
void describe_type(LayerRank& rank, VirtualType* type);
void remake_type(LayerRank& rank, VirtualType* type);
TypeDescription::Node constructor_of(MPI_Datatype real);
/// A type that is made from a description, which give_back_type() frees where it is not predefined.
MPI_Datatype type_of(const TypeDescription::Node& constructor);
void give_back_type(MPI_Datatype* real);

// callbacks.cc ------------------------------------------------------------------------------------
int make_operation(Callbacks* calls, MPI_Op* real);
int make_keyval(Callbacks* calls, int* real);
int make_errhandler(Callbacks* calls, MPI_Errhandler* real);

// requests.cc -------------------------------------------------------------------------------------
void free_requests_left(LayerRank& rank);

// life.cc -----------------------------------------------------------------------------------------
/// Collective over all ranks.
void make_own_comms(LayerRank& rank);
void free_own_comms(LayerRank& rank);
/// The rank goes on in another process: MPI is initialised once more.
void begin_again(LayerRank& rank);
/// MPI's functions that mpi.h does not declare.
struct InternalFunctions {
  decltype(&MPII_Keyval_set_proxy) keyval_set_proxy;
  decltype(&MPII_Errhandler_set_cxx) errhandler_set_cxx;
  decltype(&MPII_Grequest_set_lang_f77) grequest_set_lang_f77;
  decltype(&MPII_Comm_get_attr) comm_get_attr;
  decltype(&MPII_Comm_set_attr) comm_set_attr;
  decltype(&MPII_Type_get_attr) type_get_attr;
  decltype(&MPII_Type_set_attr) type_set_attr;
  decltype(&MPII_Win_get_attr) win_get_attr;
  decltype(&MPII_Win_set_attr) win_set_attr;
  /// Where the library has the value of MPI_UNWEIGHTED. A reference to it by its name would end all
  /// programs without MPI that load the layer.
  int** unweighted_at;
  int* unweighted() const { return *unweighted_at; }
};
const InternalFunctions& next_internal();
InternalFunctions* internal_functions();

// checkpoint.cc -----------------------------------------------------------------------------------
/// FGMPI_CHECKPOINT: null, or a mode for tests.
void read_mode(const char* text);
/// In the test mode that stops the job at random moments, process 0 begins to do so.
void start_asking(const LayerRank& rank);
/// In a test mode that asks for it, rank 0 says how often all objects were made anew.
void report_remade(const LayerRank& rank);

/// Attributes of an object: finds them by deleting them, without a word to the program.
template <class Delete>
std::vector<StoredAttribute> take_attributes(LayerRank& rank, Callbacks::Form form,
                                             Delete&& remove) {
  std::vector<StoredAttribute> found;
  rank.found = &found;
  rank.keyvals.for_each([&](int, VirtualCallbacks* keyval) {
    if (keyval->calls->form == form) remove(keyval->real);
  });
  rank.found = nullptr;
  return found;
}

}  // namespace fgmpi::checkpoint
