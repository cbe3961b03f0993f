// Tools interface: categories (tool.h).

#include <algorithm>
#include <cstring>

#include "base/counters.h"
#include "mpi/tools/tool.h"

namespace fgmpi::mpi::tool {
namespace {

using host::Api;

struct Category {
  const char* name;
  const char* text;
};
/// The categories of settings in the order of settings::Component, then that of the counters.
constexpr Category kOwn[kCategories] = {
    {"fgmpi_job", "Finegrain MPI: how many ranks, and on what"},
    {"fgmpi_ranks", "Finegrain MPI: ranks in a process"},
    {"fgmpi_messages", "Finegrain MPI: messages"},
    {"fgmpi_transports", "Finegrain MPI: between processes"},
    {"fgmpi_collectives", "Finegrain MPI: communicators and collectives"},
    {"fgmpi_windows", "Finegrain MPI: windows"},
    {"fgmpi_files", "Finegrain MPI: files"},
    {"fgmpi_counters", "Finegrain MPI: what a process counts"},
};
constexpr int kCounters = kCategories - 1;
static_assert(kOwn[kCounters].name, "each component of settings has a category");

bool is_in(int category, int setting) {
  return category == static_cast<int>(settings::kRecords[setting].component);
}

int cvars_in(int category) {
  int count = 0;
  for (int i = 0; i < kOwnCvars; ++i) count += is_in(category, i);
  return count;
}

/// Gets indices from the host, which count from `own` on here.
template <class Member>
int indices_of_host(Member member, int index, int length, int* indices, int own) {
  std::fill_n(indices, length, -1);
  const int code = call_host(member, index - kCategories, length, indices);
  // Entries that the host did not fill in stay unchanged.
  for (int i = 0; code == MPI_SUCCESS && i < length; ++i)
    if (indices[i] >= 0) indices[i] += own;
  return code;
}

int check(int index, int length, const int* indices) {
  if (int code = check_index(index, category_get_num)) return code;
  return length < 0 || (length > 0 && !indices) ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}

}  // namespace

int category_get_num(int* num) {
  return count_all([](int* out) { return call_host(&Api::T_category_get_num, out); }, kCategories,
                   num);
}

int category_get_index(const char* name, int* index) {
  return find_name(
      name, kCategories, [=](int i) { return !std::strcmp(kOwn[i].name, name); },
      [=](int* out) { return call_host(&Api::T_category_get_index, name, out); }, index);
}

int category_get_info(int index, char* name, int* name_len, char* desc, int* desc_len, int* cvars,
                      int* pvars, int* categories) {
  if (int code = check(index, 0, nullptr)) return code;
  if (index >= kCategories)
    return call_host(&Api::T_category_get_info, index - kCategories, name, name_len, desc, desc_len,
                     cvars, pvars, categories);
  copy_text_out(kOwn[index].name, name, name_len);
  copy_text_out(kOwn[index].text, desc, desc_len);
  give(cvars, cvars_in(index));
  give(pvars, index == kCounters ? int{counters::kCount} : 0);
  give(categories, 0);
  return MPI_SUCCESS;
}

int category_get_num_events(int index, int* num) {
  if (int code = check(index, 0, nullptr)) return code;
  if (index >= kCategories)
    return call_host(&Api::T_category_get_num_events, index - kCategories, num);
  if (!num) return MPI_T_ERR_INVALID;
  *num = events_in(index, 0, nullptr);
  return MPI_SUCCESS;
}

int category_get_cvars(int index, int length, int* indices) {
  if (int code = check(index, length, indices)) return code;
  if (index >= kCategories)
    return indices_of_host(&Api::T_category_get_cvars, index, length, indices, kOwnCvars);
  for (int i = 0, at = 0; i < kOwnCvars && at < length; ++i)
    if (is_in(index, i)) indices[at++] = i;
  return MPI_SUCCESS;
}

int category_get_pvars(int index, int length, int* indices) {
  if (int code = check(index, length, indices)) return code;
  if (index >= kCategories)
    return indices_of_host(&Api::T_category_get_pvars, index, length, indices, counters::kCount);
  for (int i = 0; index == kCounters && i < std::min(length, int{counters::kCount}); ++i)
    indices[i] = i;
  return MPI_SUCCESS;
}

int category_get_categories(int index, int length, int* indices) {
  if (int code = check(index, length, indices)) return code;
  if (index < kCategories) return MPI_SUCCESS;
  return indices_of_host(&Api::T_category_get_categories, index, length, indices, kCategories);
}

int category_get_events(int index, int length, int* indices) {
  if (int code = check(index, length, indices)) return code;
  if (index < kCategories) return events_in(index, length, indices), MPI_SUCCESS;
  return call_host(&Api::T_category_get_events, index - kCategories, length, indices);
}

}  // namespace fgmpi::mpi::tool
