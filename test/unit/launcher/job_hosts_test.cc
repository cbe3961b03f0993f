// Hosts that command lines, files and resource managers name, and the hosts that are left when some
// are lost.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/environment.h"
#include "launcher/mpiexec/job_hosts.h"

namespace fgmpi::launcher {
namespace {

class JobHostsTest : public testing::Test {
 protected:
  JobHostsTest() {
    char name[] = "/tmp/job_hosts_XXXXXX";
    folder_ = mkdtemp(name);
    for (const char* variable : kVariables) environment::unset(variable);
  }
  ~JobHostsTest() override {
    std::filesystem::remove_all(folder_);
    for (const char* variable : kVariables) environment::unset(variable);
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static constexpr const char* kVariables[] = {
      "HYDRA_HOST_FILE", "SLURM_JOB_ID", "SLURM_NODELIST", "SLURM_TASKS_PER_NODE",
      "PBS_NODEFILE",    "LSB_HOSTS",    "PE_HOSTFILE"};
  std::string folder_;
};

// What is left of the hosts that options or the environment name, as text: options, processes.
std::string left_of(const std::string& folder, Words options, const std::vector<LostHost>& lost,
                    int64_t processes) {
  JobHosts hosts;
  if (const Status found = JobHosts::find(options, &hosts); !found.ok()) return found.what();
  std::string text;
  for (const std::string& name : hosts.leave_out(lost)) text += "-" + name + " ";
  if (hosts.empty()) return text + "none";
  if (const Status written = hosts.rewrite(folder, &options); !written.ok()) return written.what();
  for (const std::string& word : options) text += word + " ";
  const int64_t left = hosts.processes_left(processes);
  return text + std::to_string(left) + ": " + hosts.describe(left);
}

TEST_F(JobHostsTest, AListOfHosts) {
  EXPECT_EQ(left_of(folder_, {"-hosts", "a:2,b:2,c:2", "-genv", "A", "B"}, {{1, "b"}}, 6),
            "-b -genv A B -hosts a:2,c:2 4: 2 on a, 2 on c");
  EXPECT_EQ(left_of(folder_, {"-genv", "hosts", "-f", "-hosts=a,b,c"}, {{1, "b"}, {0, "a"}}, 3),
            "-b -a -genv hosts -f -hosts c 1: 1 on c");
  // A host that has no process yet takes its part.
  EXPECT_EQ(left_of(folder_, {"-hosts", "a:2,b:2,c:4"}, {{0, "a"}}, 4),
            "-a -hosts b:2,c:4 4: 2 on b, 2 on c");
  // More processes than slots.
  EXPECT_EQ(left_of(folder_, {"-hosts", "a,b,c"}, {{0, "a"}}, 9),
            "-a -hosts b,c 6: 3 on b, 3 on c");
  EXPECT_EQ(left_of(folder_, {"-hosts", "a,b,c:3"}, {{0, "a"}}, 9),
            "-a -hosts b,c:3 7: 2 on b, 5 on c");
  EXPECT_EQ(left_of(folder_, {"-ppn", "3", "-hosts", "a,b"}, {{0, "a"}}, 6),
            "-a -ppn 3 -hosts b 3: 3 on b");
  EXPECT_EQ(left_of(folder_, {"-hosts", "a:2,b:2"}, {{0, "a"}, {1, "b"}}, 4), "-a -b none");
  EXPECT_EQ(left_of(folder_, {"-n", "4"}, {{0, ""}}, 4), "none");
}

// Hydra has one proxy for lines of one host that follow each other.
TEST_F(JobHostsTest, HostsThatOnlyTheirProxiesName) {
  EXPECT_EQ(left_of(folder_, {"-hosts", "a,a,b,c"}, {{1, ""}}, 4),
            "-b -hosts a,a,c 3: 2 on a, 1 on c");
  const char* names[] = {"a", "b", "b", "c", "c", "a", "b"};  // of processes
  for (int process = 0; process < 7; ++process)
    EXPECT_EQ(left_of(folder_, {"-hosts", "a:1,b:2,c:2"}, {{-1, "", process}}, 7).substr(0, 3),
              std::string("-") + names[process] + " ");
  EXPECT_EQ(left_of(folder_, {"-hosts", "a,b"}, {{7, ""}}, 2), "-hosts a,b 2: 1 on a, 1 on b");
}

TEST_F(JobHostsTest, AFileOfHosts) {
  const std::string file = write("hosts", "# ours\na:2 binding=0\n\n b:2 # the second\nc\n");
  const std::string copy = folder_ + "/hosts-left";
  EXPECT_EQ(left_of(folder_, {"-f", file, "-ft"}, {{1, "b"}}, 5),
            "-b -ft -f " + copy + " 3: 2 on a, 1 on c");
  EXPECT_EQ(read(copy), "a:2 binding=0\nc\n");
  // And from there, again.
  EXPECT_EQ(left_of(folder_, {"-f", copy}, {{0, "a"}}, 3), "-a -f " + copy + " 1: 1 on c");
  EXPECT_EQ(read(copy), "c\n");
  EXPECT_NE(left_of(folder_, {"-f", folder_ + "/none"}, {}, 3).find("No such file"),
            std::string::npos);
  environment::set(environment::kHydraHostFile, file.c_str());
  EXPECT_EQ(left_of(folder_, {}, {{1, "b"}}, 5), "-b -f " + copy + " 3: 2 on a, 1 on c");
}

TEST_F(JobHostsTest, ResourceManagers) {
  environment::set(environment::kSlurmJob, "7");
  environment::set("SLURM_NODELIST", "n[1-2,07],x");
  environment::set("SLURM_TASKS_PER_NODE", "2(x3),1");
  EXPECT_EQ(left_of(folder_, {}, {{2, "n07"}}, 7),
            "-n07 -hosts n1:2,n2:2,x:1 5: 2 on n1, 2 on n2, 1 on x");
  EXPECT_EQ(left_of(folder_, {"-hosts", "n1,n2"}, {{0, "n1"}}, 2), "-n1 -hosts n2 1: 1 on n2");
  environment::set("SLURM_TASKS_PER_NODE", "2(x2)");
  EXPECT_NE(left_of(folder_, {}, {}, 7).find("is no list of numbers for n[1-2,07],x"),
            std::string::npos);
  environment::unset(environment::kSlurmJob);
  environment::set(environment::kLsfHosts, "a a b c c");
  EXPECT_EQ(left_of(folder_, {}, {{1, "b"}}, 5), "-b -hosts a,a,c,c 4: 2 on a, 2 on c");
  environment::unset(environment::kLsfHosts);
  environment::set(environment::kGridEngineHosts, write("pe", "a 2 q U\nb 1 q U\n").c_str());
  EXPECT_EQ(left_of(folder_, {}, {{1, "b"}}, 3), "-b -hosts a:2 2: 2 on a");
}

}  // namespace
}  // namespace fgmpi::launcher
