// The registry of transports, in the order of preference.
//
// Each folder below this one is a transport and defines one `const Registration registration` in
// its namespace, which has the folder's name; CMake lists the folders, so nothing else names them.
//
// How src/mpi uses it: it calls make_all(), opens each transport, publishes each address through
// the bootstrap, and fences. Then, for every peer, it chooses the first transport that reaches()
// the address which the peer published for it. The position of that transport in the list is the
// transport bit of the peer's address-vector element. When the first transport reaches every peer
// (all processes find this from the same addresses), the second need not be opened.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/transport.h"

namespace fgmpi::transport {

struct Registration {
  std::string_view name;  ///< lower-case letters; used in FGMPI_TRANSPORT
  int preference;         ///< lower values come first; no two are equal
  std::unique_ptr<Transport> (*make)();
  /// The part of an address that may be shown, since an address may contain secrets: "ofi
  /// (tcp;ofi_rxm)".
  std::string (*describe)(const std::string& address);
};

/// A job may use at most this many: the address-vector element has one bit to choose one.
inline constexpr size_t kMostTransports = 2;

/// Makes the transports of FGMPI_TRANSPORT in their order, not yet opened. The setting is a
/// comma-separated list of at most kMostTransports different names (default: the preferred
/// ones, shm,ofi).
std::vector<std::unique_ptr<Transport>> make_all();

/// Words for each transport that this build lacks, with the library that it needs; empty where it
/// has all.
std::string lacking();

/// Is the transport of that name one of those in FGMPI_TRANSPORT?
bool is_wanted(std::string_view name);

/// Makes the transport of that name; nullptr when there is none.
std::unique_ptr<Transport> make(std::string_view name);

/// The part of an address of that transport that may be shown.
std::string describe(const Transport& transport, const std::string& address);

/// Adds a transport that is not in a folder here (those of tests), behind all with a lower
/// preference value. The registration is copied. REQUIRES: called before make_all().
void add(const Registration& registration);

}  // namespace fgmpi::transport
