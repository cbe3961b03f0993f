// Parts of the process's file (format.h). A part is made when it is first needed, so functions that
// a process does not use cost no memory.
//
// Thread rule: any thread, without a lock; the sampler makes parts even while a rank holds one. A
// part is never moved or freed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile/format.h"

namespace fgmpi::report {

/// Makes parts in this file from now on. The file is mapped at its header; `fd` stays open.
void use_file_for_parts(ProfileHeader* header, int fd);

/// A new part of `bytes` zeros; 0 where there is no room. Its disk space is reserved, so that a
/// store never fails. Makes a system call.
Part make_part(size_t bytes);

template <class T>
T* in_part(ProfileHeader* header, Part part) {
  return part ? reinterpret_cast<T*>(reinterpret_cast<char*>(header) + header->parts_at + part)
              : nullptr;
}

/// A table of records in the file, in parts of kInPart records each, with a hash index in the
/// process's own memory. One thread at a time.
template <class Record, uint32_t kMost, uint32_t kInPart>
class RecordTable {
 public:
  /// REQUIRES: `header` and what it contains outlive the table.
  RecordTable(ProfileHeader* header, Part* parts, uint32_t* used)
      : header_(header), parts_(parts), used_(used) {}

  /// The record for which `same` is true, or a new one that `fill` has filled; nullptr where
  /// there is no room.
  template <class Same, class Fill>
  Record* find(uint64_t hash, Same same, Fill fill) {
    uint32_t place = static_cast<uint32_t>(hash * 0x9e3779b97f4a7c15u >> 40) % kPlaces;
    for (; index_[place]; place = (place + 1) % kPlaces)
      if (Record* r = record(index_[place] - 1u); same(*r)) return r;
    if (*used_ == kMost) return nullptr;
    Part& part = parts_[*used_ / kInPart];
    if (!part) part = make_part(sizeof(Record) * kInPart);
    if (!part) return nullptr;
    Record* r = record(*used_);
    fill(r);
    index_[place] = static_cast<uint16_t>(++*used_);
    return r;
  }
  /// Empties the table. Its parts are reused.
  void clear() {
    for (uint32_t i = 0; i < *used_; ++i) *record(i) = {};
    *used_ = 0;
    for (uint16_t& place : index_) place = 0;
  }
  Record* record(uint32_t i) const {
    return in_part<Record>(header_, parts_[i / kInPart]) + i % kInPart;
  }

 private:
  static constexpr uint32_t kPlaces = 2 * kMost;
  static_assert(kMost < UINT16_MAX && kMost % kInPart == 0);

  ProfileHeader* header_;
  Part* parts_;
  uint32_t* used_;
  uint16_t index_[kPlaces] = {};  ///< index of a record + 1; 0: none
};

}  // namespace fgmpi::report
