// Calibration: LogGP's parameters from measured times of messages, and the file of a machine.
//
// A message of m bytes that is alone on its link takes, in the model of src/predict,
//
//   eager        o_s + L + G m + o_r
//   rendezvous   o_s + L_0 + L_0 + L + G m + o_r    L_0: of the envelope and of its permission
//
// with parameters that are constant from one number of bytes to the next one (pieces). A piece is a
// straight line through the measured times; where pieces begin is chosen so that the lines are near
// all times, with few pieces.
//
// Thread rule: values; nothing here switches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "predict/machine.h"

namespace fgmpi::predict {

/// Times of messages with so many bytes, ns.
struct LinkSample {
  uint64_t bytes = 0;
  double one_way = 0;   ///< from the begin of the send to the end of the receive
  double send = 0;      ///< of a send that waits for nobody; 0: it waits
  double receive = 0;   ///< of a receive whose message has arrived
  double interval = 0;  ///< between messages that follow each other
};

/// What was measured of a class of links.
struct MeasuredLinks {
  std::vector<LinkSample> samples;  ///< by ascending bytes
  uint64_t eager_bytes = 0;
  bool overlaps = true;  ///< a long message moves while its ranks compute
  /// The bytes of an eager message that come while its receiver computes; UINT64_MAX: all.
  uint64_t buffered_bytes = UINT64_MAX;
  double reduction = 0;  ///< bytes that are combined in a nanosecond; 0: not measured
};

/// Reads what fgmpi-calibrate prints; other lines are left out. Several peers become one, by the
/// median of their times. Errors: MPI_ERR_ARG: its last line is missing, or there is no sample.
Status read_measured_links(const std::string& text, MeasuredLinks* out);

/// Finds the parameters. REQUIRES: there is a sample.
LinkClass fit_links(const MeasuredLinks& measured);
/// The time of a message that is alone on its link in the model, ns.
double one_way_ns(const LinkClass& links, uint64_t bytes);

/// A host of a host file, and how many ranks it runs; 0: the file does not say.
struct CalibratedHost {
  std::string name;
  uint32_t ranks = 0;
};
/// Reads lines of "host" or "host:ranks"; # begins a comment. A host that is named again has so
/// many ranks more. Errors: MPI_ERR_ARG, which names the line.
Status read_host_file(const std::string& text, const std::string& name,
                      std::vector<CalibratedHost>* out);

/// The JSON file of a machine. `between`: nullptr: one node was measured.
struct MeasuredMachine {
  std::string name;
  uint32_t nodes = 1, ranks_per_node = 1;
  MeasuredLinks inside;
  const MeasuredLinks* between = nullptr;
};
std::string machine_file_of(const MeasuredMachine& machine);

}  // namespace fgmpi::predict
