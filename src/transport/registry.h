// The registry of transports, in the order of preference.
//
// Each folder below this one is a transport and defines one `const Registration registration` in
// its namespace, which has the folder's name; CMake lists the folders, so nothing else names them.
//
// How src/mpi uses it: make_all(), open() each, publish each address through the bootstrap, fence,
// then for every peer take the first transport that reaches() the address which the peer published
// for it; its position in the list is the transport bit of the peer's address-vector element. When
// every peer is reached by the first (all processes can see that from the same addresses), the
// second need not be opened.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/transport.h"

namespace fgmpi::transport {

struct Registration {
  std::string_view name;  ///< lower-case letters; in FGMPI_TRANSPORT
  int preference;         ///< lower ones go first; no two are equal
  std::unique_ptr<Transport> (*make)();
  /// What may be shown of an address, which may have secrets in it: "ofi (tcp;ofi_rxm)".
  std::string (*describe)(const std::string& address);
};

/// So many can carry the messages of one job: the address-vector element has one bit for them.
inline constexpr size_t kMostTransports = 2;

/// Not yet opened transports in the order of FGMPI_TRANSPORT, a comma-separated list of at most
/// kMostTransports different names (default: those that are preferred: shm,ofi).
std::vector<std::unique_ptr<Transport>> make_all();

/// Is the transport of that name one of those?
bool is_wanted(std::string_view name);

/// The transport of that name; nullptr when there is none.
std::unique_ptr<Transport> make(std::string_view name);

/// What may be shown of an address of that transport.
std::string describe(const Transport& transport, const std::string& address);

/// One more transport, which is not in a folder here (those of the tests). Before make_all(); the
/// registration is kept. It goes behind all that are preferred more.
void add(const Registration& registration);

}  // namespace fgmpi::transport
