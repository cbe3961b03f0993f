// PredictedMachine: the machine for which mpiexec -predict computes times.
//
// A link is described by LogGP's parameters, which may change with the size of a message: latency
// L, overheads o_s and o_r of sender and receiver, gap g between messages, gap G a byte. mpiexec
// reads the user's JSON file (src/readers/prediction) and gives the processes a text of plain
// lines, which this file writes and reads:
//
//   ranks_per_node 16
//   placement block
//   eager inside 65536
//   piece between 0 1500 300 400 200 0.08      from byte, L, o_s, o_r, g (ns), G (ns a byte)
//   collective 12 7 2048                       coll::CollectiveKind, ScheduleAlgorithm, from byte
//   ...
//
// Source: Alexandrov, Ionescu, Schauser, Scheiman, "LogGP", SPAA 1995. Thread rule: values; nothing
// here switches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "predict/collective_rules.h"
#include "predict/topology.h"
#include "predict/virtual_time.h"

namespace fgmpi::predict {

/// LogGP's parameters from a size on.
struct LinkPiece {
  uint64_t from_bytes = 0;
  VirtualTime latency = 0, send_overhead = 0, receive_overhead = 0, gap = 0;
  double per_byte = 0;  ///< picoseconds a byte
};

/// A class of links: all within nodes, or all between them.
struct LinkClass {
  /// At least one, the first from 0 bytes, ascending.
  std::vector<LinkPiece> pieces;
  /// Longer messages wait for their receive before their data is sent.
  uint64_t eager_bytes = 65'536;
  const LinkPiece& piece(uint64_t bytes) const {
    const LinkPiece *piece = &pieces.back(), *const first = pieces.data();
    while (piece != first && piece->from_bytes > bytes) --piece;
    return *piece;
  }
};
/// How long the bytes of a transfer take to pass a port.
inline VirtualTime data_time(const LinkPiece& piece, uint64_t bytes) {
  return static_cast<VirtualTime>(
      static_cast<double>(static_cast<int64_t>(bytes)) * piece.per_byte + 0.5);
}
/// How long a transfer keeps a port busy.
inline VirtualTime occupancy(const LinkPiece& piece, uint64_t bytes) {
  return std::max(data_time(piece, bytes), piece.gap);
}

enum class NodePlacement : uint8_t { kBlock, kCyclic };
/// What computing takes: what is measured, what is typical of what is measured (typical_times.h),
/// nothing, or what an earlier prediction has measured (computed_times.h).
enum class ComputeModel : uint8_t { kMeasured, kTypical, kNone, kRepeated };
/// Where transfers wait for each other: at the ports of both nodes, one after the other, or on each
/// link of their way, of which each has a share.
enum class ContentionModel : uint8_t { kEnds, kLinks };

/// What files cost; 0: nothing.
struct FileSystem {
  double client_per_byte = 0,
         all_per_byte = 0;  ///< picoseconds a byte: of a client, of all together
  VirtualTime open = 0;
  /// Do accesses take time?
  bool moves() const { return client_per_byte + all_per_byte > 0; }
};

/// The memory of a node, which its cores share.
struct MemoryShare {
  double node_gb_s = 0, core_gb_s = 0;  ///< 0: what all cores of a node want is there
  double part = 0;                      ///< of computing that waits for memory, on a core alone
  /// How much longer computing takes when so many ranks of a node compute.
  double stretch(uint32_t ranks) const {
    const double wanted = node_gb_s > 0 ? ranks * core_gb_s / node_gb_s : 0;
    return 1 + part * (std::max(wanted, 1.0) - 1);
  }
};

struct PredictedMachine {
  std::string name = "machine";
  uint32_t nodes = 0;  ///< 0: as many as the ranks need
  int nodes_line = 0;  ///< the line of `count` in the file, for mpiexec's errors
  uint32_t ranks_per_node = 1;
  NodePlacement placement = NodePlacement::kBlock;
  /// Where a file places the ranks: the node of each.
  std::vector<uint32_t> placed;
  LinkClass inside, between;
  TopologyShape topology;
  ContentionModel contention = ContentionModel::kEnds;
  /// Whether long messages move while their ranks compute.
  bool overlaps = true;
  /// So many bytes of a short message come while its receiver computes: sockets have room for them.
  uint64_t buffered_bytes = UINT64_MAX;
  ComputeModel compute = ComputeModel::kMeasured;
  bool keeps_times = false;   ///< what is measured is written to a file (computed_times.h)
  double compute_factor = 1;  ///< virtual time of computing for each second that is measured
  MemoryShare memory;
  FileSystem files;
  std::vector<CollectiveRule> collectives;
  bool explains = false;         ///< the critical path is kept
  double reduce_per_byte = 100;  ///< picoseconds to combine one byte in a reduction

  bool needs_places() const { return explains || compute == ComputeModel::kTypical; }
  /// REQUIRES: `placed` is empty, or has the rank.
  uint32_t node_of(uint32_t rank, uint32_t ranks) const {
    if (!placed.empty()) return placed[rank];
    const uint32_t used = (ranks + ranks_per_node - 1) / ranks_per_node;
    return placement == NodePlacement::kBlock ? rank / ranks_per_node : rank % used;
  }
  const LinkClass& link(uint32_t from_node, uint32_t to_node) const {
    return from_node == to_node ? inside : between;
  }

  std::string to_text() const;
  /// Errors: MPI_ERR_ARG, which names the line: the text is not of this library's version.
  static Status from_text(const std::string& text, PredictedMachine* out);
};

}  // namespace fgmpi::predict
