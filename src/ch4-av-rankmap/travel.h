// How a rank map travels to a process of another job, whose numbers for ranks are its own.
//
//   u32 groups | each: uid 16 | u32 processes | u32 ranks of each | u8 hosted | u32 cards | each: u32 process | text
//              |   hosted is 1: uid 16 of the job that hosts it | each process: u32 process of that job | u32 local index
//   u32 runs   | each: u32 group of the list | u32 first lpid | u32 count
//
// A run is consecutive ranks of a group. Groups that the reader does not know are added
// (process_groups.h); cards tell how their processes are reached. Only cards of processes that host
// members travel. A group that is hosted comes behind the group of its hosts, which is listed for
// that even if no member is of it.
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ch4-av-rankmap/rankmap.h"

namespace fgmpi {

/// REQUIRES: g_process_groups.set_own() was called.
void write_travelling(const RankMap& map, std::vector<uint8_t>* out);
/// Errors: MPI_ERR_OTHER for what is cut short or contradicts itself or what is known.
Status read_travelling(std::span<const uint8_t> in, RankMap* out);

}  // namespace fgmpi
