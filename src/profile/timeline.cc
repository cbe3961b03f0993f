// Columns that become longer.

#include "profile/timeline.h"

#include <algorithm>

namespace fgmpi::report {

Timeline::Timeline(ProfileHeader* header, Part part, uint64_t column_ns) : header_(header) {
  header->timeline = part;
  header->column_ns = column_ns;
  char* at = in_part<char>(header, part);
  if (!at) return;
  columns_ = reinterpret_cast<TimeColumn*>(at);
  rows_ = reinterpret_cast<uint8_t*>(at + rows_in_timeline());
  memory_ = reinterpret_cast<uint16_t*>(at + memory_in_timeline(header->rows));
}

void Timeline::join_columns() {
  for (uint32_t c = 0; c < kColumns; ++c) {
    const bool is_kept = c < kColumns / 2;
    // The last column in use may be the first of its pair: nothing is known of the other one.
    const uint32_t second = 2 * c + 1 == header_->columns ? 2 * c : 2 * c + 1;
    const TimeColumn a = is_kept ? columns_[2 * c] : TimeColumn{};
    const TimeColumn b = is_kept ? columns_[second] : TimeColumn{};
    auto mean = [](uint8_t x, uint8_t y) { return static_cast<uint8_t>((x + y) / 2); };
    // Packed numbers compare like the numbers that they stand for.
    columns_[c] = {std::max(a.rss, b.rss), mean(a.program, b.program), mean(a.mpi, b.mpi)};
    for (uint32_t row = 0; row < header_->rows; ++row)
      set_doing(row, c,
                is_kept
                    ? static_cast<Doing>(doing_in(rows_ + row * kRowBytes, c & 1 ? second : 2 * c))
                    : Doing::kNothing);
    for (uint32_t row = 0; row < header_->memory_rows; ++row) {
      uint16_t* cells = memory_of(row);
      cells[c] = is_kept ? std::max(cells[2 * c], cells[second]) : uint16_t{0};
    }
  }
  header_->column_ns *= 2;
  header_->columns = (header_->columns + 1) / 2;
}

}  // namespace fgmpi::report
