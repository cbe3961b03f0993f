#include "host_fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "../setting.h"
#include "base/processor.h"

extern "C" char** environ;

namespace fgmpi::host {
namespace {

using Variable = fgmpi::test::Setting;

TEST(FindLibrary, FindsTheInstalledHost) {
  std::string path;
  Status status = find_library(&path);
  ASSERT_TRUE(status.ok()) << status.what();
  EXPECT_NE(path.find("libmpich.so.12"), std::string::npos);
}

TEST(FindLibrary, RefusesWhatIsNotALibrary) {
  // Here the library's own code is in the program.
  const std::string values[] = {"/nowhere/libmpich.so.12", "libmpich.so.12", "/tmp",
                                std::filesystem::read_symlink("/proc/self/exe")};
  std::string path;
  for (const std::string& value : values) {
    Variable variable("FGMPI_HOST_MPI", value.c_str());
    Status status = find_library(&path);
    EXPECT_FALSE(status.ok()) << value;
    EXPECT_NE(status.what().find("FGMPI_HOST_MPI=" + value), std::string::npos) << status.what();
  }
}

using HostDeathTest = WithHost;

TEST_F(HostDeathTest, ALibraryThatIsNoMpiEndsTheProcessWithOneLine) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  std::string libc = "/lib/" FGMPI_DEBIAN_FOLDER "/libm.so.6";
  auto load = [&] {
    Variable variable("FGMPI_HOST_MPI", libc.c_str());
    api();
  };
  EXPECT_EXIT(load(), testing::ExitedWithCode(1), "^fgmpi: [^\n]*libm.so.6: not an MPI library\n$");
}

// Handles of Open MPI are pointers: it is refused before any of its functions sees one of ours.
TEST_F(HostDeathTest, AnotherAbiEndsTheProcessWithOneLine) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string open_mpi = "/usr/lib/" FGMPI_DEBIAN_FOLDER "/libmpi.so.40";
  if (access(open_mpi.c_str(), R_OK) != 0) GTEST_SKIP() << "Open MPI is not installed";
  auto load = [&] {
    Variable variable("FGMPI_HOST_MPI", open_mpi.c_str());
    api();
  };
  EXPECT_EXIT(load(), testing::ExitedWithCode(1),
              "^fgmpi: [^\n]*this is Open MPI[^\n]*MPICH's ABI[^\n]*\n$");
}

#ifdef FGMPI_SANITIZE
TEST(HostDeathTestSanitized, SaysWhyItCannotBeLoaded) {
  EXPECT_EXIT(api(), testing::ExitedWithCode(1), "^fgmpi: [^\n]*address sanitizer[^\n]*\n$");
}
#endif

using Host = WithHost;

TEST_F(Host, StartsOnFirstNeedAsASingletonAndLeavesTheEnvironmentAlone) {
  Variable rank("PMI_RANK", "3"), size("PMI_SIZE", "7"), fd("PMI_FD", "99");
  char** before = environ;
  int world = 0;
  EXPECT_EQ(call([&](const Api& h) { return h.Comm_size(MPI_COMM_WORLD, &world); }), MPI_SUCCESS);
  EXPECT_EQ(world, 1);
  EXPECT_TRUE(initialised());
  EXPECT_EQ(environ, before);
  EXPECT_STREQ(getenv("PMI_SIZE"), "7");
  EXPECT_EQ(getenv("UCX_TLS"), nullptr);
}

TEST_F(Host, FailuresComeBackAsCodes) {
  int code = call([&](const Api& h) {
    int size;
    return h.Type_size(MPI_DATATYPE_NULL, &size);
  });
  int error_class = 0;
  api().Error_class(code, &error_class);
  EXPECT_EQ(error_class, MPI_ERR_TYPE);
  MPI_Info info;
  ASSERT_EQ(api().Info_create(&info), MPI_SUCCESS);
  api().Error_class(api().Info_set(info, "", "value"), &error_class);
  EXPECT_EQ(error_class, MPI_ERR_INFO_KEY);
  EXPECT_EQ(api().Info_free(&info), MPI_SUCCESS);
}

TEST_F(Host, HasEveryFunctionOfItsHeader) {
  std::string version;
  ASSERT_TRUE(find_version(&version).ok());
  if (version != "MPICH " MPICH_VERSION)
    GTEST_SKIP() << "the host is " << version << ", the header MPICH " MPICH_VERSION;
  api_uninitialised();
  for_each_function([](auto member, const char* symbol) {
    // Before MPICH 5 the Fortran library has these, or no library.
    if (std::strstr(symbol, "f08")) return;
    // From MPICH 5 on the C++ binding has MPIX_Op_create_x and its like in place of these.
    const bool of_cxx = std::strstr(symbol, "_set_cxx");
    if (of_cxx && host_version() >= 50000) return;
    EXPECT_NE(api_uninitialised().*member, nullptr) << symbol;
  });
}

}  // namespace
}  // namespace fgmpi::host
