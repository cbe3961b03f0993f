// Extras: what a member rarely sets on a communicator: name, attributes, info hints, a buffer of
// buffered sends, its own neighbours in a distributed graph. Extras are allocated on first use, so
// an ordinary communicator pays one null pointer. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/comm.h"
#include "comm/debug_names.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::comm {

/// A cached attribute. Its value is stored in the wider of a pointer and an address-sized integer.
struct Attribute {
  int keyval;
  uint8_t kind;  ///< AttrKind: how it was set (attr.h)
  void* value;
};
/// The attributes in the order they were set. Each has a fixed address: C reads an integer by
/// its address, which must hold until the attribute is deleted, whatever else is set and
/// deleted meanwhile.
using Attributes = std::list<Attribute>;

/// Neighbours of this member in a distributed graph topology (MPI-4.0 section 8.5.4).
struct Neighbors {
  std::vector<int32_t> sources, destinations;
  std::vector<int32_t> source_weights, destination_weights;
  bool weighted = false;
};

/// An object that a layer above attaches to a member's communicator.
struct KeptWithComm {
  virtual ~KeptWithComm() = default;
};

struct Extras {
  std::string name;
  bool named = false;
  ShownName shown;  ///< `name`, for readers of memory
  Attributes attributes;
  std::vector<std::pair<std::string, std::string>> info;  ///< hints as the user set them
  std::unique_ptr<Neighbors> neighbors;
  pt2pt::BufferPlace buffer;
  std::unique_ptr<KeptWithComm> opened;  ///< opened groups (mpi/coll/opened.h)
};

/// The extras of a communicator; makes them when they are missing.
Extras& extras(Comm* comm);
void set_name(Comm* comm, const char* name);
/// The name that was set, else the predefined one, else "".
std::string name_of(const Comm* comm);

}  // namespace fgmpi::comm
