// How a rank map travels to a process of another job, which has other numbers for ranks.
//
//   u32 groups | each group:
//                uid 16 | u32 processes | u32 ranks of each | u8 hosted
//                hosted 1: uid 16 of the hosting job | each process: u32 process of that job
//                                                    |               u32 local index
//                u32 cards | each card: u32 process | text
//   u32 runs   | each run: u32 group of the list | u32 first lpid | u32 count
//
// A run is consecutive ranks of a group. The reader adds groups that are new to it
// (process_groups.h); cards say how their processes are reached. Only cards of processes that host
// members travel. A hosted group follows the group of its hosts, which the writer lists for this
// purpose even without members.
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ch4-av-rankmap/rankmap.h"

namespace fgmpi {

/// Encodes a map. REQUIRES: g_process_groups.set_own() was called.
void write_travelling(const RankMap& map, std::vector<uint8_t>* out);
/// Decodes a map. Errors: MPI_ERR_OTHER for data that is cut short, contradicts itself or
/// contradicts the known groups.
Status read_travelling(std::span<const uint8_t> in, RankMap* out);

}  // namespace fgmpi
