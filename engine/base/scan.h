/* scan.h - one strict pass over a JSON text (RFC 8259), which gives the tree of its values.
 *
 * A fault makes the whole text unreadable: it is not JSON, not UTF-8, or over one of the limits below. A flaw is JSON
 * that no call takes: a member that is there twice, an escape of NUL or of half a surrogate pair. A flaw belongs to its
 * item, an element of an array that is a member of the root object: a malformed reservation of a batch does not refuse
 * the others. A number that is not a 64-bit integer in plain digits becomes an empty array, which no reader takes: the
 * reader says what it must be. */
#ifndef SCAN_H
#define SCAN_H

#include "engine/base/base.h"

/* A fault. `field` is a path like lines[0].qty, empty for the text or the item itself. `detail` is said of the field:
 * "is missing", "must be a string". Both are UTF-8. */
struct json_fault {
	char field[192];
	char detail[192];
};

/* The largest sensible call is a batch of 1,000 reservations with 50,000 lines in all: 2 values (the object, the
 * array), 5 per reservation (itself, order_id, ttl_s, mode, lines), 4 per line (itself, sku, location, qty), so
 * 205,002. It nests 5 deep. 64 members because json_reader.seen has 64 bits. From item 1,024 on a flaw counts as one
 * outside of all items: no call judges that many one by one. */
enum { SCAN_DEPTH_MAX = 8, SCAN_VALUES_MAX = 400000, SCAN_MEMBERS_MAX = 64, SCAN_ITEMS_MAX = 1024 };

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* A value. Its strings stand in the text that was scanned, without escapes, each with a NUL behind it. */
struct json_node {
	struct json_node *next;  /* the next member or element; NULL: this is the last one */
	struct json_node *child; /* the first one of an array or object; NULL: there is none */
	const char       *name;  /* of a member; NULL: an element, or the root */
	size_t            name_len;
	const char       *string;
	size_t            len; /* of the string */
	int64_t           number;
	uint32_t          count; /* members or elements: SCAN_VALUES_MAX at most */
	enum json_type    type;
};

/* The first flaw of one item. */
struct scan_flaw {
	size_t            item;  /* the item's index in its array */
	size_t            own;   /* fault.field + own is the path relative to the item */
	struct json_fault fault; /* the path is from the root */
};

/* All flaws of a text. Zero-initialised is empty and valid. Only one array's items matter, because a call that judges
 * items knows no other array: of a text with more arrays some flaws are left out, but never all. */
struct scan_flaws {
	struct json_fault outside; /* the first flaw outside of items; its detail is empty if there is none */
	struct scan_flaw *items;   /* sorted by item */
	size_t            count;
	size_t            room;
};

/* The tree of a text and its flaws. */
struct scan_tree {
	struct json_node   root;
	struct scan_flaws  flaws;
	struct json_node  *unused, *end; /* room for nodes, the caller's to give; blocks follow when it is full */
	struct scan_block *blocks;
};

/* Scans text[0..len); text[len] must be NUL. False: the text is not readable and `fault` says where and why. Bytes are
 * counted from 1. The text is changed: its strings become those of the tree. Escapes that are flaws have become other
 * characters. `tree` is zeroed but for its room, and is freed by scan_tree_fini in either case. Linear in len, but for
 * names of one object, which are compared with each other; no globals. */
bool scan_text(char *text, size_t len, struct scan_tree *tree, struct json_fault *fault) MUST_CHECK;
void scan_tree_fini(struct scan_tree *tree);
/* The flaw of an item; NULL if the item has none. */
const struct scan_flaw *scan_flaw_find(const struct scan_flaws *flaws, size_t item);

/* Paths like lines[0].qty: appends a member's name or an array's index to the string `path`. Text that does not fit
 * into `size` is left out; UTF-8 is cut between characters only. */
void path_add_name(char *path, size_t size, const char *name, size_t len);
void path_add_index(char *path, size_t size, size_t index);

#endif
