// MovingRanks: the records of ranks that go from process to process (mpiexec -balance).
//
//   the rank's slot      LiveRecord: counts by the rank, times by the sampler of the process where
//                        the rank is; at one address in all processes, so a call may end elsewhere
//   its home's file      RankRecord: a copy, made at each look of the home's sampler
//   the file of the      ArrivalRecord: one for each arrival of a rank
//   process it comes to
//
// So each rank has one history, whose parts need not be put together. A process without time for a
// last look (it was killed) has that of the look before in its file.
//
// Thread rule: a rank's functions are called by ranks; those for the sampler by one thread at a
// time. Slots stay mapped where a rank has once been, so a sampler may read a record that has gone.
#pragma once

#include "base/moves_link.h"
#include "profile/format.h"

#pragma weak fgmpi_moves_for_tools

namespace fgmpi::report {

struct LiveRecord : RankRecord {
  uint16_t slots[kCallCells];  ///< as ProfileHeader::slots, of this rank alone
  int32_t world, process;      ///< where it is
  uint32_t index;              ///< its number in that process
  Doing doing;                 ///< what the sampler there has seen last
};

class MovingRanks {
 public:
  /// nullptr where ranks of the job stay in their processes.
  static MovingRanks* make();

  // ---- By ranks
  /// The running rank's record; nullptr: it has none.
  LiveRecord* running() const;
  /// The offset of a call's cell in the running rank's record.
  uint32_t cell_of(uint16_t call) const;
  static uint32_t cell_in(LiveRecord* rank, uint16_t call);
  int32_t peer(MPI_Comm comm, int rank, int* way) const { return tools_->peer(comm, rank, way); }
  void handle(void (*deadlock)(), void (*fatal)(int, const char*)) const {
    tools_->handlers(deadlock, fatal);
  }
  /// The process has a file now.
  void begin(ProfileHeader* header, RankRecord* copies);
  /// Makes the record of the running rank of this process; nullptr: there is no memory.
  RankRecord* begin_rank(int32_t local, int32_t world);
  /// The running rank ends, at home: its record is copied for the last time.
  void end_rank(int32_t local);
  /// The running rank has come from there.
  void arrive(int32_t from);

  // ---- By the sampler
  /// A rank of the process, or a visitor that is here.
  LiveRecord* record_of(int32_t local) const;
  /// Is it a rank of this process that is in another one?
  bool is_away(int32_t local) const;
  Doing doing_of(int32_t local) const;
  /// Copies the record of a rank of this process into the file.
  void copy(int32_t local);

 private:
  explicit MovingRanks(const checkpoint::MovesForTools* tools) : tools_(tools) {}

  const checkpoint::MovesForTools* tools_;
  ProfileHeader* header_ = nullptr;
  RankRecord* copies_ = nullptr;
  /// By numbers of this process. Only used pages take memory.
  LiveRecord** live_ = nullptr;
};

/// nullptr: ranks stay where they are.
extern MovingRanks* g_moving;

}  // namespace fgmpi::report
