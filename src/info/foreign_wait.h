// What a rank of another process waits for in point-to-point, read from that process's memory: the
// words of the deadlock report (pt2pt/sites.h), and the communicator of a collective in which
// members of one process wait for each other.
//
// The process runs meanwhile: a read may return half of one wait and half of the next. So each
// address that such a read has returned is followed by another `read` only, never dereferenced, and
// no count above kMostRequests is used. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "comm/debug_names.h"
#include "pt2pt/sites.h"

namespace fgmpi::tools {

/// Reads memory of the process; returns false where the process has no memory at this address.
using ReadMemory = std::function<bool(uint64_t address, void* out, size_t bytes)>;
/// Names a peer, for instance "to rank 5", from the <process, local index> of the process that is
/// read.
using NamePeer = std::function<std::string(const pt2pt::Peer&)>;

/// The characters that words() puts before and after the number of a peer: kWorldRank around a
/// world rank, kCommRank around a rank in another communicator.
constexpr char kWorldRank = '\2', kCommRank = '\3';

class ForeignWaits {
 public:
  /// `table`, `comms`: the process's fgmpi_site_table and fgmpi_comm_table.
  ForeignWaits(ReadMemory read, NamePeer name, const pt2pt::SiteTable& table,
               const comm::CommTable& comms);
  /// True where the process's library has the layout that this program was compiled with.
  bool readable() const;
  /// The words for the site at this address; "" where the site is of another kind, or changes
  /// meanwhile.
  std::string words(uint64_t site) const;

 private:
  static constexpr size_t kMostRequests = 10'000, kMostNames = 100'000;
  std::string of_communicator(uint64_t ctx) const;
  std::string of_pattern(const pt2pt::Envelope& pattern) const;
  std::string of_send(const pt2pt::SendOp& send) const;
  std::string of_requests(const pt2pt::RequestsSite& site) const;
  std::string of_request(uint64_t request, const std::string& waits_in) const;
  std::string text(uint64_t address) const;

  ReadMemory read_;
  NamePeer name_;
  pt2pt::SiteTable table_;
  comm::CommTable comms_;
  bool knows_comms_;
  std::map<uint64_t, std::string> names_;  ///< names that members have set, by context id
};

}  // namespace fgmpi::tools
