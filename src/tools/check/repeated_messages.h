// Sends and receives that the rank has made before, and the calls that wait for such (repeated.h).
//
// A nonblocking one leaves a Begun (rank.h). As soon as the rank makes a call that is not looked at here, or somebody asks what
// the rank waits for, make_operations() makes of all that has begun what Call would have made of it.
// Thread rule: as Call (call.h). Never switches.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "tools/check/repeated.h"

namespace fgmpi::check {

/// MPI_Send, MPI_Recv and MPI_Sendrecv.
class RepeatedMessage : public Repeated {
 public:
  using Repeated::Repeated;
  /// Before MPI makes the call; false: nothing was done, Call is to look at it.
  bool begin();
  /// MPI has made the call. REQUIRES: begin() has returned true.
  void after(int result);
  /// Where MPI is to write the status: the program's place, or one of our own.
  MPI_Status* status(MPI_Status* of_program);

 private:
  uint64_t message_ = 0;  ///< that it sends
  bool receives_ = false, status_read_ = false;
  bool taken_ = false;  ///< the receive of that has begun
  MPI_Status* told_ = nullptr;
  MPI_Status own_status_;
};

/// MPI_Isend, or MPI_Irecv.
template <bool kSends>
class RepeatedStart : public Repeated {
 public:
  using Repeated::Repeated;
  /// Before MPI makes the call; false: nothing was done, Call is to look at it.
  bool begin();
  void after(int result);

 private:
  bool taken_ = false;
  uint64_t id_ = 0;  ///< Begun::id
};

/// MPI_Wait and MPI_Waitall.
class RepeatedWait : public Repeated {
 public:
  using Repeated::Repeated;
  /// Before MPI makes the call; false: nothing was done, Call is to look at it.
  bool begin();
  ~RepeatedWait();
  void after(int result);
  /// What has begun is about to be made operations: they will be completed as by Call. Returns the requests that it was given.
  const std::vector<MPI_Request>* leave_to_call();

 private:
  bool find_begun();
  void complete();
  void complete_by_call(int result);
  void fill(MPI_Status* statuses) const;

  MPI_Request* list_ = nullptr;
  int count_ = 0;
  bool left_to_call_ = false;
  std::vector<MPI_Request> given_;
};

}  // namespace fgmpi::check
