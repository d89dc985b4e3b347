/* json.h - JSON in and out.
 *
 * Reading: one strict scan of the text (scan.h) gives the tree of its values. A text that is not JSON is a fault of the
 * whole call. A member named twice or an escape of no character is a flaw of its item: a malformed reservation of a
 * batch does not refuse the others. A number that is not an integer in plain digits reads as an empty array: the reader
 * of the member says what it must be.
 *
 * Writing: straight into a struct text; numbers are 64-bit integers, written digit by digit. */
#ifndef JSON_H
#define JSON_H

#include "engine/base/scan.h"
#include "engine/base/text.h"

/* A body that was read: the tree and its flaws. Nothing outlives the body; copy what is to stay. */
struct json_doc;

/* The text needs no NUL and is not kept. An empty one (or white space alone) counts as {}. NULL: not readable, `fault`
 * says why. Any thread; no globals. */
struct json_doc *json_parse(const char *text, size_t len, struct json_fault *fault) MUST_CHECK;
void             json_free(struct json_doc *doc); /* NULL is fine */

/* An object being read. After the first fault every further call does nothing and returns false, so a reader is a
 * straight list of calls with one check at its end, json_end. Absent optional members leave *out as it was and return
 * true. */
struct json_reader {
	const struct json_doc *doc;
	const void            *node;      /* the object */
	const void            *next;      /* json_begin_items: the next item for json_item, */
	size_t                 next_i;    /* .. and its index */
	uint64_t               seen;      /* members that were asked for, a bit for each position */
	const char            *asked[16]; /* names that are not there: one may be mistyped */
	size_t                 asked_count;
	struct json_fault     *fault;
	bool                   failed;
	/* The place of this object: element `index` of the array `name` in `parent`, which must outlive it. NULL: the
	 * root of a call or a batch item, where paths begin. */
	const struct json_reader *parent;
	const char               *name;
	size_t                    index;
};
enum json_need { JSON_REQUIRED, JSON_OPTIONAL };

/* The body as one object. Any flaw anywhere is its fault. */
void json_begin(struct json_reader *in, const struct json_doc *doc, struct json_fault *fault);
/* The body as an object. Its member `name` is an array of 1 to max items, which are judged one by one: flaws inside
 * items do not count here. Returns the number of items, 0 after a fault (wrong type, empty, too many). Other members
 * are read next; json_end comes before the first item. */
size_t json_begin_items(struct json_reader *in, const struct json_doc *doc, const char *name, size_t max,
                        struct json_fault *fault);
/* Item `i` of the array of json_begin_items. Call it for 0, 1, 2 and so on; each costs one step. Its fields are named
 * relative to the item. Faults when the item is no object or has a flaw; a fault of the item is none of `items`. */
void json_item(struct json_reader *items, size_t i, struct json_reader *item, struct json_fault *fault);
/* Item `i` of an array of ids, as json_item. Its field is named NAME[i]. False and a fault when the item is no id. */
bool json_item_id(struct json_reader *items, const char *name, size_t i, const char **out, size_t *len,
                  struct json_fault *fault) MUST_CHECK;

/* Whether the member is there, of whatever type; does not count as asking for it. */
bool json_has(const struct json_reader *in, const char *name);
/* The member if it is an id, otherwise NULL, whatever else is wrong with the object: for naming a malformed item in its
 * result. */
const char *json_peek_id(const struct json_reader *in, const char *name);
/* The string's bytes live in the doc; *len without the NUL. False and a fault when absent (if required) or not a
 * string. Here and below a member that is null is not absent: it has the wrong type. */
bool json_string(struct json_reader *in, const char *name, enum json_need need, const char **out, size_t *len);
/* An optional text of at most NOTE_MAX bytes; NULL: absent. */
enum { NOTE_MAX = 500 };
const char *json_note(struct json_reader *in, const char *name, size_t *len);
/* The code of a sku or a location (code_valid), 1 to max bytes. */
bool json_code(struct json_reader *in, const char *name, enum json_need need, size_t max, const char **out,
               size_t *len);
/* An id (id_valid), 1 to ID_MAX bytes. */
bool json_id(struct json_reader *in, const char *name, enum json_need need, const char **out, size_t *len);
/* An integer in min..max, both within JSON_INT_MAX: up to there a client's doubles are exact, too. */
#define JSON_INT_MAX ((INT64_C(1) << 53) - 1)
bool json_int(struct json_reader *in, const char *name, enum json_need need, int64_t min, int64_t max, int64_t *out);
/* True: the member is null, and counts as read. */
bool json_null(struct json_reader *in, const char *name);
bool json_bool(struct json_reader *in, const char *name, enum json_need need, bool *out);
/* A time of RFC 3339 with any offset (time_read), in ms since 1970. */
bool json_time(struct json_reader *in, const char *name, enum json_need need, int64_t *ms);
/* One of `words` (NULL-terminated); *out is its index. The fault lists the words. */
bool json_word(struct json_reader *in, const char *name, enum json_need need, const char *const *words, int *out);
/* A required array of min..max elements, one at least; returns their number, 0 after a fault. Elements are walked in
 * order, beginning with *first, with the two calls below. */
size_t json_array(struct json_reader *in, const char *name, size_t min, size_t max, const void **first);
/* The element as an object, named NAME[i]; returns the next element, also after a fault. */
const void *json_array_object(struct json_reader *in, const char *name, size_t i, const void *element,
                              struct json_reader *object);
/* The element as a code (code_valid), named NAME[i]; "" after a fault. Returns the next element. */
const void *json_array_code(struct json_reader *in, const char *name, size_t i, const void *element, size_t max,
                            const char **out, size_t *len);
/* The same of an id. */
const void *json_array_id(struct json_reader *in, const char *name, size_t i, const void *element, const char **out,
                          size_t *len);
/* Refuses a member that was read well and makes no sense. `name` NULL: the object itself. The first fault wins. */
void json_refuse(struct json_reader *in, const char *name, const char *detail);
/* True: nothing is wrong so far, and there are members that the caller has not asked for. */
bool json_has_more(const struct json_reader *in);
/* Refuses members that the caller has not asked for. True: nothing is wrong with the object. */
bool json_end(struct json_reader *in) MUST_CHECK;
/* json_end for an object got by json_array_object: carries the fault up to `parent`. */
bool json_leave(struct json_reader *object, struct json_reader *parent);

/* ---- walking, for callers that print values of any shape. A node is a value of the doc. */
const void *json_root(const struct json_doc *doc);
const void *json_first(const void *node); /* the first member or element; NULL: the node has none */
const void *json_next(const void *node);
const char *json_name(const void *node); /* of a member; NULL: an element */
const void *json_member(const void *object, const char *name); /* NULL: it has none of this name */
bool        json_is_array(const void *node);
bool        json_is_object(const void *node);
bool        json_is_number(const void *node);
void        json_text(struct text *to, const void *node); /* adds a string, number, bool or null as it reads */

/* ---- writing. `comma` is set where a value stands before. Keys are the program's own words and not escaped; NULL
 * inside arrays. Strings are UTF-8; only ", \ and control characters are escaped. */
struct json_writer {
	struct text *to;
	bool         comma;
};
void json_open_object(struct json_writer *w, const char *key);
void json_close_object(struct json_writer *w);
void json_open_array(struct json_writer *w, const char *key);
void json_close_array(struct json_writer *w);
/* Bytes that are no UTF-8, as a damaged row may have them, become U+FFFD: what is written is UTF-8 (RFC 8259, 8.1). */
void json_put_string(struct json_writer *w, const char *key, const char *s); /* NUL-terminated, escaped */
void json_put_bytes(struct json_writer *w, const char *key, const char *s, size_t len);
void json_put_int(struct json_writer *w, const char *key, int64_t n);
void json_put_bool(struct json_writer *w, const char *key, bool b);
void json_put_json(struct json_writer *w, const char *key, const char *json); /* a value that is JSON already */
void json_put_null(struct json_writer *w, const char *key);
void json_put_time(struct json_writer *w, const char *key, int64_t ms); /* time_write in quotes */

#endif
