#include <gtest/gtest.h>
#include <stdlib.h>

#include "exchange.h"
#include "transport/registry.h"

namespace fgmpi::transport {
namespace {

using namespace testing;

/// A provider or an interface that cannot be used ends the opening with an error that names it.
TEST(Ofi, UnknownProviderIsNamed) {
  expect_all_good(run_job(1, [](Member& m) {
    setenv("FI_PROVIDER", "nonesuch", 1);
    auto t = make("ofi");
    std::string address;
    Status status = t->open({&m.sink, &m.sink}, &address);
    REQUIRE(!status.ok() && status.what().find("FI_PROVIDER=nonesuch") != std::string::npos);
  }));
  expect_all_good(run_job(1, [](Member& m) {
    setenv("FI_PROVIDER", "shm", 1);
    auto t = make("ofi");
    std::string address;
    Status status = t->open({&m.sink, &m.sink}, &address);
    REQUIRE(!status.ok() && status.what().find("FI_PROVIDER=shm: ") == 0);
  }));
  expect_all_good(run_job(1, [](Member& m) {
    testing::set_variable("FGMPI_OFI_INTERFACE", "nonesuch0");
    auto t = make("ofi");
    std::string address;
    Status status = t->open({&m.sink, &m.sink}, &address);
    REQUIRE(!status.ok() &&
            status.what().find("FGMPI_OFI_INTERFACE=nonesuch0") != std::string::npos);
  }));
}

}  // namespace
}  // namespace fgmpi::transport
