// Groups (MPI-4.0 section 7.3). Local calls: nothing here switches.

#include "mpi/comm_common.h"

using namespace fgmpi;

namespace {

template <class Operation>
int binary(const char* call, MPI_Group group1, MPI_Group group2, MPI_Group* newgroup,
           Operation operation) {
  FGMPI_NEED_INIT(call);
  comm::Group *a, *b;
  FGMPI_RETURN_IF(call, nullptr, mpi::find_group(group1, "group1", &a));
  FGMPI_RETURN_IF(call, nullptr, mpi::find_group(group2, "group2", &b));
  FGMPI_RETURN_IF(call, nullptr, mpi::check_pointer(newgroup, "newgroup"));
  return mpi::done(call, nullptr, comm::make_group(operation(a->map, b->map), newgroup));
}

template <class Operation>
int listed(const char* call, MPI_Group group, int n, const void* list, MPI_Group* newgroup,
           Operation operation) {
  FGMPI_NEED_INIT(call);
  comm::Group* g;
  FGMPI_RETURN_IF(call, nullptr, mpi::find_group(group, "group", &g));
  if (n < 0)
    return mpi::fail(call, nullptr, error(MPI_ERR_ARG, "n is %d; allowed is 0 or more", n));
  if (n > 0) FGMPI_RETURN_IF(call, nullptr, mpi::check_pointer(list, "ranks"));
  FGMPI_RETURN_IF(call, nullptr, mpi::check_pointer(newgroup, "newgroup"));
  RankMap map;
  FGMPI_RETURN_IF(call, nullptr, operation(g->map, &map));
  return mpi::done(call, nullptr, comm::make_group(std::move(map), newgroup));
}

std::span<const int32_t> ranks_of(const int ranks[], int n) {
  return {ranks, static_cast<size_t>(n)};
}

}  // namespace

FGMPI_EXPORT(MPI_Group_size);
int PMPI_Group_size(MPI_Group group, int* size) {
  constexpr const char* kCall = "MPI_Group_size";
  FGMPI_NEED_INIT(kCall);
  FGMPI_RETURN_IF(kCall, nullptr, mpi::check_pointer(size, "size"));
  comm::Group* g;
  FGMPI_RETURN_IF(kCall, nullptr, mpi::find_group(group, "group", &g));
  *size = g->map.size();
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Group_rank);
int PMPI_Group_rank(MPI_Group group, int* rank) {
  constexpr const char* kCall = "MPI_Group_rank";
  FGMPI_NEED_INIT(kCall);
  FGMPI_RETURN_IF(kCall, nullptr, mpi::check_pointer(rank, "rank"));
  comm::Group* g;
  FGMPI_RETURN_IF(kCall, nullptr, mpi::find_group(group, "group", &g));
  *rank = comm::group_rank(g);
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Group_translate_ranks);
int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
                               int ranks2[]) {
  constexpr const char* kCall = "MPI_Group_translate_ranks";
  FGMPI_NEED_INIT(kCall);
  comm::Group *a, *b;
  FGMPI_RETURN_IF(kCall, nullptr, mpi::find_group(group1, "group1", &a));
  FGMPI_RETURN_IF(kCall, nullptr, mpi::find_group(group2, "group2", &b));
  if (n < 0)
    return mpi::fail(kCall, nullptr, error(MPI_ERR_ARG, "n is %d; allowed is 0 or more", n));
  if (n > 0) FGMPI_RETURN_IF(kCall, nullptr, mpi::check_pointer(ranks1, "ranks1"));
  if (n > 0) FGMPI_RETURN_IF(kCall, nullptr, mpi::check_pointer(ranks2, "ranks2"));
  return mpi::done(kCall, nullptr, comm::translate(a->map, ranks_of(ranks1, n), b->map, ranks2));
}

FGMPI_EXPORT(MPI_Group_compare);
int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int* result) {
  constexpr const char* kCall = "MPI_Group_compare";
  FGMPI_NEED_INIT(kCall);
  FGMPI_RETURN_IF(kCall, nullptr, mpi::check_pointer(result, "result"));
  comm::Group *a, *b;
  FGMPI_RETURN_IF(kCall, nullptr, mpi::find_group(group1, "group1", &a));
  FGMPI_RETURN_IF(kCall, nullptr, mpi::find_group(group2, "group2", &b));
  *result = comm::compare(a->map, b->map);
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Group_union);
int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  if (newgroup) *newgroup = MPI_GROUP_NULL;
  return binary("MPI_Group_union", group1, group2, newgroup, comm::unite);
}

FGMPI_EXPORT(MPI_Group_intersection);
int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  if (newgroup) *newgroup = MPI_GROUP_NULL;
  return binary("MPI_Group_intersection", group1, group2, newgroup, comm::intersect);
}

FGMPI_EXPORT(MPI_Group_difference);
int PMPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  if (newgroup) *newgroup = MPI_GROUP_NULL;
  return binary("MPI_Group_difference", group1, group2, newgroup, comm::subtract);
}

FGMPI_EXPORT(MPI_Group_incl);
int PMPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  if (newgroup) *newgroup = MPI_GROUP_NULL;
  return listed("MPI_Group_incl", group, n, ranks, newgroup, [&](const RankMap& map, RankMap* out) {
    return comm::include(map, ranks_of(ranks, n), out);
  });
}

FGMPI_EXPORT(MPI_Group_excl);
int PMPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  if (newgroup) *newgroup = MPI_GROUP_NULL;
  return listed("MPI_Group_excl", group, n, ranks, newgroup, [&](const RankMap& map, RankMap* out) {
    return comm::exclude(map, ranks_of(ranks, n), out);
  });
}

FGMPI_EXPORT(MPI_Group_range_incl);
int PMPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  if (newgroup) *newgroup = MPI_GROUP_NULL;
  return listed(
      "MPI_Group_range_incl", group, n, ranges, newgroup,
      [&](const RankMap& map, RankMap* out) { return comm::range_include(map, ranges, n, out); });
}

FGMPI_EXPORT(MPI_Group_range_excl);
int PMPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  if (newgroup) *newgroup = MPI_GROUP_NULL;
  return listed(
      "MPI_Group_range_excl", group, n, ranges, newgroup,
      [&](const RankMap& map, RankMap* out) { return comm::range_exclude(map, ranges, n, out); });
}

FGMPI_EXPORT(MPI_Group_free);
int PMPI_Group_free(MPI_Group* group) {
  constexpr const char* kCall = "MPI_Group_free";
  FGMPI_RETURN_IF(kCall, nullptr, mpi::check_pointer(group, "group"));
  comm::Group* g;
  FGMPI_RETURN_IF(kCall, nullptr, mpi::find_group(*group, "group", &g));
  comm::free_group(*group);
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}
