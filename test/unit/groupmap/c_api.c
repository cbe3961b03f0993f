/* The C interface used from C; c_api_test.cc calls it. Returns the line of the first failure, 0 for
 * none. */
#include <string.h>

#include "groupmap/groupmap_c.h"

#define EXPECT(condition)              \
  do {                                 \
    if (!(condition)) return __LINE__; \
  } while (0)

int groupmap_c_api_test(void);

int groupmap_c_api_test(void) {
  int32_t ranks[1000], out[4], queries[3] = {0, 998, 500}, expected[4] = {1, 3, 5, 7};
  uint8_t bytes[256];
  char text[64];
  for (int i = 0; i < 1000; ++i) ranks[i] = 2 * i + 1;
  fgmpi_groupmap* odd = fgmpi_groupmap_build(ranks, 1000, NULL);
  EXPECT(odd && fgmpi_groupmap_size(odd) == 1000);
  EXPECT(fgmpi_groupmap_describe(odd, text, sizeof text) == 6 && strcmp(text, "stride") == 0);
  EXPECT(fgmpi_groupmap_describe(odd, text, 3) == 6 && strcmp(text, "st") == 0);
  EXPECT(fgmpi_groupmap_bytes(odd) <= 64);
  EXPECT(fgmpi_groupmap_select(odd, 7) == 15 && fgmpi_groupmap_rank(odd, 15) == 7);
  EXPECT(fgmpi_groupmap_rank(odd, 16) == -1);
  fgmpi_groupmap_range(odd, 0, 4, 0, out);
  EXPECT(memcmp(out, expected, sizeof out) == 0);

  int32_t swapped[4] = {7, 3, 5, 1};
  fgmpi_groupmap* few = fgmpi_groupmap_build(swapped, 4, "array");
  fgmpi_groupmap_range(few, 0, 4, 1, out);
  EXPECT(memcmp(out, expected, sizeof out) == 0);
  fgmpi_groupmap* common = fgmpi_groupmap_combine(few, odd, FGMPI_GROUPMAP_INTERSECTION, "space");
  EXPECT(common && fgmpi_groupmap_compare(common, few) == FGMPI_GROUPMAP_IDENTICAL);
  fgmpi_groupmap_translate(odd, queries, 3, few, out);
  EXPECT(out[0] == 3 && out[1] == -1 && out[2] == -1);

  size_t length = fgmpi_groupmap_serialize(odd, bytes, sizeof bytes);
  EXPECT(length <= sizeof bytes);
  EXPECT(fgmpi_groupmap_serialize(odd, bytes, 1) == length);
  fgmpi_groupmap* copy = fgmpi_groupmap_deserialize(bytes, length);
  EXPECT(copy && fgmpi_groupmap_compare(copy, odd) == FGMPI_GROUPMAP_IDENTICAL);
  bytes[length / 2] ^= 4;
  EXPECT(fgmpi_groupmap_deserialize(bytes, length) == NULL);
  EXPECT(strstr(fgmpi_groupmap_error(), "damaged") != NULL);

  EXPECT(fgmpi_groupmap_build(ranks, 1000, "fastest") == NULL);
  EXPECT(strstr(fgmpi_groupmap_error(), "\"fastest\": allowed is") != NULL);
  EXPECT(fgmpi_groupmap_combine(few, odd, 9, NULL) == NULL);
  fgmpi_groupmap* shared = fgmpi_groupmap_share(few);
  fgmpi_groupmap_free(few);
  EXPECT(fgmpi_groupmap_select(shared, 0) == 7);
  fgmpi_groupmap_free(shared);
  fgmpi_groupmap_free(common);
  fgmpi_groupmap_free(copy);
  fgmpi_groupmap_free(odd);
  fgmpi_groupmap_free(NULL);
  return 0;
}
