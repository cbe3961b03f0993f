// Fuzz target: any bytes as the file of a process under mpiexec -report, and as changes of a good
// file. Whatever is accepted can be summed up and shown: the summary has only lines that begin with
// "fgmpi:", the page's data is JSON that cannot end its element.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "../unit/report_reader/json.h"
#include "../unit/report_reader/report_file.h"
#include "readers/report/run.h"

using namespace fgmpi::report;

namespace {

void check(const char* bytes, size_t size) {
  static const int file = memfd_create("report", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, 0) != 0 || ftruncate(file, static_cast<off_t>(size)) != 0)
    std::abort();
  // Pages of zeros stay holes.
  for (size_t at = 0; at < size; at += 4096) {
    const size_t n = std::min<size_t>(4096, size - at);
    static const char zeros[4096] = {};
    if (std::memcmp(bytes + at, zeros, n) != 0 &&
        pwrite(file, bytes + at, n, static_cast<off_t>(at)) != static_cast<ssize_t>(n))
      std::abort();
  }
  JobRun run;
  run.add_file("/proc/self/fd/" + std::to_string(file));
  if (run.processes.size() + run.refused.size() != 1) std::abort();
  run.sum_up();
  const std::string text = to_text(run);
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    if (text.compare(at, 6, "fgmpi:")) std::abort();
  if (run.processes.empty()) return;
  const std::string data = page_data(run);
  if (data.find('<') != data.npos || JsonParser::parse(data).kind != Json::kObject) std::abort();
}

/// A good file with all parts.
ReportFile good_file() {
  ReportFile file(1, 2, 5);
  ProfileHeader* h = file.header();
  h->last_ns = 1'000'000'000, h->samples = h->slice_looks = 100, h->column_ns = 10'000'000;
  h->slots[0] = call_number("MPI_Recv");
  file.make_timeline(100, 2, 1);
  file.add_module(0x1000, 0x9000, "/none/program");
  FamilyRecord* family = file.add_family(2);
  family->site = 0x1234, family->members_made = 2;
  const Part part = family->first_collective = file.make_part(sizeof(CollectiveRecord));
  file.in_part<CollectiveRecord>(part)->count = 1;
  h->site_parts[0] = file.make_part(sizeof(SiteRecord) * kSitesInPart);
  h->remote_parts[0] = file.make_part(sizeof(RemoteRecord) * kRemotesInPart);
  h->sites = h->remotes = 1;
  file.in_part<SiteRecord>(h->site_parts[0])->site = 0x2345;
  for (int32_t i = 0; i < 2; ++i) {
    file.rank(i)->flags = kStarted;
    file.rank(i)->now = h->slots[0];
    file.rank(i)->site = 0x1500;
    file.add_peer(i, 0, 3, 10, 100);
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check(reinterpret_cast<const char*>(data), size);
  // Nearly right: a good file in which each 5 bytes of the input replace a byte, or 8.
  static const ReportFile good = good_file();
  ReportFile changed = good;
  for (; size >= 5; data += 5, size -= 5) {
    uint32_t where = 0;
    std::memcpy(&where, data, 3);
    // Most changes are in the header, the ranks and the first parts.
    const size_t at = (data[3] & 1 ? where : where % 8192) % (changed.bytes.size() - 8);
    const uint64_t word = uint64_t{data[4]} * 0x0101010101010101u;
    std::memcpy(changed.bytes.data() + at, &word, data[3] & 2 ? 8 : 1);
  }
  check(changed.bytes.data(), changed.bytes.size());
  return 0;
}
