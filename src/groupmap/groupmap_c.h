/* groupmap in C: compact storage of maps from group rank to world rank, for libraries that are not
 * C++.
 *
 * Conventions, once for all calls:
 * - A handle is opaque and immutable. The caller that receives one releases it with
 * fgmpi_groupmap_free.
 * - Calls that can fail return NULL or a negative number; fgmpi_groupmap_error() then returns the
 * reason (the text is valid until the next call that fails). All other calls cannot fail, given a
 * valid handle.
 * - Ranks are int32_t; a world rank is 0..2^31-1, a group rank 0..size-1 (some calls, which say so,
 * do not check this).
 * - One thread. */
#ifndef FGMPI_GROUPMAP_C_H
#define FGMPI_GROUPMAP_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fgmpi_groupmap fgmpi_groupmap;

/* Stores n distinct world ranks. strategy: "space", "time", "hybrid" or the name of an encoding;
 * NULL: hybrid. */
fgmpi_groupmap* fgmpi_groupmap_build(const int32_t* ranks, int32_t n, const char* strategy);
/* Makes another handle on the same map. */
fgmpi_groupmap* fgmpi_groupmap_share(const fgmpi_groupmap* map);
/* NULL is allowed. */
void fgmpi_groupmap_free(fgmpi_groupmap* map);
const char* fgmpi_groupmap_error(void);

int32_t fgmpi_groupmap_size(const fgmpi_groupmap* map);
/* All memory of the map, in bytes. */
size_t fgmpi_groupmap_bytes(const fgmpi_groupmap* map);
/* Copies the description ("patched(offset, exceptions=4)") into text, cut to capacity; returns its
 * whole length. */
size_t fgmpi_groupmap_describe(const fgmpi_groupmap* map, char* text, size_t capacity);

/* World rank of group rank i; i is not checked. */
int32_t fgmpi_groupmap_select(const fgmpi_groupmap* map, int32_t i);
/* Group rank of a world rank, -1 when it is not a member. */
int32_t fgmpi_groupmap_rank(const fgmpi_groupmap* map, int32_t world_rank);
/* Sets out[k] = select(first + k), k < count; not checked. ordered: by ascending world rank
 * instead. */
void fgmpi_groupmap_range(const fgmpi_groupmap* map, int32_t first, int32_t count, int ordered,
                          int32_t* out);

enum { FGMPI_GROUPMAP_UNION, FGMPI_GROUPMAP_INTERSECTION, FGMPI_GROUPMAP_DIFFERENCE };
/* Combines in MPI's order: a's members in a's order, then, in a union, b's other members in b's
 * order. */
fgmpi_groupmap* fgmpi_groupmap_combine(const fgmpi_groupmap* a, const fgmpi_groupmap* b,
                                       int operation, const char* strategy);
enum { FGMPI_GROUPMAP_IDENTICAL, FGMPI_GROUPMAP_SIMILAR, FGMPI_GROUPMAP_UNEQUAL };
int fgmpi_groupmap_compare(const fgmpi_groupmap* a, const fgmpi_groupmap* b);
/* Sets out[k] to the rank in `to` of the member with rank ranks[k] in `from`, or -1; ranks are not
 * checked. */
void fgmpi_groupmap_translate(const fgmpi_groupmap* from, const int32_t* ranks, size_t n,
                              const fgmpi_groupmap* to, int32_t* out);

/* Returns the length of the wire form, and writes it to out if it is at most capacity. */
size_t fgmpi_groupmap_serialize(const fgmpi_groupmap* map, uint8_t* out, size_t capacity);
/* Returns NULL for bytes that fgmpi_groupmap_serialize did not write. */
fgmpi_groupmap* fgmpi_groupmap_deserialize(const uint8_t* bytes, size_t n);

#ifdef __cplusplus
}
#endif

#endif
