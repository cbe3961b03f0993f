/* Times of messages with derived datatypes between two ranks, for any MPI library: the type on both sides (typed), beside a
 * contiguous message that the program packs and unpacks by loops (by hand), and a loop that copies from one layout straight
 * into the other, without a message (loop). Microseconds of one direction, the best of many rounds.
 *
 *   mpiexec -n 2 datatype_pair [SECONDS]            two processes
 *   mpiexec -n 1 -nfg 2 datatype_pair [SECONDS]     collocated ranks
 *
 * A last part times MPI_Type_vector, MPI_Type_commit and MPI_Type_free, in microseconds for all three. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSide = 64, kRows = 1024, kMatrix = 256, kBlocks = 16, kBlockBytes = 65536 };

typedef struct {
  int id;
  double value[3];
  char tag;
} Particle;
typedef struct {
  short kind;
  Particle inner[2];
  float weight;
} Pair;

/* Each shape: how long its memory is, its types, and its loops. `bytes`: of data. */
typedef struct {
  const char* name;
  size_t memory, bytes;
  MPI_Datatype send, receive;
  int send_count, receive_count;
  void (*pack)(const char* from, char* packed);
  void (*unpack)(const char* packed, char* to);
  void (*copy)(const char* from, char* to);
} Shape;

#define EACH(n, statement) \
  for (int i = 0; i < (n); ++i) statement
#define STRIDED(name, count, block, stride)                                                \
  static void pack_##name(const char* from, char* packed) {                                \
    EACH(count, memcpy(packed + (size_t)i * (block), from + (size_t)i * (stride), block)); \
  }                                                                                        \
  static void unpack_##name(const char* packed, char* to) {                                \
    EACH(count, memcpy(to + (size_t)i * (stride), packed + (size_t)i * (block), block));   \
  }                                                                                        \
  static void copy_##name(const char* from, char* to) {                                    \
    EACH(count, memcpy(to + (size_t)i * (stride), from + (size_t)i * (stride), block));    \
  }
STRIDED(vector64, 64, 8, 16)
STRIDED(vector1024, 1024, 8, 16)
STRIDED(column, kRows, 8, kRows * 8)
STRIDED(blocks, 1024, 128, 256)
STRIDED(large, kBlocks, kBlockBytes, 2 * kBlockBytes)

/* A face of a cube of doubles, across its second dimension: rows of kSide doubles. */
STRIDED(face, kSide, kSide * 8, kSide* kSide * 8)

static size_t box_at(int i, int j) {
  return (((size_t)(i + 8) * kSide) + (size_t)(j + 8)) * kSide * 8 + 64;
}
static void pack_box(const char* from, char* packed) {
  EACH(32, for (int j = 0; j < 32; ++j)
               memcpy(packed + (size_t)(i * 32 + j) * 256, from + box_at(i, j), 256));
}
static void unpack_box(const char* packed, char* to) {
  EACH(32, for (int j = 0; j < 32; ++j)
               memcpy(to + box_at(i, j), packed + (size_t)(i * 32 + j) * 256, 256));
}
static void copy_box(const char* from, char* to) {
  EACH(32, for (int j = 0; j < 32; ++j) memcpy(to + box_at(i, j), from + box_at(i, j), 256));
}

/* Blocks of one to three doubles at irregular places. */
static int g_lengths[100], g_places[100], g_doubles;
static void pack_indexed(const char* from, char* packed) {
  double* out = (double*)packed;
  EACH(100, for (int k = 0; k < g_lengths[i]; ++k)* out++ = ((const double*)from)[g_places[i] + k]);
}
static void unpack_indexed(const char* packed, char* to) {
  const double* in = (const double*)packed;
  EACH(100, for (int k = 0; k < g_lengths[i]; ++k)((double*)to)[g_places[i] + k] = *in++);
}
static void copy_indexed(const char* from, char* to) {
  EACH(100, for (int k = 0; k < g_lengths[i]; ++k)((double*)to)[g_places[i] + k] =
                ((const double*)from)[g_places[i] + k]);
}

enum { kParticleBytes = 4 + 24 + 1, kPairBytes = 2 + 2 * kParticleBytes + 4 };
static char* pack_particle(const Particle* p, char* out) {
  memcpy(out, &p->id, 4);
  memcpy(out + 4, p->value, 24);
  out[28] = p->tag;
  return out + kParticleBytes;
}
static const char* unpack_particle(const char* in, Particle* p) {
  memcpy(&p->id, in, 4);
  memcpy(p->value, in + 4, 24);
  p->tag = in[28];
  return in + kParticleBytes;
}
static void copy_particle(const Particle* from, Particle* to) {
  to->id = from->id;
  memcpy(to->value, from->value, 24);
  to->tag = from->tag;
}
static void pack_structs(const char* from, char* packed) {
  EACH(100, packed = pack_particle((const Particle*)from + i, packed));
}
static void unpack_structs(const char* packed, char* to) {
  EACH(100, packed = unpack_particle(packed, (Particle*)to + i));
}
static void copy_structs(const char* from, char* to) {
  EACH(100, copy_particle((const Particle*)from + i, (Particle*)to + i));
}
static void pack_nested(const char* from, char* packed) {
  for (int i = 0; i < 100; ++i) {
    const Pair* p = (const Pair*)from + i;
    memcpy(packed, &p->kind, 2);
    packed = pack_particle(&p->inner[1], pack_particle(&p->inner[0], packed + 2));
    memcpy(packed, &p->weight, 4);
    packed += 4;
  }
}
static void unpack_nested(const char* packed, char* to) {
  for (int i = 0; i < 100; ++i) {
    Pair* p = (Pair*)to + i;
    memcpy(&p->kind, packed, 2);
    packed = unpack_particle(unpack_particle(packed + 2, &p->inner[0]), &p->inner[1]);
    memcpy(&p->weight, packed, 4);
    packed += 4;
  }
}
static void copy_nested(const char* from, char* to) {
  for (int i = 0; i < 100; ++i) {
    const Pair* f = (const Pair*)from + i;
    Pair* t = (Pair*)to + i;
    t->kind = f->kind;
    copy_particle(&f->inner[0], &t->inner[0]);
    copy_particle(&f->inner[1], &t->inner[1]);
    t->weight = f->weight;
  }
}

/* The receiver's matrix is the transposed one: rows arrive as columns. */
static void pack_transpose(const char* from, char* packed) {
  memcpy(packed, from, kMatrix * kMatrix * 8);
}
static void unpack_transpose(const char* packed, char* to) {
  EACH(kMatrix, for (int j = 0; j < kMatrix; ++j)((double*)to)[j * kMatrix + i] =
                    ((const double*)packed)[i * kMatrix + j]);
}

static MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}
static MPI_Datatype vector(int count, int block, int stride) {
  MPI_Datatype type;
  MPI_Type_vector(count, block, stride, MPI_DOUBLE, &type);
  return committed(type);
}
static MPI_Datatype box(const int sizes[3], const int parts[3], const int starts[3]) {
  MPI_Datatype type;
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  return committed(type);
}
static MPI_Datatype particle_type(void) {
  const int lengths[] = {1, 3, 1};
  const MPI_Aint places[] = {offsetof(Particle, id), offsetof(Particle, value),
                             offsetof(Particle, tag)};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype type;
  MPI_Type_create_struct(3, lengths, places, types, &type);
  return committed(type);
}
static MPI_Datatype pair_of_particles(void) {
  const int lengths[] = {1, 2, 1};
  const MPI_Aint places[] = {offsetof(Pair, kind), offsetof(Pair, inner), offsetof(Pair, weight)};
  const MPI_Datatype types[] = {MPI_SHORT, particle_type(), MPI_FLOAT};
  MPI_Datatype type, sized;
  MPI_Type_create_struct(3, lengths, places, types, &type);
  MPI_Type_create_resized(type, 0, sizeof(Pair), &sized);
  return committed(sized);
}
static MPI_Datatype large_blocks(void) {
  int lengths[kBlocks];
  MPI_Aint places[kBlocks];
  EACH(kBlocks, (lengths[i] = kBlockBytes / 8, places[i] = (MPI_Aint)i * 2 * kBlockBytes));
  MPI_Datatype type;
  MPI_Type_create_hindexed(kBlocks, lengths, places, MPI_DOUBLE, &type);
  return committed(type);
}
static MPI_Datatype columns(void) {
  MPI_Datatype column, sized;
  MPI_Type_vector(kMatrix, 1, kMatrix, MPI_DOUBLE, &column);
  MPI_Type_create_resized(column, 0, 8, &sized);
  return committed(sized);
}
static MPI_Datatype indexed(void) {
  srand(4);
  for (int i = 0, at = 0; i < 100; ++i) {
    g_lengths[i] = 1 + rand() % 3;
    g_places[i] = at;
    at += g_lengths[i] + 1 + rand() % 5;
    g_doubles += g_lengths[i];
  }
  MPI_Datatype type;
  MPI_Type_indexed(100, g_lengths, g_places, MPI_DOUBLE, &type);
  return committed(type);
}

static int g_rank;
static double g_seconds = 0.3;

/* The best time of one direction. form 0: typed, 1: by hand. */
static double message(const Shape* s, int form, char* from, char* to, char* packed) {
  double best = 1e9;
  const int bytes = (int)s->bytes;
  const double begin = MPI_Wtime();
  for (int go_on = 1; go_on;) {
    enum { kRounds = 20 };
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < kRounds; ++i)
      for (int half = 0; half < 2; ++half) {
        if ((half == 0) == (g_rank == 0)) {
          if (form == 0) {
            MPI_Send(from, s->send_count, s->send, 1 - g_rank, 0, MPI_COMM_WORLD);
          } else {
            s->pack(from, packed);
            MPI_Send(packed, bytes, MPI_BYTE, 1 - g_rank, 0, MPI_COMM_WORLD);
          }
        } else if (form == 0) {
          MPI_Recv(to, s->receive_count, s->receive, 1 - g_rank, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
        } else {
          MPI_Recv(packed, bytes, MPI_BYTE, 1 - g_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          s->unpack(packed, to);
        }
      }
    const double end = MPI_Wtime();
    if ((end - start) / (2 * kRounds) < best) best = (end - start) / (2 * kRounds);
    go_on = end < begin + g_seconds;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  return best * 1e6;
}

static double loop(const Shape* s, const char* from, char* to) {
  double best = 1e9;
  for (int round = 0; round < 200; ++round) {
    const double start = MPI_Wtime();
    for (int i = 0; i < 10; ++i) {
      s->copy(from, to);
      __asm__ volatile("" : : "r"(to) : "memory");
    }
    const double time = (MPI_Wtime() - start) / 10;
    if (time < best) best = time;
  }
  return best * 1e6;
}

static double making(void) {
  double best = 1e9;
  for (int round = 0; round < 200; ++round) {
    const double start = MPI_Wtime();
    for (int i = 0; i < 100; ++i) {
      MPI_Datatype type = vector(64, 1, 2);
      MPI_Type_free(&type);
    }
    const double time = (MPI_Wtime() - start) / 100;
    if (time < best) best = time;
  }
  return best * 1e6;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  if (argc > 1) g_seconds = atof(argv[1]);
  const int cube[] = {kSide, kSide, kSide}, face[] = {kSide, 1, kSide}, middle[] = {0, 0, 0},
            part[] = {32, 32, 32}, start[] = {8, 8, 8};
  const size_t cube_bytes = (size_t)kSide * kSide * kSide * 8;
#define SAME(type, count) type, type, count, count
#define LOOPS(name) pack_##name, unpack_##name, copy_##name
  MPI_Datatype t[10] = {vector(64, 1, 2),
                        vector(1024, 1, 2),
                        vector(kRows, 1, kRows),
                        vector(1024, 16, 32),
                        box(cube, face, middle),
                        box(cube, part, start),
                        indexed(),
                        particle_type(),
                        pair_of_particles(),
                        large_blocks()};
  const Shape shapes[] = {
      {"64 doubles, every second", 1024, 512, SAME(t[0], 1), LOOPS(vector64)},
      {"1,024 doubles, every second", 16384, 8192, SAME(t[1], 1), LOOPS(vector1024)},
      {"column of 1,024 doubles", (size_t)kRows * kRows * 8, 8192, SAME(t[2], 1), LOOPS(column)},
      {"1,024 blocks of 16 doubles", 262144, 131072, SAME(t[3], 1), LOOPS(blocks)},
      {"face of a cube of 64", cube_bytes, kSide * kSide * 8, SAME(t[4], 1), LOOPS(face)},
      {"box of 32 in a cube of 64", cube_bytes, 32 * 32 * 32 * 8, SAME(t[5], 1), LOOPS(box)},
      {"indexed, 100 blocks of 1 to 3", 8192, (size_t)g_doubles * 8, SAME(t[6], 1), LOOPS(indexed)},
      {"100 structs", 100 * sizeof(Particle), 100 * kParticleBytes, SAME(t[7], 100),
       LOOPS(structs)},
      {"100 structs of structs", 100 * sizeof(Pair), 100 * kPairBytes, SAME(t[8], 100),
       LOOPS(nested)},
      {"16 blocks of 64 KiB", 2 * kBlocks * kBlockBytes, kBlocks * kBlockBytes, SAME(t[9], 1),
       LOOPS(large)},
      {"transposed matrix of 256", kMatrix * kMatrix * 8, kMatrix * kMatrix * 8, MPI_DOUBLE,
       columns(), kMatrix * kMatrix, kMatrix, pack_transpose, unpack_transpose, unpack_transpose}};
  if (g_rank == 0) printf("%-32s %10s %10s %10s %10s\n", "us", "bytes", "typed", "by hand", "loop");
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k) {
    const Shape* s = &shapes[k];
    char *from = malloc(s->memory), *to = malloc(s->memory), *packed = malloc(s->bytes);
    memset(from, 1 + g_rank, s->memory);
    memset(to, 0, s->memory);
    const double typed = message(s, 0, from, to, packed), hand = message(s, 1, from, to, packed);
    const double copied = loop(s, from, to);
    if (g_rank == 0)
      printf("%-32s %10zu %10.2f %10.2f %10.2f\n", s->name, s->bytes, typed, hand, copied);
    free(from), free(to), free(packed);
  }
  const double made = making();
  if (g_rank == 0) printf("%-32s %10s %10.3f\n", "make, commit and free a vector", "", made);
  MPI_Finalize();
  return 0;
}
