// Files as processes of a job write them under mpiexec -report, made in memory, for tests of their
// reader.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "profile/format.h"
#include "profile/profile_calls.h"

namespace fgmpi::report {

class ReportFile {
 public:
  ReportFile(int32_t first_rank, int32_t ranks, int32_t world_size) {
    ProfileHeader h{};
    h.ranks = ranks;
    lay_out(&h);
    bytes.resize(h.size);
    h.magic = kMagic;
    h.calls = kCallCount;
    h.algorithms = counters::kAlgorithms;
    h.first_rank = first_rank;
    h.world_size = world_size;
    h.processes = 1;
    h.time_unit = kSampledUnit;
    std::strcpy(h.host, "node1");
    std::memcpy(bytes.data(), &h, sizeof h);
    for (int32_t i = 0; i < ranks; ++i) rank(i)->peer_unit = first_peer_unit(world_size);
  }

  ProfileHeader* header() { return at<ProfileHeader>(0); }
  RankRecord* rank(int32_t i) {
    return at<RankRecord>(kHeaderBytes + sizeof(RankRecord) * static_cast<size_t>(i));
  }
  template <class T>
  T* in_part(Part part) {
    return at<T>(header()->parts_at + part);
  }
  /// A new part of zeros.
  Part make_part(size_t size) {
    const Part part = next_;
    next_ += static_cast<Part>((size + kPartUnit - 1) / kPartUnit * kPartUnit);
    return part;
  }
  Part make_timeline(uint32_t columns, uint32_t rows, uint32_t memory_rows) {
    header()->columns = columns;
    header()->rows = rows;
    header()->memory_rows = memory_rows;
    return header()->timeline = make_part(timeline_bytes(rows, memory_rows));
  }
  /// Adds a module in front of those that are there.
  ModuleRecord* add_module(uint64_t low, uint64_t high, const std::string& path) {
    const Part part = make_part(sizeof(ModuleRecord) + path.size());
    auto* m = in_part<ModuleRecord>(part);
    *m = {low, high, low, header()->modules, static_cast<uint32_t>(path.size())};
    std::memcpy(m + 1, path.data(), path.size());
    header()->modules = part;
    return m;
  }
  FamilyRecord* add_family(int number) {
    return in_part<FamilyRecord>(header()->families[number] = make_part(sizeof(FamilyRecord)));
  }
  void add_peer(int32_t local, int cell, int32_t peer, uint64_t messages, uint64_t bytes_sent) {
    RankRecord* r = rank(local);
    r->peers[cell] = {uint64_t{r->number_of(peer)} << PeerCell::kMessageBits | messages,
                      bytes_sent};
  }

  void write(const std::string& path) const {
    FILE* file = std::fopen(path.c_str(), "wb");
    if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) std::abort();
    std::fclose(file);
  }

  std::vector<char> bytes;

 private:
  template <class T>
  T* at(size_t offset) {
    return reinterpret_cast<T*>(bytes.data() + offset);
  }
  Part next_ = kPartUnit;
};

/// The number + 1 of a call, as RankRecord::now and ProfileHeader::slots hold it; 0: there is none.
inline uint16_t call_number(const std::string& name) {
  for (int i = 0; i < kCallCount; ++i)
    if (name == kCalls[i].name) return static_cast<uint16_t>(i + 1);
  return 0;
}

}  // namespace fgmpi::report
