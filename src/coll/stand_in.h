// Stand-ins: memory that takes the place of a member's buffers in a nonblocking or persistent
// collective (array sections of Fortran, src/fortran). It is filled from the buffers at the start,
// and emptied into them when the collective has completed.
//
// Few collectives have one, so they are kept beside the requests, which do not grow. Thread rule:
// one thread; nothing here switches.
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

/// The arguments of the request name memory of `memory`, until it is destroyed. A nonblocking
/// collective was started with it filled, and may be complete; a persistent one fills it at each
/// start. REQUIRES: the request is a CollRequest.
void keep_stand_in(pt2pt::Request* request, std::unique_ptr<StandIn> memory);

/// What CollRequest calls at its start and its end.
void fill_stand_in(const pt2pt::Request* request);
void drop_stand_in(const pt2pt::Request* request);

}  // namespace fgmpi::coll
