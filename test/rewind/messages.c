// All kinds of sends and receives, in an order that chance decides. Prints for each receive which
// send it took: "RANK RECEIVE SENDER SEND", the receives and sends of a rank numbered by their calls.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum { kEach = 6 };

struct Letter {
  int rank, serial;
};
static int g_rank, g_size, g_sends, g_receives;
static MPI_Comm g_comm;

static struct Letter next_letter(void) { return (struct Letter){g_rank, ++g_sends}; }
static void print(int receive, struct Letter letter) {
  printf("%d %d %d %d\n", g_rank, receive, letter.rank, letter.serial);
}

static void send_all(int to) {
  struct Letter letters[kEach];
  MPI_Request requests[2];
  unsigned char chance;
  for (int i = 0; i < kEach; ++i) {
    letters[i] = next_letter();
    if (getrandom(&chance, 1, 0) != 1) exit(3);
    const int tag = chance % 3;
    if (chance % 4 == 0) MPI_Send(&letters[i], 2, MPI_INT, to, tag, g_comm);
    if (chance % 4 == 1) MPI_Ssend(&letters[i], 2, MPI_INT, to, tag, g_comm);
    if (chance % 4 == 2) {
      MPI_Isend(&letters[i], 2, MPI_INT, to, tag, g_comm, &requests[0]);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    if (chance % 4 == 3) {
      MPI_Send_init(&letters[i], 2, MPI_INT, to, tag, g_comm, &requests[0]);
      MPI_Start(&requests[0]);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      MPI_Request_free(&requests[0]);
    }
  }
}

static void receive_two(int mine) {
  struct Letter letters[2];
  MPI_Request requests[3];
  MPI_Status statuses[3];
  int first = 0;
  for (int i = 0; i < 2; ++i)
    MPI_Irecv(&letters[i], 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, g_comm, &requests[i]);
  MPI_Irecv(&first, 1, MPI_INT, MPI_ANY_SOURCE, 77, g_comm, &requests[2]);
  MPI_Cancel(&requests[2]);
  MPI_Waitall(3, requests, statuses);
  print(mine, letters[0]);
  print(mine + 1, letters[1]);
  g_receives += 3;
}

static void receive_all(int count) {
  struct Letter letter;
  MPI_Message message;
  MPI_Request request;
  while (count > 0) {
    unsigned char chance;
    if (getrandom(&chance, 1, 0) != 1) exit(3);
    const int mine = g_receives + 1;
    if (chance % 4 == 0 && count >= 2) {
      receive_two(mine);
      count -= 2;
      continue;
    }
    if (chance % 4 == 1) {
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, g_comm, &message, MPI_STATUS_IGNORE);
      MPI_Mrecv(&letter, 2, MPI_INT, &message, MPI_STATUS_IGNORE);
    } else if (chance % 4 == 2) {
      MPI_Recv_init(&letter, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, g_comm, &request);
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
    } else {
      MPI_Recv(&letter, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, g_comm, MPI_STATUS_IGNORE);
    }
    ++g_receives;
    print(mine, letter);
    --count;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -g_rank, &g_comm);  // the ranks in reverse
  MPI_Comm_set_name(g_comm, "reversed");
  for (int round = 0; round < 4; ++round) {
    if (g_rank % 2) {
      send_all(g_size - 1);
    } else if (g_rank == 0) {
      receive_all(kEach * (g_size / 2));
    }
    struct Letter out = next_letter(), in;
    MPI_Sendrecv(&out, 2, MPI_INT, (g_rank + 1) % g_size, 5, &in, 2, MPI_INT,
                 (g_rank + g_size - 1) % g_size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    print(++g_receives, in);
    MPI_Barrier(MPI_COMM_WORLD);  // letters of the next round wait until those of this one are read
  }
  MPI_Comm_free(&g_comm);
  MPI_Finalize();
  return 0;
}
