// Stand-ins: memory that replaces a member's buffers in a nonblocking or persistent collective
// (array sections of Fortran, src/fortran). A stand-in is filled from the buffers at the start, and
// emptied into them when the collective has completed.
//
// Few collectives have one, so stand-ins are stored beside the requests, which do not grow. Thread
// rule: one thread; nothing here switches.
#pragma once

#include <memory>

#include "pt2pt/pt2pt.h"

namespace fgmpi::coll {

class StandIn {
 public:
  virtual ~StandIn() = default;
  virtual void fill() = 0;
  virtual void empty() = 0;
};

/// Makes the request own a stand-in, to whose memory its arguments already refer. A nonblocking
/// collective was started with it filled, and may be complete; a persistent one fills it at each
/// start. REQUIRES: the request is a CollRequest.
void store_stand_in(pt2pt::Request* request, std::unique_ptr<StandIn> memory);

/// Called by CollRequest at its start and its end.
void fill_stand_in(const pt2pt::Request* request);
void drop_stand_in(const pt2pt::Request* request);

}  // namespace fgmpi::coll
