// Extras: what a member rarely sets on a communicator: name, attributes, info hints, its own
// neighbours in a distributed graph. Allocated on first use, so an ordinary communicator pays one
// null pointer. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/comm.h"
#include "comm/debug_names.h"

namespace fgmpi::comm {

/// A cached attribute; values are kept as the widest of pointer and address-sized integer.
struct Attribute {
  int keyval;
  uint8_t kind;  ///< how it was set: attr.h
  void* value;
};
/// In the order they were set. Each stays where it is: C reads an integer by its address, which
/// must hold until the attribute is deleted, whatever else is set and deleted meanwhile.
using Attributes = std::list<Attribute>;

/// Neighbours of this member in a distributed graph topology (MPI-4.0 section 8.5.4).
struct Neighbors {
  std::vector<int32_t> sources, destinations;
  std::vector<int32_t> source_weights, destination_weights;
  bool weighted = false;
};

/// What a layer above keeps with a member's communicator.
struct KeptWithComm {
  virtual ~KeptWithComm() = default;
};

struct Extras {
  std::string name;
  bool named = false;
  ShownName shown;  ///< `name`, for readers of memory
  Attributes attributes;
  std::vector<std::pair<std::string, std::string>> info;  ///< hints given, as set
  std::unique_ptr<Neighbors> neighbors;
  std::unique_ptr<KeptWithComm> opened;  ///< opened groups (mpi/opened.h)
};

/// The extras of a communicator, made when missing.
Extras& extras(Comm* comm);
void set_name(Comm* comm, const char* name);
/// The name set, else the predefined one, else "".
std::string name_of(const Comm* comm);

}  // namespace fgmpi::comm
