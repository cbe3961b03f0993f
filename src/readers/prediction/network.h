// The section "network" of a machine's file: the topology between its nodes.
//
// Thread rule: values; nothing here switches.
#pragma once

#include "base/status.h"
#include "predict/topology.h"
#include "readers/prediction/json_keys.h"

namespace fgmpi::predict {

/// Errors: MPI_ERR_ARG, which names the line, the key, its value and what is allowed; also where
/// the nodes of a graph are not connected.
Status read_network(const JsonKeys& keys, const JsonValue& network, TopologyShape* out);

}  // namespace fgmpi::predict
