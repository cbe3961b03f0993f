/* All bodies visit all ranks round a ring: persistent synchronous sends and receives in two
 * buffers, a struct type with a gap and a resized extent, Waitsome and the two ways of counting
 * what came. */
#include <stddef.h>

#include "mpitest.h"

enum { kBodies = 10, kMostSteps = 150 };

typedef struct {
  double x, y, mass;
  int id;
  char tag;
} Body;

static Body buffer[2][kBodies];

static MPI_Datatype body_type(void) {
  int lengths[3] = {3, 1, 1};
  MPI_Aint places[3] = {offsetof(Body, x), offsetof(Body, id), offsetof(Body, tag)};
  MPI_Datatype parts[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, packed, type;
  OK(MPI_Type_create_struct(3, lengths, places, parts, &packed));
  OK(MPI_Type_create_resized(packed, 0, sizeof(Body), &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_free(&packed));
  return type;
}

static void pass_on(MPI_Request requests[2], MPI_Datatype type) {
  OK(MPI_Startall(2, requests));
  for (int done = 0; done < 2;) {
    int indices[2], some, count, elements;
    MPI_Status statuses[2];
    OK(MPI_Waitsome(2, requests, &some, indices, statuses));
    CHECK(some != MPI_UNDEFINED);
    done += some;
    for (int i = 0; i < some; ++i) {
      if (indices[i] == 0) continue;
      OK(MPI_Get_count(&statuses[i], type, &count));
      OK(MPI_Get_elements(&statuses[i], type, &elements));
      CHECK(count == kBodies && elements == 5 * kBodies);
    }
  }
}

int main(int argc, char** argv) {
  int rank, size;
  double mass = 0;
  MPI_Comm ring;
  MPI_Request requests[2][2];
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &ring));
  OK(MPI_Comm_rank(ring, &rank));
  OK(MPI_Comm_size(ring, &size));
  MPI_Datatype type = body_type();
  for (int i = 0; i < kBodies; ++i)
    buffer[0][i] = (Body){rank, i, 1.0 + i, rank * kBodies + i, (char)('a' + rank % 26)};
  for (int k = 0; k < 2; ++k) {
    OK(MPI_Ssend_init(buffer[k], kBodies, type, (rank + 1) % size, k, ring, &requests[k][0]));
    OK(MPI_Recv_init(buffer[!k], kBodies, type, (rank + size - 1) % size, k, ring,
                     &requests[k][1]));
  }
  int steps = size < kMostSteps ? size : kMostSteps;
  for (int s = 0; s < steps; ++s) {
    int home = (rank + size - s) % size;
    for (int i = 0; i < kBodies; ++i) {
      const Body* body = &buffer[s % 2][i];
      CHECK(body->id == home * kBodies + i && body->tag == 'a' + home % 26 && body->x == home &&
            body->y == i);
      mass += body->mass;
    }
    pass_on(requests[s % 2], type);
  }
  CHECK(mass == steps * (kBodies * (kBodies + 1) / 2.0));
  for (int k = 0; k < 4; ++k) OK(MPI_Request_free(&requests[k / 2][k % 2]));
  OK(MPI_Type_free(&type));
  OK(MPI_Comm_free(&ring));
  return finish();
}
