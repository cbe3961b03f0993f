// Groups (MPI-4.0 section 7.3). Local calls: nothing here switches.

#include "mpi/calls.h"
#include "mpi/comm/comm_common.h"

namespace fgmpi::mpi {
namespace {

std::span<const int32_t> ranks_of(const int ranks[], int n) {
  return {ranks, static_cast<size_t>(n)};
}

/// make(&map) fills the map of the new group, which is made from members of another one.
template <class Make>
Status new_group(const comm::Group* from, MPI_Group* out, Make&& make) {
  RankMap map;
  FGMPI_TRY(make(&map));
  return comm::make_group(std::move(map), out, from->session);
}

}  // namespace

Status group_translate_ranks(comm::Group* group1, int n, const int ranks1[], comm::Group* group2,
                             int ranks2[]) {
  return comm::translate(group1->map, ranks_of(ranks1, n), group2->map, ranks2);
}

Status group_incl(comm::Group* group, int n, const int ranks[], MPI_Group* newgroup) {
  return new_group(group, newgroup, [&](RankMap* out) {
    return comm::include(group->map, ranks_of(ranks, n), out);
  });
}

Status group_excl(comm::Group* group, int n, const int ranks[], MPI_Group* newgroup) {
  return new_group(group, newgroup, [&](RankMap* out) {
    return comm::exclude(group->map, ranks_of(ranks, n), out);
  });
}

Status group_range_incl(comm::Group* group, int n, int ranges[][3], MPI_Group* newgroup) {
  return new_group(group, newgroup,
                   [&](RankMap* out) { return comm::range_include(group->map, ranges, n, out); });
}

Status group_range_excl(comm::Group* group, int n, int ranges[][3], MPI_Group* newgroup) {
  return new_group(group, newgroup,
                   [&](RankMap* out) { return comm::range_exclude(group->map, ranges, n, out); });
}

}  // namespace fgmpi::mpi

using namespace fgmpi;

FGMPI_EXPORT(MPI_Group_free);
int PMPI_Group_free(MPI_Group* group) {
  FGMPI_TAKE_TURN("MPI_Group_free", PMPI_Group_free(group));
  constexpr const char* kCall = "MPI_Group_free";
  FGMPI_RETURN_IF(kCall, nullptr, mpi::check_pointer(group, "group"));
  comm::Group* g;
  FGMPI_RETURN_IF(kCall, nullptr, mpi::find_group(*group, "group", &g));
  comm::free_group(*group);
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}
