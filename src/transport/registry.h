// The registry of transports, in the order of preference.
//
// How src/mpi uses it: make_all(), open() each, publish each address through the bootstrap, fence,
// then for every peer take the first transport that reaches() the address which the peer published
// for it; its position in the list is the transport bit of the peer's address-vector element. When
// every peer is reached by shm (all processes can see that from the same addresses), the next ones
// need not be opened.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "transport/transport.h"

namespace fgmpi::transport {

/// Not yet opened transports in the order of FGMPI_TRANSPORT, a comma-separated list of "shm" and
/// "ofi" (default: shm,ofi; what was not compiled in is left out of the default). A bad value is an
/// error that names it and what is allowed.
Status make_all(std::vector<std::unique_ptr<Transport>>* out);

}  // namespace fgmpi::transport
