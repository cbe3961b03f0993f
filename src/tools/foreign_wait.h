// What a rank of another process waits for in point-to-point, read from that process's memory: the words of the deadlock
// report (pt2pt/sites.h), without names that the program has given to communicators.
//
// The process runs meanwhile: what is read may be half of one wait and half of the next. Nothing that is read is followed
// without being read by `read` again, and no count is believed beyond kMostRequests.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "pt2pt/sites.h"

namespace fgmpi::tools {

/// Reads memory of the process; false where there is none.
using ReadMemory = std::function<bool(uint64_t address, void* out, size_t bytes)>;
/// "to rank 5" of what the process calls <process, local index>.
using NamePeer = std::function<std::string(const pt2pt::Peer&)>;

class ForeignWaits {
 public:
  /// `table`: the process's fgmpi_site_table.
  ForeignWaits(ReadMemory read, NamePeer name, const pt2pt::SiteTable& table)
      : read_(std::move(read)), name_(std::move(name)), table_(table) {}
  /// The process's library has the layout that this program knows.
  bool readable() const;
  /// Of the site at this address; "" where it is of another kind, or changes meanwhile.
  std::string words(uint64_t site) const;

 private:
  static constexpr size_t kMostRequests = 10'000;
  std::string of_send(const pt2pt::SendOp& send) const;
  std::string of_requests(const pt2pt::RequestsSite& site) const;
  std::string of_request(uint64_t request, const std::string& waits_in) const;
  std::string text(uint64_t address) const;

  ReadMemory read_;
  NamePeer name_;
  pt2pt::SiteTable table_;
};

}  // namespace fgmpi::tools
