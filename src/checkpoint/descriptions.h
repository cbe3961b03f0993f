// Descriptions of communicators and datatypes in terms of the job: what is needed to make equal
// ones in another process. Thread rule: a rank's.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

namespace fgmpi::checkpoint {

/// A value of a communicator's or type's attribute, in the language that has set it.
struct StoredAttribute {
  int keyval = 0;  ///< virtual
  int kind = 0;
  void* value = nullptr;
};

/// Ranks are those of MPI_COMM_WORLD, in the order of the group.
struct CommDescription {
  std::vector<int> members, remote;
  bool inter = false;
  int topology = MPI_UNDEFINED;
  std::vector<int> dims, periods;     ///< of a grid
  std::vector<int> index, edges;      ///< of a graph
  std::vector<int> sources, targets;  ///< of a distributed graph, with their weights
  std::vector<int> source_weights, target_weights;
  bool weighted = false;
  std::string name;
  MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;  ///< virtual; null: none was set
  bool answers = false;  ///< MPI_COMM_SELF: for errors without an object, too
  std::vector<std::pair<std::string, std::string>> info;
  std::vector<StoredAttribute> attributes;
};

/// Communicators that are never made again.
struct PredefinedComms {
  CommDescription world, self;
};

/// How a type was made, as MPI_Type_get_contents tells it. A part that is predefined has no
/// constructor.
struct TypeDescription {
  struct Node {
    int combiner = MPI_COMBINER_NAMED;
    MPI_Datatype predefined = MPI_DATATYPE_NULL;
    std::vector<int> integers;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Count> counts;
    std::vector<Node> parts;
  };
  Node root;
  std::string name;
  std::vector<StoredAttribute> attributes;
};

}  // namespace fgmpi::checkpoint
