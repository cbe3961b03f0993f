// A box of cells a rank on a 3-D Cartesian communicator; faces, edges and corners are exchanged
// with up to 26 neighbours through subarray types and persistent requests, and collectives run
// inside exception handlers.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "mpitest.h"

namespace {

constexpr int kCells = 4, kWidth = kCells + 2, kSteps = 5;

struct Domain {
  std::vector<double> cells = std::vector<double>(kWidth * kWidth * kWidth, -1.0);
  double& at(int i, int j, int k) { return cells[(i * kWidth + j) * kWidth + k]; }
};

struct Neighbour {
  int rank, offset[3];
};

std::unique_ptr<Domain> domain;  // a rank's own, as all globals
int exchanges = 0;
std::vector<MPI_Request> requests;
std::vector<MPI_Datatype> types;

double value(int rank, int i, int j, int k, int step) {
  return rank * 1000 + (i * kCells + j) * kCells + k + step * 0.5;
}

/// The cells next to the neighbour: inside the box (what it gets) or outside (what it gives).
MPI_Datatype layer(const int offset[3], bool inside) {
  int sizes[3] = {kWidth, kWidth, kWidth}, extent[3], start[3];
  for (int m = 0; m < 3; ++m) {
    extent[m] = offset[m] ? 1 : kCells;
    start[m] = offset[m] == 0  ? 1
               : offset[m] < 0 ? (inside ? 1 : 0)
                               : (inside ? kCells : kCells + 1);
  }
  MPI_Datatype type;
  OK(MPI_Type_create_subarray(3, sizes, extent, start, MPI_ORDER_C, MPI_DOUBLE, &type));
  OK(MPI_Type_commit(&type));
  types.push_back(type);
  return type;
}

std::vector<Neighbour> connect(MPI_Comm grid, const int dims[3], const int periods[3],
                               const int coords[3]) {
  std::vector<Neighbour> neighbours;
  for (int n = 0; n < 27; ++n) {
    Neighbour next{0, {n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1}};
    int place[3];
    bool outside = n == 13;  // this rank itself
    for (int m = 0; m < 3; ++m) {
      place[m] = coords[m] + next.offset[m];
      outside = outside || (!periods[m] && (place[m] < 0 || place[m] >= dims[m]));
    }
    if (outside) continue;
    OK(MPI_Cart_rank(grid, place, &next.rank));
    MPI_Request receive, send;
    OK(MPI_Recv_init(domain->cells.data(), 1, layer(next.offset, false), next.rank, 26 - n, grid,
                     &receive));
    OK(MPI_Send_init(domain->cells.data(), 1, layer(next.offset, true), next.rank, n, grid, &send));
    requests.insert(requests.end(), {receive, send});
    neighbours.push_back(next);
  }
  return neighbours;
}

void exchange(bool wait) {
  int count = static_cast<int>(requests.size()), done = 0;
  OK(MPI_Startall(count, requests.data()));
  if (wait) {
    std::vector<MPI_Status> statuses(requests.size());
    OK(MPI_Waitall(count, requests.data(), statuses.data()));
  } else {
    while (!done) OK(MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE));
  }
  ++exchanges;
}

void check(const Neighbour& from, int step) {
  int here[3], there[3];
  for (int m = 0; m < 3; ++m) {
    here[m] = from.offset[m] < 0 ? 0 : from.offset[m] > 0 ? kCells + 1 : 2;
    there[m] = from.offset[m] < 0 ? kCells : from.offset[m] > 0 ? 1 : 2;
  }
  CHECK(domain->at(here[0], here[1], here[2]) ==
        value(from.rank, there[0], there[1], there[2], step));
}

/// Other ranks throw and catch while this one is in its handler.
void reduce_in_handlers(MPI_Comm grid, int rank, int size) {
  try {
    try {
      throw std::runtime_error("rank " + std::to_string(rank));
    } catch (std::exception& e) {
      int most;
      OK(MPI_Allreduce(&rank, &most, 1, MPI_INT, MPI_MAX, grid));
      CHECK(most == size - 1 && e.what() == "rank " + std::to_string(rank));
      throw;
    }
  } catch (std::runtime_error& again) {
    CHECK(again.what() == "rank " + std::to_string(rank));
  }
}

}  // namespace

int main(int argc, char** argv) {
  int rank, size, dims[3] = {0, 0, 0}, periods[3] = {1, 0, 1}, coords[3];
  MPI_Comm grid;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Dims_create(size, 3, dims));
  OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 1, &grid));
  OK(MPI_Comm_rank(grid, &rank));
  OK(MPI_Cart_coords(grid, rank, 3, coords));
  domain = std::make_unique<Domain>();
  std::vector<Neighbour> neighbours = connect(grid, dims, periods, coords);
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 1; i <= kCells; ++i)
      for (int j = 1; j <= kCells; ++j)
        for (int k = 1; k <= kCells; ++k) domain->at(i, j, k) = value(rank, i, j, k, step);
    exchange(step % 2);
    for (const Neighbour& from : neighbours) check(from, step);
    reduce_in_handlers(grid, rank, size);
  }
  CHECK(exchanges == kSteps);
  for (MPI_Request& request : requests) OK(MPI_Request_free(&request));
  for (MPI_Datatype& type : types) OK(MPI_Type_free(&type));
  OK(MPI_Comm_free(&grid));
  return finish();
}
