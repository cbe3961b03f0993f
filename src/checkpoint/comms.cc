// Communicators, groups and info objects in terms of the job.
#include <algorithm>

#include "checkpoint/deputy.h"
#include "checkpoint/describe.h"
#include "checkpoint/wrappers.h"

namespace fgmpi::checkpoint {
namespace {

void describe_graph(MPI_Comm comm, CommDescription* d) {
  int nodes = 0, edges = 0;
  g_next.MPI_Graphdims_get(comm, &nodes, &edges);
  d->index.resize(static_cast<size_t>(nodes));
  d->edges.resize(static_cast<size_t>(edges));
  g_next.MPI_Graph_get(comm, nodes, edges, d->index.data(), d->edges.data());
}

void describe_neighbors(MPI_Comm comm, CommDescription* d) {
  int in = 0, out = 0, weighted = 0;
  g_next.MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  d->weighted = weighted;
  d->sources.resize(static_cast<size_t>(in));
  d->source_weights.resize(static_cast<size_t>(in) + 1);
  d->targets.resize(static_cast<size_t>(out));
  d->target_weights.resize(static_cast<size_t>(out) + 1);
  g_next.MPI_Dist_graph_neighbors(
      comm, in, d->sources.data(),
      weighted ? d->source_weights.data() : next_internal().unweighted(), out, d->targets.data(),
      weighted ? d->target_weights.data() : next_internal().unweighted());
}

void describe_topology(MPI_Comm comm, CommDescription* d) {
  g_next.MPI_Topo_test(comm, &d->topology);
  if (d->topology == MPI_GRAPH) describe_graph(comm, d);
  if (d->topology == MPI_DIST_GRAPH) describe_neighbors(comm, d);
  if (d->topology != MPI_CART) return;
  int n = 0;
  g_next.MPI_Cartdim_get(comm, &n);
  const auto dims = static_cast<size_t>(n);
  std::vector<int> coords(dims + 1);
  d->dims.resize(dims);
  d->periods.resize(dims);
  g_next.MPI_Cart_get(comm, n, d->dims.data(), d->periods.data(), coords.data());
}

/// The communicator of these members, which all call this.
MPI_Comm comm_of_members(LayerRank& rank, const std::vector<int>& members) {
  MPI_Group group = group_of(rank, members);
  MPI_Comm made = MPI_COMM_NULL;
  g_next.MPI_Comm_create_group(rank.layer, group, 0, &made);
  g_next.MPI_Group_free(&group);
  return made;
}

MPI_Comm with_topology(MPI_Comm comm, const CommDescription& d) {
  MPI_Comm made = MPI_COMM_NULL;
  const auto size = [](const std::vector<int>& list) { return static_cast<int>(list.size()); };
  if (d.topology == MPI_CART)
    g_next.MPI_Cart_create(comm, size(d.dims), d.dims.data(), d.periods.data(), 0, &made);
  if (d.topology == MPI_GRAPH)
    g_next.MPI_Graph_create(comm, size(d.index), d.index.data(), d.edges.data(), 0, &made);
  if (d.topology == MPI_DIST_GRAPH)
    g_next.MPI_Dist_graph_create_adjacent(
        comm, size(d.sources), d.sources.data(),
        d.weighted ? d.source_weights.data() : next_internal().unweighted(), size(d.targets),
        d.targets.data(), d.weighted ? d.target_weights.data() : next_internal().unweighted(),
        MPI_INFO_NULL, 0, &made);
  if (made == MPI_COMM_NULL) return comm;
  g_next.MPI_Comm_free(&comm);
  return made;
}

MPI_Comm intercomm_of(LayerRank& rank, const CommDescription& d) {
  MPI_Comm local = comm_of_members(rank, d.members), made = MPI_COMM_NULL;
  g_next.MPI_Intercomm_create(local, 0, rank.layer, d.remote.front(), 0, &made);
  g_next.MPI_Comm_free(&local);
  return made;
}

}  // namespace

CommOfMembers::CommOfMembers(LayerRank& rank, const std::vector<int>& members) {
  made_ = members.size() > 1;
  real_ = made_ ? comm_of_members(rank, members) : members.empty() ? rank.layer : rank.self;
}

CommOfMembers::~CommOfMembers() {
  if (made_) g_next.MPI_Comm_free(&real_);
}

std::vector<int> members_of(const LayerRank& rank, MPI_Group group) {
  MPI_Group all = MPI_GROUP_NULL;
  int same = MPI_UNEQUAL;
  g_next.MPI_Comm_group(rank.layer, &all);
  g_next.MPI_Group_compare(group, all, &same);
  g_next.MPI_Group_free(&all);
  return same == MPI_IDENT ? std::vector<int>() : world_ranks_of(rank, group);
}

std::vector<int> world_ranks_of(const LayerRank& rank, MPI_Group group) {
  int n = 0;
  g_next.MPI_Group_size(group, &n);
  std::vector<int> own(static_cast<size_t>(n)), world(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) own[static_cast<size_t>(i)] = i;
  MPI_Group all = MPI_GROUP_NULL;
  g_next.MPI_Comm_group(rank.layer, &all);
  g_next.MPI_Group_translate_ranks(group, n, own.data(), all, world.data());
  g_next.MPI_Group_free(&all);
  return world;
}

MPI_Group group_of(const LayerRank& rank, const std::vector<int>& world_ranks) {
  MPI_Group all = MPI_GROUP_NULL, made = MPI_GROUP_NULL;
  g_next.MPI_Comm_group(rank.layer, &all);
  g_next.MPI_Group_incl(all, static_cast<int>(world_ranks.size()), world_ranks.data(), &made);
  g_next.MPI_Group_free(&all);
  return made;
}

std::vector<std::pair<std::string, std::string>> contents_of(MPI_Info info) {
  std::vector<std::pair<std::string, std::string>> contents;
  int n = 0;
  g_next.MPI_Info_get_nkeys(info, &n);
  for (int i = 0; i < n; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    int length = 0, flag = 0;
    g_next.MPI_Info_get_nthkey(info, i, key);
    g_next.MPI_Info_get_valuelen(info, key, &length, &flag);
    std::string value(static_cast<size_t>(length) + 1, '\0');
    g_next.MPI_Info_get(info, key, length, value.data(), &flag);
    value.resize(static_cast<size_t>(length));
    contents.emplace_back(key, value);
  }
  return contents;
}

MPI_Info info_of(const std::vector<std::pair<std::string, std::string>>& contents) {
  MPI_Info info = MPI_INFO_NULL;
  g_next.MPI_Info_create(&info);
  for (const auto& [key, value] : contents) g_next.MPI_Info_set(info, key.c_str(), value.c_str());
  return info;
}

MPI_Errhandler own_errhandler(const LayerRank& rank, int object) {
  return virtual_of(rank, Object::kErrhandler,
                    by_deputy("a checkpoint", fgmpi_own_errhandler, object));
}

void set_own_errhandler(const LayerRank& rank, int object, MPI_Errhandler errhandler) {
  by_deputy("a checkpoint", fgmpi_set_own_errhandler, object,
            real_of(rank, Object::kErrhandler, errhandler));
}

void describe_predefined(LayerRank& rank, MPI_Comm comm, CommDescription* d) {
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  g_next.MPI_Comm_get_name(comm, name, &length);
  d->name.assign(name, static_cast<size_t>(length));
  d->errhandler = own_errhandler(rank, comm);
  d->answers = comm == MPI_COMM_SELF && by_deputy("a checkpoint", fgmpi_self_answers);
  MPI_Info info = MPI_INFO_NULL;
  g_next.MPI_Comm_get_info(comm, &info);
  d->info = contents_of(info);
  g_next.MPI_Info_free(&info);
  d->attributes = take_attributes(rank, Callbacks::Form::kComm,
                                  [&](int keyval) { g_next.MPI_Comm_delete_attr(comm, keyval); });
}

bool describe_comm(LayerRank& rank, VirtualComm* comm) {
  comm->described = std::make_unique<CommDescription>();
  CommDescription* d = comm->described.get();
  int inter = 0;
  g_home.MPI_Comm_test_inter(comm->real, &inter);
  d->inter = inter;
  MPI_Group group = MPI_GROUP_NULL;
  g_next.MPI_Comm_group(comm->real, &group);
  d->members = world_ranks_of(rank, group);
  g_next.MPI_Group_free(&group);
  if (d->inter) {
    g_next.MPI_Comm_remote_group(comm->real, &group);
    d->remote = world_ranks_of(rank, group);
    g_next.MPI_Group_free(&group);
  } else {
    describe_topology(comm->real, d);
  }
  const auto foreign = [](const std::vector<int>& ranks) {
    return std::find(ranks.begin(), ranks.end(), MPI_UNDEFINED) != ranks.end();
  };
  return !foreign(d->members) && !foreign(d->remote);
}

void restore_extras(LayerRank& rank, MPI_Comm real, const CommDescription& d) {
  set_own_errhandler(rank, real, d.errhandler);
  if (d.answers)
    g_next.MPI_Comm_set_errhandler(real, real_of(rank, Object::kErrhandler, d.errhandler));
  if (!d.name.empty()) g_next.MPI_Comm_set_name(real, d.name.c_str());
  for (const StoredAttribute& a : d.attributes)
    next_internal().comm_set_attr(real, real_of(rank, Object::kKeyval, a.keyval), a.value, a.kind);
}

void remake_comm(LayerRank& rank, VirtualComm* comm) {
  const CommDescription& d = *comm->described;
  comm->real = d.inter ? intercomm_of(rank, d) : with_topology(comm_of_members(rank, d.members), d);
  if (!d.info.empty()) {
    MPI_Info info = info_of(d.info);
    g_next.MPI_Comm_set_info(comm->real, info);
    g_next.MPI_Info_free(&info);
  }
  restore_extras(rank, comm->real, d);
  comm->described.reset();
}

std::pair<int, int> neighbors_of(const LayerRank& rank, MPI_Comm comm) {
  const MPI_Comm real = real_of(rank, Object::kComm, comm);
  int topology = MPI_UNDEFINED, n = 0, in = 0, out = 0, weighted = 0;
  g_next.MPI_Topo_test(real, &topology);
  if (topology == MPI_CART && g_next.MPI_Cartdim_get(real, &n) == MPI_SUCCESS)
    return {2 * n, 2 * n};
  if (topology == MPI_GRAPH) {
    int self = 0;
    g_home.MPI_Comm_rank(real, &self);
    g_next.MPI_Graph_neighbors_count(real, self, &n);
    return {n, n};
  }
  if (topology == MPI_DIST_GRAPH) g_next.MPI_Dist_graph_neighbors_count(real, &in, &out, &weighted);
  return {in, out};
}

}  // namespace fgmpi::checkpoint
