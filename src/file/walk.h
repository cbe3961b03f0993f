// Walk: the pieces of one rank's access, in order: its elements in memory beside the bytes of its
// view. Thread rule: one thread. Nothing here switches.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "file/transfer.h"
#include "file/view.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::file {

class Walk {
 public:
  /// Bytes of the file that a buffer's elements need.
  static Status bytes_in_file(const View& view, const pt2pt::Buffer& buffer, int64_t* bytes);
  /// Sets the view and buffer, and at once converts what a write converts. Conversion functions run
  /// as the rank that has registered them. Errors: MPI_ERR_TYPE, MPI_ERR_CONVERSION.
  Status prepare(ViewPtr view, const pt2pt::Buffer& buffer, bool write);
  /// Begins the walk, or begins it anew. `position`: the first byte, in the data of the view.
  /// REQUIRES: prepare(). Errors: MPI_ERR_TYPE, MPI_ERR_ARG (beyond the largest offset).
  Status begin(int64_t position);
  int64_t total() const { return total_; }
  bool at_end() const { return left_ == 0; }
  /// The file's offset of the next byte. REQUIRES: !at_end().
  int64_t next_offset() const;
  /// Adds the next pieces below the offset `limit`: at most `most` of them, with about `bytes`
  /// bytes. The walk continues behind them.
  void next_pieces(int64_t limit, size_t most, int64_t bytes, std::vector<FilePiece>* out);
  /// False where pieces may overlap, or come in another order than the file's.
  bool ascends() const { return ascends_; }
  /// The lowest and highest offset of the access. REQUIRES: total() > 0.
  int64_t low() const { return low_; }
  int64_t high() const { return high_; }
  /// How many of the access's bytes come before the first that lies at or behind an offset of the
  /// file.
  int64_t bytes_before(int64_t offset) const;
  /// True where finish() calls a function of the program.
  bool finish_calls_program() const;
  /// Called when `bytes` bytes of the file were moved: converts for the user what was read.
  /// Conversion functions run as the rank that has registered them. *memory: bytes of the elements.
  Status finish(int64_t bytes, int64_t* memory) const;

 private:
  ViewPtr view_;
  pt2pt::Buffer buffer_;
  Placed placed_;  ///< set where elements are converted
  bool write_ = false, ascends_ = true;
  char* base_ = nullptr;
  std::unique_ptr<char[]> converted_;  ///< elements as they are in the file
  datatype::TypeTreePtr memory_;       ///< nullptr: elements lie in a row
  std::optional<datatype::TypeCursor> in_memory_, in_file_;
  int64_t start_ = 0, total_ = 0, left_ = 0, low_ = 0, high_ = 0;
};

}  // namespace fgmpi::file
