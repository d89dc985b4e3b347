/* codes.h - the alphabets of codes, of ids and of names of keys, and their greatest sizes. */
#ifndef CODES_H
#define CODES_H

#include "engine/base/base.h"

/* A code is the shop's name of a sku or a location: 1 to max bytes of UTF-8 without control characters and characters
 * that do not show (utf8.h), with no space at either end, and not "." or "..". Codes are compared by their bytes, and
 * are not normalized: two codes that look alike may be two. A NUL stands behind the bytes. */
bool code_valid(const char *code, size_t len, size_t max);
/* The beginning of a code, which may end in a space. */
bool code_begins(const char *code, size_t len, size_t max);
/* The id of an order, a movement, a worker, a webhook or a customer: a code of up to max bytes of ASCII. */
bool id_valid(const char *id, size_t len, size_t max);
/* The beginning of an id, which may end in a space. */
bool id_begins(const char *id, size_t len, size_t max);
/* The name of a key: an id of up to ID_MAX bytes without space / ? # %, so that it is one word of the file of keys. */
bool name_valid(const char *name);
/* True: only jobs give a movement an id of this form. */
bool code_is_of_jobs(const char *movement_id);

/* The details of a refused code (its max, a size_t), the beginning of one, id and name (the same), id of a movement,
 * and number (least and most, long longs), the same in every source. CODE_RULE_SIZE: room for any of them, with its
 * numbers. */
#define CODE_RULE                                                                                                     \
	"must be 1 to %zu bytes of UTF-8 with no space at either end, without control and invisible characters, and " \
	"not . or .."
#define PREFIX_RULE    "must be 1 to %zu bytes of UTF-8 without control and invisible characters"
#define ID_RULE        "must be 1 to %zu bytes of printable ASCII with no space at either end, and not . or .."
#define ID_PREFIX_RULE "must be 1 to %zu bytes of printable ASCII"
#define NAME_RULE      "must be 1 to %zu bytes of printable ASCII without space / ? # %%, and not . or .."
#define OF_JOBS        "settlement/"
#define OF_JOBS_RULE   "must not begin with " OF_JOBS ", as the ids of jobs do"
#define INTEGER_RULE   "must be an integer from %lld to %lld, in plain digits"
enum { SKU_MAX = 128, LOCATION_MAX = 64, ID_MAX = 64, CODE_RULE_SIZE = 144 };

/* The greatest quantity and the greatest total of quantities: every JSON client reads it exactly (RFC 7493 2.2). */
#define QTY_MAX INT64_C(9000000000000000)

#endif
