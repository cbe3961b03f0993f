// Timeline: what some ranks of the process did over time, in the process's file (format.h).
//
// A column is an interval of time. When the last column is full, pairs of columns are joined, so
// that a column stands for twice as long:
//
//   |aabb|cd..|....|....|   time goes on past the end   |ab|c.|..|..|....................|
//
// Thread rule: one thread of the process.
#pragma once

#include "profile/parts.h"

namespace fgmpi::report {

class Timeline {
 public:
  /// `part`: of timeline_bytes(), or 0: then there is no timeline. `column_ns`: the first duration
  /// of a column.
  Timeline(ProfileHeader* header, Part part, uint64_t column_ns);

  explicit operator bool() const { return columns_; }
  /// The column of a time since the beginning, ns.
  uint32_t column_at(uint64_t age) {
    while (age / header_->column_ns >= kColumns) join_columns();
    return static_cast<uint32_t>(age / header_->column_ns);
  }
  TimeColumn* columns() { return columns_; }
  /// The memory of a rank, packed, in each column.
  uint16_t* memory_of(uint32_t row) { return memory_ + row * kColumns; }
  /// Two columns share a byte.
  void set_doing(uint32_t row, uint32_t column, Doing doing) {
    uint8_t& both = rows_[row * kRowBytes + column / 2];
    const unsigned shift = column % 2 * 4;
    both = static_cast<uint8_t>((both & ~(0xfu << shift)) | static_cast<unsigned>(doing) << shift);
  }

 private:
  void join_columns();

  ProfileHeader* header_;
  TimeColumn* columns_ = nullptr;
  uint8_t* rows_ = nullptr;
  uint16_t* memory_ = nullptr;
};

}  // namespace fgmpi::report
