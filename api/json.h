/* json.h - JSON in and out. The only door to cJSON.
 *
 * Reading: one strict scan of the text (scan.h) stands before cJSON, because cJSON cannot tell 1 from 1.0, 1e0 or 01,
 * takes the first of two equal members, lets bad UTF-8 through and cuts a string at \u0000. A text that is not JSON is a
 * fault of the whole call. A value that no call takes (a number that is not written as an integer's digits, a member named
 * twice) is a flaw of the item it stands in, so that one malformed reservation of a batch does not refuse the others.
 * Writing: straight into a struct text; numbers are 64-bit integers, written digit by digit. */
#ifndef JSON_H
#define JSON_H

#include "engine/base.h"

/* What is wrong and where: `field` is a path such as lines[0].qty, empty where it is the text itself. */
struct json_fault {
	char field[192];
	char detail[192];
};

/* A body that was read: the tree and its flaws. Nothing outlives it: copy what is to stay. */
struct json_doc;

/* An empty text (or white space alone) counts as {}. NULL: not readable, `fault` says why. Any thread; no globals. */
struct json_doc *json_parse(const char *text, size_t len, struct json_fault *fault) MUST_CHECK;
void json_free(struct json_doc *doc);                     /* NULL is fine */

/* An object being read. After the first fault every further call does nothing and returns false, so a reader is a straight
 * list of calls with one check at its end, json_end. Absent optional members leave *out as it was and return true. */
struct json_reader {
	const struct json_doc *doc;
	const void            *node;      /* the object */
	uint64_t               seen;      /* its members that were asked for, by position */
	struct json_fault     *fault;
	bool                   failed;
	char                   path[128]; /* of the object itself; empty at the root of a call or of a batch item */
};
enum json_need { JSON_REQUIRED, JSON_OPTIONAL };

/* The body as one object. Any flaw anywhere is its fault. */
void json_begin(struct json_reader *in, const struct json_doc *doc, struct json_fault *fault);
/* The body as an object whose member `name` is an array of 1 to max items judged one by one: flaws inside items do not count
 * here. Returns the number of items, 0 after a fault (wrong type, empty, too many, unknown other members). */
size_t json_begin_items(struct json_reader *in, const struct json_doc *doc, const char *name, size_t max,
                        struct json_fault *fault);
/* Item `i` of such an array (called in ascending order: each costs one step). Its fields are named relative to the item.
 * Faults when it is not an object or has a flaw. */
void json_item(struct json_reader *items, size_t i, struct json_reader *item, struct json_fault *fault);

/* The string's bytes live in the doc; *len without the NUL. false and a fault when absent (if required) or not a string. */
bool json_string(struct json_reader *in, const char *name, enum json_need need, const char **out, size_t *len);
/* A string of the codes' alphabet (code_valid), 1 to max bytes. */
bool json_code(struct json_reader *in, const char *name, enum json_need need, size_t max, const char **out, size_t *len);
/* An integer in min..max, exact in all 64 bits. */
bool json_int(struct json_reader *in, const char *name, enum json_need need, int64_t min, int64_t max, int64_t *out);
bool json_bool(struct json_reader *in, const char *name, enum json_need need, bool *out);
/* One of `words` (NULL-terminated); *out is its index. The fault lists the words. */
bool json_word(struct json_reader *in, const char *name, enum json_need need, const char *const *words, int *out);
/* An array of min..max elements; returns their number. Elements are walked in order with the two calls below. */
size_t json_array(struct json_reader *in, const char *name, size_t min, size_t max, const void **first);
/* The element as an object, named NAME[i]; returns the next element. */
const void *json_array_object(struct json_reader *in, const char *name, size_t i, const void *element,
                              struct json_reader *object);
/* The element as a code (code_valid), named NAME[i]; returns the next element. */
const void *json_array_code(struct json_reader *in, const char *name, size_t i, const void *element, size_t max,
                            const char **out, size_t *len);
/* Says what is wrong with a member that was read well but cannot be meant. `name` NULL: the object itself. First one wins. */
void json_refuse(struct json_reader *in, const char *name, const char *detail);
/* Refuses members that nobody asked for; for a nested object its failure becomes its parent's by json_leave. */
bool json_end(struct json_reader *in) MUST_CHECK;
/* json_end for an object got by json_array_object: carries the fault up to `parent`. */
bool json_leave(struct json_reader *object, struct json_reader *parent);

/* ---- writing. `comma` is set where a value stands before; key NULL inside arrays. */
struct json_writer {
	struct text *to;
	bool         comma;
};
void json_open_object(struct json_writer *w, const char *key);
void json_close_object(struct json_writer *w);
void json_open_array(struct json_writer *w, const char *key);
void json_close_array(struct json_writer *w);
void json_put_string(struct json_writer *w, const char *key, const char *s);      /* NUL-terminated UTF-8, escaped */
void json_put_bytes(struct json_writer *w, const char *key, const char *s, size_t len);
void json_put_int(struct json_writer *w, const char *key, int64_t n);
void json_put_bool(struct json_writer *w, const char *key, bool b);
void json_put_null(struct json_writer *w, const char *key);
void json_put_time(struct json_writer *w, const char *key, int64_t ms);           /* time_write in quotes */

#endif
