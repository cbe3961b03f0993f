// Which pages a process has saved, and what they held: the file beside a process's file of a
// checkpoint. By the list of the checkpoint before, a file leaves out the pages that are as they
// were (format.h: CheckpointHeader::base).
//
//   DIR/NUMBER/PROCESS.pages
//
//   0     PageListHeader
//   ...   PageRecord, in ascending order of the addresses
//
// Thread rule: one thread. The child of a fork writes and reads lists: nothing is allocated but
// words once a list is open, and only the kernel is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace fgmpi::checkpoint {

struct PageRecord {
  uint64_t address;
  uint64_t hash;  ///< of the bytes
};

struct PageListHeader {
  char magic[8];
  uint64_t count;
  uint64_t checksum;  ///< of the records, and of `count`
};

/// The list of a process's file.
std::string page_list_of(const std::string& file);
/// Differs, but once in 2^64 times, where the bytes differ.
uint64_t hash_of_page(const void* page);

class PageListWriter {
 public:
  ~PageListWriter() { close(); }
  /// Makes the file. Errors: MPI_ERR_IO.
  Status open(const std::string& path);
  /// REQUIRES: addresses ascend.
  Status add(const PageRecord& record);
  /// The list is complete, and on the disk. Errors: MPI_ERR_IO.
  Status finish();
  int descriptor() const { return fd_; }
  /// Leaves the file to another process that writes it.
  void close();

 private:
  static constexpr size_t kBuffered = 1024;
  Status write_out();
  Status fail(long reason) const;

  std::string path_;
  int fd_ = -1;
  size_t buffered_ = 0;
  PageListHeader header_ = {};
  PageRecord buffer_[kBuffered];
};

/// A list in memory.
class PageList {
 public:
  PageList() = default;
  ~PageList() { close(); }
  PageList(const PageList&) = delete;
  PageList& operator=(const PageList&) = delete;

  /// Errors: MPI_ERR_IO: there is no such list, or it is damaged.
  Status open(const std::string& path);
  bool is_open() const { return records_; }
  size_t size() const { return count_; }
  /// The record of a page, or nullptr. Fast where addresses ascend from call to call.
  const PageRecord* find(uint64_t address);

  void close();

 private:
  void* mapped_ = nullptr;
  size_t bytes_ = 0, count_ = 0, at_ = 0;
  const PageRecord* records_ = nullptr;
};

}  // namespace fgmpi::checkpoint
