// CallTimes: adds time to what a rank does: to its record, and to the tables of its process.
//
// The sampler adds the time since its last look, PredictedTimes that of the predicted machine.
// Thread rule: one thread of the process.
#pragma once

#include "profile/recorder.h"

namespace fgmpi::report {

class CallTimes {
 public:
  explicit CallTimes(ProfileHeader* header)
      : header_(header), sites_(header, header->site_parts, &header->sites) {}

  /// The rank was in the call for `ns`: also to the sites and to the family of its communicator.
  void add_to_call(RankRecord* r, uint16_t call, uint64_t ns);
  /// The rank waited for a peer (RankRecord::peer).
  void add_to_peer(RankRecord* r, int32_t peer, uint64_t ns);

  uint32_t random(uint32_t below) {
    chance_ = chance_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(chance_ >> 33) % below;
  }

 private:
  void add_to_site(uint64_t site, uint16_t call, uint64_t ns);
  /// Adds the time in the header's unit, rounded at random so that sums are right.
  void add_time(uint32_t* sum, uint64_t ns);
  void double_unit();

  ProfileHeader* header_;
  RecordTable<SiteRecord, kSites, kSitesInPart> sites_;
  uint64_t chance_ = 1;
};

}  // namespace fgmpi::report
