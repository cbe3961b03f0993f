// Parameters of links are found again in times that a known machine would have; the file that is
// written reads as that machine.
#include "readers/prediction/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "readers/prediction/machine_file.h"

namespace fgmpi::predict {
namespace {

constexpr VirtualTime kNs = kPicosecondsPerNs;

LinkClass example(uint64_t eager) {
  LinkClass links;
  links.eager_bytes = eager;
  links.pieces = {{0, 9000 * kNs, 1800 * kNs, 2200 * kNs, 4000 * kNs, 500},
                  {8192, 15'000 * kNs, 1900 * kNs, 2500 * kNs, 0, 350}};
  return links;
}

/// The times of that machine, each wrong by up to `noise` of it.
MeasuredLinks measure(const LinkClass& links, double noise, uint64_t most = 4 << 20) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> error(1 - noise, 1 + noise);
  MeasuredLinks out;
  out.eager_bytes = links.eager_bytes;
  for (uint64_t bytes = 0; bytes <= most; bytes = bytes ? 2 * bytes : 64) {
    const LinkPiece& p = links.piece(bytes);
    const bool eager = bytes <= links.eager_bytes;
    out.samples.push_back({bytes, error(random) * one_way_ns(links, bytes),
                           eager ? static_cast<double>(p.send_overhead) / kNs : 0,
                           eager ? static_cast<double>(p.receive_overhead) / kNs : 0,
                           static_cast<double>(occupancy(p, bytes)) / kNs});
  }
  return out;
}

void expect_near(const LinkClass& fit, const LinkClass& links, double part) {
  for (uint64_t bytes = 0; bytes <= 4 << 20; bytes = bytes * 5 / 4 + 1)
    EXPECT_NEAR(one_way_ns(fit, bytes) / one_way_ns(links, bytes), 1, part) << bytes;
}

TEST(Calibration, FindsParameters) {
  for (const uint64_t eager : {0u, 64u, 16'384u, 65'536u, 100'000u, 8u << 20}) {
    const LinkClass links = example(eager);
    const LinkClass fit = fit_links(measure(links, 0));
    EXPECT_EQ(fit.eager_bytes, eager);
    EXPECT_LE(fit.pieces.size(), 4u) << eager;
    expect_near(fit, links, 0.01);
    EXPECT_NEAR(static_cast<double>(fit.pieces[0].latency), 9e6, 1e4);
    if (eager) {
      EXPECT_EQ(fit.pieces[0].send_overhead, 1800 * kNs);
    }
  }
}

TEST(Calibration, LeavesNoiseOut) {
  for (const uint64_t eager : {64u, 65'536u}) {
    const LinkClass fit = fit_links(measure(example(eager), 0.03));
    EXPECT_LE(fit.pieces.size(), 6u);
    expect_near(fit, example(eager), 0.06);
  }
}

TEST(Calibration, OverheadsThatOverlap) {
  // A blocking send may take as long as the whole way: no latency is below 0 then.
  MeasuredLinks measured;
  measured.eager_bytes = 1000;
  measured.samples = {{0, 100, 90, 60, 90}, {1000, 150, 140, 80, 10}, {2000, 90, 0, 0, 0}};
  const LinkClass fit = fit_links(measured);
  for (const LinkPiece& p : fit.pieces) {
    EXPECT_GE(p.latency, 0);
    EXPECT_GE(p.gap, 0);
    EXPECT_GT(p.per_byte, 0);
  }
  EXPECT_NEAR(one_way_ns(fit, 0), 100, 5);
}

TEST(Calibration, OneLongMessage) {
  MeasuredLinks measured;
  measured.eager_bytes = 1000;
  measured.samples = {{0, 100, 10, 10, 10}, {1000, 200, 10, 10, 10}, {4000, 800, 0, 0, 0}};
  const LinkClass fit = fit_links(measured);
  ASSERT_EQ(fit.pieces.size(), 2u);
  EXPECT_NEAR(one_way_ns(fit, 4000), 800, 5);
  EXPECT_NEAR(one_way_ns(fit, 8000), 1440, 10);  // 160 for envelope and permission
}

TEST(Calibration, FileIsThatMachine) {
  const MeasuredLinks inside = measure(example(4096), 0, 1 << 20);
  MeasuredLinks between = measure(example(65'536), 0.02);
  between.buffered_bytes = 65'000;
  between.overlaps = false;
  MeasuredMachine measured{"a \"name\"", 3, 2, inside, &between};
  measured.inside.reduction = 7.25;
  PredictedMachine read;
  const Status status = read_machine(machine_file_of(measured), "file", &read);
  ASSERT_TRUE(status.ok()) << status.what();
  EXPECT_EQ(read.name, "a name");
  EXPECT_EQ(read.nodes, 3u);
  EXPECT_EQ(read.ranks_per_node, 2u);
  EXPECT_FALSE(read.overlaps);
  EXPECT_EQ(read.buffered_bytes, 65'000u);
  EXPECT_EQ(read.compute_factor, 1);
  EXPECT_NEAR(read.reduce_per_byte, 1000 / 7.25, 1e-6);
  EXPECT_EQ(read.inside.eager_bytes, 4096u);
  expect_near(read.between, example(65'536), 0.05);
  measured.between = nullptr;
  ASSERT_TRUE(read_machine(machine_file_of(measured), "file", &read).ok());
  EXPECT_EQ(read.nodes, 0u);
  EXPECT_EQ(read.between.eager_bytes, 4096u);
}

TEST(Calibration, ReadsWhatIsPrinted) {
  MeasuredLinks read;
  const std::string text =
      "a warning of somebody\neager 1 100\neager 2 200\neager 3 300\noverlaps 1 0.1 9000\nbuffered "
      "1 0.5 2000\n"
      "sample 1 8 10 1 2 3\nsample 2 8 30 1 2 3\nsample 3 8 20 4 5 6\nsample 1 0 9 1 1 1\n"
      "reduction 12.5\n";
  EXPECT_FALSE(read_measured_links(text, &read).ok());
  read = MeasuredLinks();
  ASSERT_TRUE(read_measured_links(text + "end\n", &read).ok());
  EXPECT_EQ(read.eager_bytes, 200u);
  EXPECT_EQ(read.buffered_bytes, 1000u);
  EXPECT_FALSE(read.overlaps);
  EXPECT_EQ(read.reduction, 12.5);
  ASSERT_EQ(read.samples.size(), 2u);
  EXPECT_EQ(read.samples[0].bytes, 0u);
  EXPECT_EQ(read.samples[1].one_way, 20);
  EXPECT_FALSE(read_measured_links("end\n", &read).ok());
}

TEST(Calibration, HostFiles) {
  std::vector<CalibratedHost> hosts;
  ASSERT_TRUE(read_host_file("# all\na:4\n b # slow\n\na:2\nb\n", "f", &hosts).ok());
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].ranks, 6u);
  EXPECT_EQ(hosts[1].name, "b");
  EXPECT_EQ(hosts[1].ranks, 2u);
  hosts.clear();
  const Status status = read_host_file("a\nb:x\n", "f", &hosts);
  EXPECT_EQ(status.what(), "f, line 2: b:x: allowed is HOST or HOST:RANKS");
  hosts.clear();
  EXPECT_FALSE(read_host_file("# none\n", "f", &hosts).ok());
}

}  // namespace
}  // namespace fgmpi::predict
