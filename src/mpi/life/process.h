// What the files about a process's life share (start.cc, exchange.cc, run.cc, end_agreement.cc). No
// other file includes it.
//
// Thread rule: as runtime.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "bootstrap/bootstrap.h"
#include "liveness/card.h"
#include "pt2pt/pt2pt.h"
#include "transport/idle.h"
#include "transport/transport.h"

namespace fgmpi::mpi {

/// The state that exists once per process. Never destroyed: transports may be used until _exit.
struct ProcessState {
  std::unique_ptr<bootstrap::Bootstrap> boot;
  std::vector<std::unique_ptr<transport::Transport>> transports;
  std::unique_ptr<transport::Idle> idle;
  uint32_t ranks = 0;
  bool connected = false;
  int unfinished = 0;  ///< ranks whose main has not returned yet
};

ProcessState& process();

constexpr int64_t kMaxRanks = int64_t{1} << 30;  ///< ranks of a job at most

/// Ends the process with one line.
[[noreturn]] void refuse(const std::string& line);

/// Opens the transports and exchanges addresses with all other processes; fills in
/// `setup->transports`. Blocks the process. REQUIRES: the job has several processes.
Status exchange_addresses(pt2pt::Setup* setup);

/// Reads what another process has published about itself. REQUIRES: addresses have been exchanged.
Status card_of(uint32_t p, liveness::Card* card);

/// For pt2pt::set_peer_failed_handler: a transport has found that process `peer` has ended or
/// cannot be reached. Aborts the job if that is a loss, and then never returns.
void on_peer_failed(uint32_t peer, const std::string& why);

/// Ranks may go from process to process of a host (tools/moves.cc). Called before addresses are
/// exchanged, in each process of the job or in none.
void let_ranks_move();

/// Called when all ranks of this process have ended: agrees with the other processes to leave,
/// closes the transports and notifies the launcher. Returns the process's exit status. Blocks the
/// process. REQUIRES: called on the host stack.
int finish_process(int status);

}  // namespace fgmpi::mpi
