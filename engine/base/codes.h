/* codes.h - the alphabet of codes and ids, that of names of keys, and their greatest sizes. */
#ifndef CODES_H
#define CODES_H

#include "engine/base/base.h"

/* 1 to max bytes of printable ASCII with no space at either end, and not "." or "..": the alphabet of every code and
 * id. */
bool code_valid(const char *code, size_t len, size_t max);
/* The name of a key: a code of up to ID_MAX bytes without space / ? # %, so that it is one word of the file of keys. */
bool name_valid(const char *name);
/* True: only jobs give such an id to a movement. */
bool code_is_of_jobs(const char *movement_id);

/* The details of a refused code (its max, a size_t), name (the same), id of a movement, and number (least and most,
 * long longs), the same in every source. */
#define CODE_RULE    "must be 1 to %zu bytes of printable ASCII with no space at either end, and not . or .."
#define NAME_RULE    "must be 1 to %zu bytes of printable ASCII without space / ? # %%, and not . or .."
#define OF_JOBS      "settlement/"
#define OF_JOBS_RULE "must not begin with " OF_JOBS ", as the ids of jobs do"
#define INTEGER_RULE "must be an integer from %lld to %lld, in plain digits"
enum { SKU_MAX = 64, LOCATION_MAX = 32, ID_MAX = 64 };

/* The greatest quantity and the greatest total of quantities: every JSON client reads it exactly (RFC 7493 2.2). */
#define QTY_MAX INT64_C(9000000000000000)

#endif
