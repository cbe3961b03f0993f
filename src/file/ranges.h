// Ranges of a file: what processes tell aggregators, and pieces that overlap.
//
//   what travels: | number of rules | rules |, a rule: | offset 8 | bytes 8 | stride 8 | count 8 |
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "file/processes.h"
#include "file/transfer.h"

namespace fgmpi::file {

/// Pieces that ascend, as rules: equal ones that are evenly spaced are one, and those that touch.
void write_ranges(const std::vector<Piece>& pieces, Bytes* out);
/// The same back, without memory; *bytes: their sum. Errors: MPI_ERR_INTERN for what is none.
Status read_ranges(const Bytes& in, std::vector<Piece>* pieces, int64_t* bytes);

/// Of pieces that ascend by their offsets, what lies in an earlier one goes to `copies`.
void split_overlaps(std::vector<Piece>* pieces, std::vector<Piece>* copies);
/// Fills these from the memory of `pieces`, below `end`.
void copy_overlaps(const std::vector<Piece>& pieces, const std::vector<Piece>& copies, int64_t end);
/// The offset behind the first `bytes` bytes of them.
int64_t offset_at(const std::vector<Piece>& pieces, int64_t bytes);
/// Their bytes in a row; and back, below `end`.
void pack(const std::vector<Piece>& pieces, char* out);
void unpack(const std::vector<Piece>& pieces, const char* in, int64_t end);

}  // namespace fgmpi::file
