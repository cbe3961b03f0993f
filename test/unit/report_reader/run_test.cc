// The reader of a job's files: sums against a naive model, and files that are damaged, truncated or
// hostile.
#include "readers/report/run.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cctype>
#include <filesystem>
#include <random>

#include "json.h"
#include "report_file.h"

namespace fgmpi::report {
namespace {

/// A new folder, which is removed with the object.
struct Folder {
  Folder() {
    char name[] = "/tmp/report-test-XXXXXX";
    EXPECT_NE(mkdtemp(name), nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

JobRun read(const Folder& folder) {
  JobRun run;
  run.read(folder.path);
  run.sum_up();
  return run;
}

/// The reason why the file is refused, or "".
std::string reason(const ReportFile& file) {
  Folder folder;
  file.write(folder.file("report-a-1"));
  const JobRun run = read(folder);
  EXPECT_EQ(run.processes.size() + run.refused.size(), 1u);
  return run.refused.empty() ? "" : run.refused[0];
}

/// All outputs of a run are made, and have their form.
void check_outputs(const JobRun& run) {
  const std::string text = to_text(run);
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    EXPECT_EQ(text.compare(at, 6, "fgmpi:"), 0) << text.substr(at);
  for (unsigned char c : text) EXPECT_TRUE(c == '\n' || !iscntrl(c)) << text;
  const std::string data = page_data(run);
  EXPECT_EQ(JsonParser::parse(data).kind, Json::kObject) << data;
  EXPECT_EQ(data.find('<'), data.npos) << "an element of the page could begin there";
}

// ---- Sums ---------------------------------------------------------------------------------------

/// The sums of a run, computed rank by rank as the files are made.
struct Model {
  uint64_t count[kCallCount] = {}, bytes[kCallCount] = {}, ns[kCallCount] = {};
  uint64_t program = 0, turn = 0, mpi = 0, messages = 0, sent = 0;
  std::map<std::pair<int32_t, int32_t>, std::pair<uint64_t, uint64_t>> flows;
  std::map<int32_t, double> waited;
};

ReportFile random_file(std::mt19937* random, int32_t first, int32_t ranks, int32_t world,
                       Model* model) {
  auto below = [&](uint32_t n) { return static_cast<uint32_t>((*random)() % n); };
  ReportFile file(first, ranks, world);
  for (uint16_t& slot : file.header()->slots)
    slot = static_cast<uint16_t>(below(3) ? 1 + below(kCallCount) : 0);
  file.header()->slots[kCallCells - 1] = 0;  // the last cell counts all further calls
  for (int32_t i = 0; i < ranks; ++i) {
    RankRecord* r = file.rank(i);
    r->flags = kStarted | kEnded;
    model->program += r->program_ns = below(1'000'000);
    model->turn += r->turn_ns = below(1'000'000);
    for (int c = 0; c < kCallCells; ++c) {
      r->calls_made[c] = {below(1000), below(100'000)};
      r->call_times[c] = below(100);
      model->mpi += r->call_times[c] * kSampledUnit;
      if (const int call = file.header()->slots[c] - 1; call >= 0) {
        model->count[call] += r->calls_made[c].count;
        model->bytes[call] += r->calls_made[c].bytes;
        model->ns[call] += r->call_times[c] * kSampledUnit;
      }
    }
    for (int c = 0; c < kPeerCells; ++c) {
      if (below(2)) continue;
      const auto peer = static_cast<int32_t>(below(static_cast<uint32_t>(world)));
      const uint64_t messages = 1 + below(50), bytes = below(5000);
      file.add_peer(i, c, peer, messages, bytes);
      auto& flow = model->flows[{first + i, peer}];
      flow.first += messages, flow.second += bytes;
      model->messages += messages, model->sent += bytes;
    }
    for (WaitCell& wait : r->waits) {
      wait = {below(static_cast<uint32_t>(world) + 1), below(1000)};
      if (wait.peer_and_one)
        model->waited[static_cast<int32_t>(wait.peer_and_one - 1)] +=
            to_seconds(wait.time * kSampledUnit);
    }
  }
  return file;
}

TEST(ReportedRun, SumsAreThoseOfANaiveModel) {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    Folder folder;
    Model model;
    std::vector<int32_t> sizes(1 + random() % 6);
    int32_t world = static_cast<int32_t>(random() % 3), first = 0;  // some ranks have no file
    for (int32_t& size : sizes) world += size = 1 + static_cast<int32_t>(random() % 300);
    for (size_t i = 0; i < sizes.size(); ++i) {
      // The names are in another order than the ranks.
      const std::string name = "report-node-" + std::to_string(99 - i);
      random_file(&random, first, sizes[i], world, &model).write(folder.file(name));
      first += sizes[i];
    }
    const JobRun run = read(folder);
    ASSERT_EQ(run.processes.size(), sizes.size());
    EXPECT_EQ(run.world_size, world);
    EXPECT_EQ(run.program_ns, model.program);
    EXPECT_EQ(run.turn_ns, model.turn);
    EXPECT_EQ(run.mpi_ns, model.mpi);
    for (int i = 0; i < kCallCount; ++i) {
      EXPECT_EQ(run.calls[i].count, model.count[i]) << kCalls[i].name;
      EXPECT_EQ(run.calls[i].bytes, model.bytes[i]) << kCalls[i].name;
      EXPECT_EQ(run.calls[i].ns, model.ns[i]) << kCalls[i].name;
    }
    uint64_t messages = 0, bytes = 0;
    for (const Flow& way : run.ways) messages += way.messages, bytes += way.bytes;
    EXPECT_EQ(messages, model.messages);
    EXPECT_EQ(bytes, model.sent);
    // The blocks of the matrix hold what their ranks have sent.
    std::map<std::pair<uint32_t, uint32_t>, std::pair<uint64_t, uint64_t>> blocks, found;
    for (const auto& [pair, flow] : model.flows) {
      auto& block = blocks[{static_cast<uint32_t>(pair.first) >> run.matrix_shift,
                            static_cast<uint32_t>(pair.second) >> run.matrix_shift}];
      block.first += flow.first, block.second += flow.second;
    }
    for (const auto& [key, flow] : run.matrix) {
      auto& block = found[{key.from, key.to}];
      block.first += flow.messages, block.second += flow.bytes;
    }
    EXPECT_EQ(found, blocks);
    ASSERT_EQ(run.waited_for.size(), model.waited.size());
    for (const auto& [rank, seconds] : model.waited)
      EXPECT_NEAR(run.waited_for.at(rank), seconds, 1e-9);
    check_outputs(run);
  }
}

TEST(ReportedRun, AMatrixOfManyRanksHasLargerBlocksAndLosesNoMessage) {
  Folder folder;
  std::mt19937 random(1);
  Model model;
  random_file(&random, 0, 5000, 5000, &model).write(folder.file("report-a-1"));
  const JobRun run = read(folder);
  EXPECT_LE(run.matrix.size(), 20'000u);
  uint64_t messages = 0;
  for (const auto& [key, flow] : run.matrix) {
    messages += flow.messages;
    EXPECT_LE(key.from, 4999u >> run.matrix_shift);
    EXPECT_LE(key.to, 4999u >> run.matrix_shift);
  }
  EXPECT_EQ(messages, model.messages);
}

TEST(ReportedRun, FamiliesOfProcessesAreJoinedByTheirPlace) {
  Folder folder;
  for (int i = 0; i < 2; ++i) {
    ReportFile file(i, 1, 2);
    // The program lies at other addresses in each process.
    const uint64_t base = 0x10000u * static_cast<unsigned>(i + 1);
    file.add_module(base, base + 0x1000, "/none/program");
    FamilyRecord* split = file.add_family(2);
    split->site = base + 0x123;
    split->call = static_cast<uint16_t>(call_number("MPI_Comm_split") - 1);
    split->members_made = 3, split->members_freed = 1;
    split->least = 4 + i, split->most = 9 + i;
    split->map_bytes = INT64_MAX;
    const Part part = file.make_part(sizeof(CollectiveRecord));
    *file.in_part<CollectiveRecord>(part) = {static_cast<uint32_t>(call_number("MPI_Bcast") - 1), 0,
                                             5, 60, 7};
    split->first_collective = part;
    file.write(folder.file("report-a-" + std::to_string(i)));
  }
  const JobRun run = read(folder);
  ASSERT_EQ(run.families.size(), 1u);
  const Family& f = run.families[0];
  EXPECT_EQ(f.call, "MPI_Comm_split");
  EXPECT_EQ(run.words_of(f.place), "program+0x123");
  EXPECT_EQ(f.members_made, 6u);
  EXPECT_EQ(f.least, 4);
  EXPECT_EQ(f.most, 10);
  ASSERT_EQ(f.by_call.size(), 1u);
  EXPECT_EQ(f.by_call.begin()->second.count, 10u);
  EXPECT_EQ(f.by_call.begin()->second.bytes, 120u);
  check_outputs(run);
}

// ---- Damaged files ------------------------------------------------------------------------------

TEST(ReportedRun, MovesOfRanksAreThoseOfAllProcessesByTime) {
  Folder folder;
  for (int32_t process : {0, 1}) {
    ReportFile file(4 * process, 4, 8);
    ProfileHeader* h = file.header();
    h->flags = kMoving;
    h->process = process;
    h->processes = 2;
    h->init_ns = 1'000'000'000 + static_cast<uint64_t>(process);
    h->last_ns = 9'000'000'000;
    h->program_cpu_ns = process ? 3'000'000'000 : 4'000'000'000;
    for (int32_t i = 0; i < 4; ++i) file.rank(i)->cpu_ns = process ? 500'000'000 : 1'250'000'000;
    h->moves = process ? 2 : 5000;
    h->moves_recorded = file.make_part(sizeof(ArrivalRecord) * kMoves);
    auto* moves = file.in_part<ArrivalRecord>(h->moves_recorded);
    if (process) {
      moves[0] = {2'000'000'000, 1, 0};
      moves[1] = {4'000'000'000, 9, 0};  // there is no rank 9
    } else {
      for (uint64_t i = 0; i < kMoves; ++i) moves[i] = {3'000'000'000 + i, i % 2 ? 1 : 5, 1};
    }
    file.write(folder.file("report-a-" + std::to_string(process)));
  }
  const JobRun run = read(folder);
  check_outputs(run);
  ASSERT_EQ(run.moves.size(), kMoves + 1);
  EXPECT_DOUBLE_EQ(run.moves[0].seconds, 1);
  EXPECT_EQ(run.moves[0].rank, 1);
  EXPECT_EQ(run.moves[0].from, 0);
  EXPECT_EQ(run.moves[0].to, 1);
  EXPECT_EQ(run.gain.moves, 5002u);
  EXPECT_EQ(run.gain.homecomings, kMoves / 2u);  // those of rank 1, which begins in process 0
  EXPECT_EQ(words_of_moves(run),
            "ranks have moved 5,002 times, 1,024 of these home; the busiest process has computed "
            "for 4 s, where its own ranks ran it would have been 5 s (2,953 moves were not "
            "recorded)");
}

TEST(DamagedFile, ATruncatedOneIsRefusedWithItsLength) {
  const ReportFile whole(0, 3, 3);
  for (size_t bytes : {size_t{0}, size_t{1}, kHeaderBytes - 1, kHeaderBytes, kHeaderBytes + 900,
                       whole.bytes.size() - 1}) {
    ReportFile file = whole;
    file.bytes.resize(bytes);
    EXPECT_NE(reason(file).find("report-a-1: it ends after " + std::to_string(bytes) + " bytes"),
              std::string::npos)
        << reason(file);
  }
  EXPECT_EQ(reason(whole), "");
}

TEST(DamagedFile, AWrongHeaderIsRefusedWithItsFault) {
  struct {
    void (*damage)(ProfileHeader*);
    const char* words;
  } cases[] = {
      {[](ProfileHeader* h) { h->magic ^= 1; }, "not written by this version"},
      {[](ProfileHeader* h) { ++h->calls; }, "not written by this version"},
      {[](ProfileHeader* h) { --h->algorithms; }, "not written by this version"},
      {[](ProfileHeader* h) { h->ranks = 0; }, "claims 0 ranks"},
      {[](ProfileHeader* h) { h->ranks = -1; }, "claims -1 ranks"},
      {[](ProfileHeader* h) { h->ranks = INT32_MAX; }, "claims 2147483647 ranks"},
      {[](ProfileHeader* h) { h->first_rank = -1; }, "from rank -1 on"},
      {[](ProfileHeader* h) { h->first_rank = 1; }, "from rank 1 on of a world of 3"},
      {[](ProfileHeader* h) { h->world_size = 2; }, "a world of 2"},
      {[](ProfileHeader* h) { h->rows = kRowsInAll + 1; }, "claims 65 rows"},
      {[](ProfileHeader* h) { h->memory_rows = 9; }, "9 rows of memory"},
      {[](ProfileHeader* h) { h->columns = 513; }, "513 columns"},
      {[](ProfileHeader* h) { h->remote_shift = 31; }, "2^31 ranks"},
      {[](ProfileHeader* h) { h->time_unit = 0; }, "its times are in units of 0 ns"},
      {[](ProfileHeader* h) { h->parts_at += 64; }, "its parts begin at byte"},
      {[](ProfileHeader* h) { h->columns = 1; }, "its timeline of 1 columns is outside"},
      {[](ProfileHeader* h) { h->columns = 1, h->timeline = kPartsBytes - 64; },
       "its timeline of 1"},
      {[](ProfileHeader* h) { h->columns = 1, h->timeline = 1; }, "its timeline of 1"},
      {[](ProfileHeader* h) { h->ranks = h->world_size = 4; }, "its parts begin at byte"},
  };
  for (const auto& c : cases) {
    ReportFile file(0, 3, 3);
    c.damage(file.header());
    const std::string why = reason(file);
    EXPECT_NE(why.find(c.words), std::string::npos) << c.words << ": " << why;
  }
}

TEST(DamagedFile, TheSummarySaysWhatWasRefused) {
  Folder folder;
  ReportFile(0, 2, 4).write(folder.file("report-a-1"));
  ReportFile broken(2, 2, 4);
  broken.header()->magic = 0;
  broken.write(folder.file("report-b\033[2J-1"));
  const JobRun run = read(folder);
  EXPECT_EQ(words_of_refused(run),
            "1 file could not be read: report-b\\x1b[2J-1: it was not written by this version of "
            "the library.");
  EXPECT_NE(to_text(run).find("fgmpi:   " + words_of_refused(run) + "\n"), std::string::npos);
  EXPECT_NE(page_data(run).find("1 file could not be read: "), std::string::npos);
  check_outputs(run);
  EXPECT_EQ(words_of_refused(JobRun()), "");
}

TEST(DamagedFile, PipesFoldersAndMissingOnesAreRefused) {
  Folder folder;
  ASSERT_EQ(mkfifo(folder.file("report-pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkdir(folder.file("report-folder").c_str(), 0700), 0);
  ASSERT_EQ(symlink("nothing", folder.file("report-link").c_str()), 0);
  const JobRun run = read(folder);
  ASSERT_EQ(run.refused.size(), 3u);
  EXPECT_EQ(run.refused[0], "report-folder: it is not a regular file");
  EXPECT_EQ(run.refused[1], "report-link: it cannot be opened: No such file or directory");
  EXPECT_EQ(run.refused[2], "report-pipe: it is not a regular file");
  check_outputs(run);
  JobRun none;
  none.read(folder.file("no-such-folder"));
  EXPECT_TRUE(none.processes.empty() && none.refused.empty());
}

TEST(DamagedFile, ALargeWorldNeedsFilesOfManyRanks) {
  EXPECT_EQ(reason(ReportFile(0, 1, 1 << 20)), "") << "most processes ended before MPI_Init";
  const std::string why = reason(ReportFile(0, 1, INT32_MAX));
  EXPECT_NE(why.find("claims a world of 2147483647 ranks; files of 1 ranks allow at most"),
            std::string::npos)
      << why;
}

TEST(DamagedFile, ItsCopyStaysWhenTheFileIsTruncated) {
  Folder folder;
  ReportFile file(0, 500, 500);
  file.rank(499)->program_ns = 12345;
  file.write(folder.file("report-a-1"));
  JobRun run;
  run.read(folder.path);
  ASSERT_EQ(truncate(folder.file("report-a-1").c_str(), 0), 0);
  run.sum_up();
  EXPECT_EQ(run.program_ns, 12345u);
}

TEST(DamagedFile, HolesAreZeros) {
  Folder folder;
  const std::string path = folder.file("report-a-1");
  ReportFile file(0, 1000, 1000);
  file.rank(700)->program_ns = 7;
  const size_t record = kHeaderBytes + 700 * sizeof(RankRecord);
  FILE* out = std::fopen(path.c_str(), "wb");
  std::fwrite(file.bytes.data(), 1, kHeaderBytes, out);
  std::fseek(out, static_cast<long>(record), SEEK_SET);
  std::fwrite(file.bytes.data() + record, 1, sizeof(RankRecord), out);
  std::fclose(out);
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(file.bytes.size())), 0);
  const JobRun run = read(folder);
  ASSERT_EQ(run.refused, std::vector<std::string>());
  EXPECT_EQ(run.program_ns, 7u);
}

TEST(DamagedFile, ListsThatNeverEndDo) {
  ReportFile file(0, 1, 1);
  ModuleRecord* module = file.add_module(0x1000, 0x2000, "/none/a");
  module->next = file.header()->modules;  // its own successor
  FamilyRecord* family = file.add_family(2);
  family->site = 0x5000, family->members_made = 1;
  const Part part = file.make_part(sizeof(CollectiveRecord));
  *file.in_part<CollectiveRecord>(part) = {1, part, 1, 1, 1};
  family->first_collective = part;
  Folder folder;
  file.write(folder.file("report-a-1"));
  const JobRun run = read(folder);
  ASSERT_EQ(run.families.size(), 1u);
  EXPECT_EQ(run.families[0].place.path, "") << "no module has its address";
  EXPECT_EQ(run.families[0].by_call.at(1).count, uint64_t{kCollectivesOfFamily});
  check_outputs(run);
}

TEST(DamagedFile, APathThatIsTooLongOrOutsideIsNone) {
  for (const uint32_t length : {4096u, 1u << 17, 1u << 30, ~0u}) {
    ReportFile file(0, 1, 1);
    file.add_module(0x1000, 0x2000, std::string(5000, 'x'))->path_bytes = length;
    Folder folder;
    file.write(folder.file("report-a-1"));
    const JobRun run = read(folder);
    EXPECT_EQ(run.processes[0].place(0x1500).path, "");
    EXPECT_EQ(run.processes[0].place(0x1500).offset, 0x500u);
  }
}

TEST(DamagedFile, PlacesAreNotLookedUpInPipes) {
  Folder folder;
  const std::string pipe = folder.file("pipe\033\n");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(words_of_place({pipe, 0x10}), "pipe\\x1b\\n+0x10");
}

// A file whose numbers are random must neither crash the reader nor make outputs of another form.
TEST(DamagedFile, RandomNumbersMakeNoMess) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    Folder folder;
    for (int i = 0; i < 2; ++i) {
      const auto ranks = static_cast<int32_t>(1 + random() % 5);
      ReportFile file(i, ranks, 12);
      file.make_timeline(kColumns, 5, 2);
      file.add_module(0x1000, 0x200000, "/none/a\"<b\n");
      for (int f = 0; f < 5; ++f) file.add_family(f);
      for (Part& part : file.header()->site_parts) part = 64;
      for (Part& part : file.header()->remote_parts) part = 128;
      const ProfileHeader good = *file.header();
      // Words of the header behind the fields that are checked, of the ranks and of the parts.
      const size_t first = offsetof(ProfileHeader, real_ns), end = file.bytes.size() / 8;
      for (uint64_t n = random() % 3000; n > 0; --n) {
        const size_t at = random() % 2 ? first + random() % (kHeaderBytes - first)
                                       : 8 * (random() % std::min<size_t>(end, 2500));
        const uint64_t word = random() % 3 ? random() : random() % 2 ? ~uint64_t{0} : random() % 99;
        if (at + 8 <= file.bytes.size()) std::memcpy(file.bytes.data() + at, &word, 8);
      }
      ProfileHeader* h = file.header();
      std::memcpy(static_cast<void*>(h), &good, first);
      h->columns = good.columns, h->rows = good.rows, h->memory_rows = good.memory_rows;
      h->parts_at = good.parts_at, h->timeline = good.timeline;
      h->remote_shift %= 31;
      h->time_unit = h->time_unit % kMostTimeUnit + 1;
      file.write(folder.file("report-" + std::to_string(i)));
    }
    const JobRun run = read(folder);
    ASSERT_EQ(run.processes.size(), 2u) << words_of_refused(run);
    check_outputs(run);
    for (int32_t rank = 0; rank < run.world_size; ++rank) costliest_place(run, rank);
  }
}

}  // namespace
}  // namespace fgmpi::report
