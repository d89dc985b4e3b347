/* codes.h - the alphabet of codes and ids, and their greatest sizes. */
#ifndef CODES_H
#define CODES_H

#include "engine/base/base.h"

/* 1 to max bytes of printable ASCII without space / ? # %, and not "." or "..": the alphabet of every code and id. */
bool code_valid(const char *code, size_t len, size_t max);

/* The details of a refused code (its max, a size_t) and of a refused number (least and most, long longs), the same in
 * every source. */
#define CODE_RULE    "must be 1 to %zu bytes of printable ASCII without space / ? # %%, and not . or .."
#define INTEGER_RULE "must be an integer from %lld to %lld, in plain digits"
enum { SKU_MAX = 64, LOCATION_MAX = 32, ID_MAX = 64 };

/* The greatest quantity and the greatest total of quantities: every JSON client reads it exactly (RFC 7493 2.2). */
#define QTY_MAX INT64_C(9000000000000000)

#endif
