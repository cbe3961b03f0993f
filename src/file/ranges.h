// Ranges of a file: the ranges that processes send to aggregators, and pieces that overlap.
//
//   encoded: | number of rules | rules |, a rule: | offset 8 | bytes 8 | stride 8 | count 8 |
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "file/processes.h"
#include "file/transfer.h"

namespace fgmpi::file {

/// Encodes pieces that ascend. Equal pieces that are evenly spaced become one rule, and so do
/// pieces that touch.
void write_ranges(const std::vector<FilePiece>& pieces, Bytes* out);
/// Decodes ranges into pieces without memory; *bytes: the sum of their bytes. Errors:
/// MPI_ERR_INTERN for bytes that are no ranges.
Status read_ranges(const Bytes& in, std::vector<FilePiece>* pieces, int64_t* bytes);

/// The end of the run from piece `first` on in which each piece lies behind the one before it.
size_t end_of_ascending_run(const std::vector<FilePiece>& pieces, size_t first);
/// Moves to `copies` what lies in an earlier piece. REQUIRES: pieces ascend by their offsets.
void split_overlaps(std::vector<FilePiece>* pieces, std::vector<FilePiece>* copies);
/// Fills `copies` from the memory of `pieces`, below the offset `end`.
void copy_overlaps(const std::vector<FilePiece>& pieces, const std::vector<FilePiece>& copies,
                   int64_t end);
/// The offset behind the first `bytes` bytes of the pieces.
int64_t offset_at(const std::vector<FilePiece>& pieces, int64_t bytes);
/// Copy the pieces' bytes into a row, and from a row into the pieces, below the offset `end`.
void pack(const std::vector<FilePiece>& pieces, char* out);
void unpack(const std::vector<FilePiece>& pieces, const char* in, int64_t end);

}  // namespace fgmpi::file
