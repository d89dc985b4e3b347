/* json.c - see json.h. The scan (scan.c) has judged numbers, twins, UTF-8 and depth, and gives the tree. */
#include "engine/base/json.h"
#include "engine/base/clock.h"
#include "engine/base/codes.h"
#include "engine/base/escape.h"
#include "engine/base/memory.h"
#include "engine/base/nearest.h"
#include "engine/base/utf8.h"

#include <stdio.h>

struct json_doc {
	struct scan_tree tree;
	struct json_node nodes[]; /* the room for the tree, and behind it the body's copy */
};

/* A node of the calls takes about ten bytes of text. More nodes come in blocks of the tree's own. */
enum { BYTES_PER_NODE = 8 };

static bool is_blank(const char *text, size_t len)
{
	while (len > 0 && (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r')) {
		text++;
		len--;
	}
	return len == 0;
}

struct json_doc *json_parse(const char *text, size_t len, struct json_fault *fault)
{
	struct json_doc *doc;
	size_t           room;
	char            *copy;

	if (is_blank(text, len)) {
		text = "{}";
		len = 2;
	}
	room = len / BYTES_PER_NODE < SCAN_VALUES_MAX ? len / BYTES_PER_NODE : SCAN_VALUES_MAX;
	doc = mem_resize(NULL, sizeof(*doc) + room * sizeof(doc->nodes[0]) + len + 1);
	doc->tree = (struct scan_tree){.unused = doc->nodes, .end = doc->nodes + room};
	copy = (char *)(doc->nodes + room);
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (scan_text(copy, len, &doc->tree, fault))
		return doc;
	json_free(doc);
	return NULL;
}

void json_free(struct json_doc *doc)
{
	if (!doc)
		return;
	scan_tree_fini(&doc->tree);
	free(doc);
}

/* ---- faults */

enum { NO_INDEX = -1 };

/* The path of the object, of its member `name` unless NULL, of that array's element unless NO_INDEX. */
static void path_of(const struct json_reader *in, const char *name, int64_t index, char *path, size_t size)
{
	if (in->parent)
		path_of(in->parent, in->name, (int64_t)in->index, path, size);
	else
		path[0] = '\0';
	if (name)
		path_add_name(path, size, name, strlen(name));
	if (index != NO_INDEX)
		path_add_index(path, size, (size_t)index);
}

static PRINTF(4, 5) void refuse(struct json_reader *in, const char *name, int64_t index, const char *format, ...)
{
	va_list ap;

	if (in->failed)
		return;
	in->failed = true;
	path_of(in, name, index, in->fault->field, sizeof(in->fault->field));
	va_start(ap, format);
	vsnprintf(in->fault->detail, sizeof(in->fault->detail), format, ap);
	va_end(ap);
}

void json_refuse(struct json_reader *in, const char *name, const char *detail)
{
	refuse(in, name, NO_INDEX, "%s", detail);
}

/* ---- objects */

static bool is_object(const struct json_node *node)
{
	return node->type == JSON_OBJECT;
}

static bool is_string(const struct json_node *node)
{
	return node && node->type == JSON_STRING;
}

static void reader_init(struct json_reader *in, const struct json_doc *doc, const struct json_node *node,
                        struct json_fault *fault)
{
	*in = (struct json_reader){.doc = doc, .node = node, .fault = fault};
	if (!is_object(node))
		refuse(in, NULL, NO_INDEX, "must be an object");
}

/* Takes over the flaw that the scan found in this object. */
static void reader_flawed(struct json_reader *in, const char *field, const char *detail)
{
	if (in->failed)
		return;
	in->failed = true;
	snprintf(in->fault->field, sizeof(in->fault->field), "%s", field);
	snprintf(in->fault->detail, sizeof(in->fault->detail), "%s", detail);
}

void json_begin(struct json_reader *in, const struct json_doc *doc, struct json_fault *fault)
{
	const struct scan_flaws *flaws = &doc->tree.flaws;

	reader_init(in, doc, &doc->tree.root, fault);
	if (flaws->outside.detail[0])
		reader_flawed(in, flaws->outside.field, flaws->outside.detail);
	else if (flaws->count > 0)
		reader_flawed(in, flaws->items[0].fault.field, flaws->items[0].fault.detail);
}

size_t json_begin_items(struct json_reader *in, const struct json_doc *doc, const char *name, size_t max,
                        struct json_fault *fault)
{
	reader_init(in, doc, &doc->tree.root, fault);
	if (doc->tree.flaws.outside.detail[0])
		reader_flawed(in, doc->tree.flaws.outside.field, doc->tree.flaws.outside.detail);
	return json_array(in, name, 1, max, &in->next);
}

static const struct json_node *item_next(struct json_reader *items, size_t i)
{
	const struct json_node *node = items->next;

	assert(node && i == items->next_i);
	items->next = node->next;
	items->next_i++;
	return node;
}

void json_item(struct json_reader *items, size_t i, struct json_reader *item, struct json_fault *fault)
{
	const struct scan_flaw *flaw = scan_flaw_find(&items->doc->tree.flaws, i);

	reader_init(item, items->doc, item_next(items, i), fault);
	if (flaw)
		reader_flawed(item, flaw->fault.field + flaw->own, flaw->fault.detail);
}

/* ---- members */

/* The member and its bit in `seen`; NULL if there is none. */
static const struct json_node *member_find(const struct json_reader *in, const char *name, uint64_t *bit)
{
	const struct json_node *node = in->node;

	*bit = 1;
	node = is_object(node) ? node->child : NULL;
	for (; node && strcmp(node->name, name) != 0; node = node->next)
		*bit <<= 1;
	return node;
}

/* The member; NULL if it is absent, which is a fault if it is required, or something was wrong before. */
static const struct json_node *member_read(struct json_reader *in, const char *name, enum json_need need)
{
	const struct json_node *node;
	uint64_t                bit;

	if (in->failed)
		return NULL;
	node = member_find(in, name, &bit);
	if (!node && in->asked_count < LENGTH(in->asked))
		in->asked[in->asked_count++] = name;
	if (node)
		in->seen |= bit;
	else if (need == JSON_REQUIRED)
		refuse(in, name, NO_INDEX, "is missing");
	return node;
}

bool json_has(const struct json_reader *in, const char *name)
{
	uint64_t bit;

	return member_find(in, name, &bit);
}

const char *json_peek_id(const struct json_reader *in, const char *name)
{
	uint64_t                bit;
	const struct json_node *node = member_find(in, name, &bit);

	return is_string(node) && id_valid(node->string, node->len, ID_MAX) ? node->string : NULL;
}

bool json_string(struct json_reader *in, const char *name, enum json_need need, const char **out, size_t *len)
{
	const struct json_node *node = member_read(in, name, need);

	if (is_string(node)) {
		*out = node->string;
		*len = node->len;
	} else if (node) {
		refuse(in, name, NO_INDEX, "must be a string");
	}
	return !in->failed;
}

/* A member (NO_INDEX) or an element of the array `name` as a code. */
static void code_read(struct json_reader *in, const char *name, int64_t index, const struct json_node *node, size_t max,
                      const char **out, size_t *len)
{
	if (node->type != JSON_STRING) {
		refuse(in, name, index, "must be a string");
		return;
	}
	if (!code_valid(node->string, node->len, max)) {
		refuse(in, name, index, CODE_RULE, max);
		return;
	}
	*out = node->string;
	*len = node->len;
}

/* The same of an id. */
static void id_read(struct json_reader *in, const char *name, int64_t index, const struct json_node *node,
                    const char **out, size_t *len)
{
	if (node->type != JSON_STRING) {
		refuse(in, name, index, "must be a string");
	} else if (!id_valid(node->string, node->len, ID_MAX)) {
		refuse(in, name, index, ID_RULE, (size_t)ID_MAX);
	} else {
		*out = node->string;
		*len = node->len;
	}
}

const char *json_note(struct json_reader *in, const char *name, size_t *len)
{
	const char *note = NULL;

	json_string(in, name, JSON_OPTIONAL, &note, len);
	if (note && *len > NOTE_MAX)
		json_refuse(in, name, "may have at most 500 bytes");
	return note;
}

bool json_code(struct json_reader *in, const char *name, enum json_need need, size_t max, const char **out, size_t *len)
{
	const struct json_node *node = member_read(in, name, need);

	if (node)
		code_read(in, name, NO_INDEX, node, max, out, len);
	return !in->failed;
}

bool json_id(struct json_reader *in, const char *name, enum json_need need, const char **out, size_t *len)
{
	const struct json_node *node = member_read(in, name, need);

	if (node)
		id_read(in, name, NO_INDEX, node, out, len);
	return !in->failed;
}

bool json_int(struct json_reader *in, const char *name, enum json_need need, int64_t min, int64_t max, int64_t *out)
{
	const struct json_node *node = member_read(in, name, need);

	assert(-JSON_INT_MAX <= min && min <= max && max <= JSON_INT_MAX);
	if (node && node->type == JSON_NUMBER && node->number >= min && node->number <= max)
		*out = node->number;
	else if (node)
		refuse(in, name, NO_INDEX, INTEGER_RULE, (long long)min, (long long)max);
	return !in->failed;
}

bool json_bool(struct json_reader *in, const char *name, enum json_need need, bool *out)
{
	const struct json_node *node = member_read(in, name, need);

	if (node && (node->type == JSON_TRUE || node->type == JSON_FALSE))
		*out = node->type == JSON_TRUE;
	else if (node)
		refuse(in, name, NO_INDEX, "must be true or false");
	return !in->failed;
}

static void refuse_word(struct json_reader *in, const char *name, const char *const *words)
{
	char list[160] = "";

	for (size_t i = 0; words[i]; i++) {
		size_t len = strlen(list);

		snprintf(list + len, sizeof(list) - len, "%s%s", i > 0 ? ", " : "", words[i]);
	}
	refuse(in, name, NO_INDEX, words[1] ? "must be one of: %s" : "must be %s", list);
}

bool json_time(struct json_reader *in, const char *name, enum json_need need, int64_t *ms)
{
	const struct json_node *node = member_read(in, name, need);
	int64_t                 us;

	if (!node)
		return !in->failed;
	if (node->type != JSON_STRING || !time_read(node->string, &us)) {
		json_refuse(in, name, "must be a time, as 2026-11-20T08:47:00Z");
		return false;
	}
	*ms = us / 1000;
	return true;
}

bool json_null(struct json_reader *in, const char *name)
{
	uint64_t                bit;
	const struct json_node *node = member_find(in, name, &bit);
	bool                    is_null = node && node->type == JSON_NULL;

	in->seen |= is_null ? bit : 0;
	return is_null;
}

bool json_word(struct json_reader *in, const char *name, enum json_need need, const char *const *words, int *out)
{
	const struct json_node *node = member_read(in, name, need);

	if (!node)
		return !in->failed;
	for (int i = 0; node->type == JSON_STRING && words[i]; i++)
		if (strcmp(node->string, words[i]) == 0) {
			*out = i;
			return true;
		}
	refuse_word(in, name, words);
	return false;
}

size_t json_array(struct json_reader *in, const char *name, size_t min, size_t max, const void **first)
{
	const struct json_node *node = member_read(in, name, JSON_REQUIRED);

	assert(min > 0); /* an empty array may stand for a number that is no integer (scan.h) */
	*first = NULL;
	if (!node)
		return 0;
	if (node->type != JSON_ARRAY || node->count < min || node->count > max) {
		refuse(in, name, NO_INDEX, "must be an array of %zu to %zu elements", min, max);
		return 0;
	}
	*first = node->child;
	return node->count;
}

const void *json_array_object(struct json_reader *in, const char *name, size_t i, const void *element,
                              struct json_reader *object)
{
	const struct json_node *node = element;

	*object = (struct json_reader){.doc = in->doc,
	                               .node = node,
	                               .fault = in->fault,
	                               .failed = in->failed,
	                               .parent = in,
	                               .name = name,
	                               .index = i};
	if (!is_object(node))
		refuse(object, NULL, NO_INDEX, "must be an object");
	return node->next;
}

const void *json_array_code(struct json_reader *in, const char *name, size_t i, const void *element, size_t max,
                            const char **out, size_t *len)
{
	const struct json_node *node = element;

	*out = "";
	*len = 0;
	if (!in->failed)
		code_read(in, name, (int64_t)i, node, max, out, len);
	return node->next;
}

const void *json_array_id(struct json_reader *in, const char *name, size_t i, const void *element, const char **out,
                          size_t *len)
{
	const struct json_node *node = element;

	*out = "";
	*len = 0;
	if (!in->failed)
		id_read(in, name, (int64_t)i, node, out, len);
	return node->next;
}

bool json_item_id(struct json_reader *items, const char *name, size_t i, const char **out, size_t *len,
                  struct json_fault *fault)
{
	struct json_reader      item = {.fault = fault};
	const struct json_node *node = item_next(items, i);
	const struct scan_flaw *flaw = is_string(node) ? scan_flaw_find(&items->doc->tree.flaws, i) : NULL;

	if (flaw)
		reader_flawed(&item, flaw->fault.field, flaw->fault.detail);
	id_read(&item, name, (int64_t)i, node, out, len);
	return !item.failed;
}

/* The first member that the caller has not asked for; NULL: there is none, or something was wrong before. */
static const struct json_node *member_unseen(const struct json_reader *in)
{
	const struct json_node *node = in->node;
	uint64_t                seen = in->seen;

	if (in->failed)
		return NULL;
	for (node = node->child; node && seen & 1; node = node->next)
		seen >>= 1;
	return node;
}

bool json_has_more(const struct json_reader *in)
{
	return member_unseen(in);
}

static const char *asked_name(const void *arg, size_t i)
{
	return ((const struct json_reader *)arg)->asked[i];
}

/* Of the names that the call knows, one that is there already was not meant. */
static void refuse_unknown(struct json_reader *in, const char *name)
{
	const char *meant = nearest(name, strlen(name), in->asked_count, asked_name, in);

	refuse(in, name, NO_INDEX, "is not a member that this call knows%s%s%s", meant ? "; did you mean " : "",
	       meant ? meant : "", meant ? "?" : "");
}

bool json_end(struct json_reader *in)
{
	const struct json_node *node = member_unseen(in);

	if (node)
		refuse_unknown(in, node->name);
	return !in->failed;
}

bool json_leave(struct json_reader *object, struct json_reader *parent)
{
	if (!json_end(object))
		parent->failed = true;
	return !parent->failed;
}

/* ---- walking */

const void *json_root(const struct json_doc *doc)
{
	return &doc->tree.root;
}

const void *json_first(const void *node)
{
	return ((const struct json_node *)node)->child;
}

const void *json_next(const void *node)
{
	return ((const struct json_node *)node)->next;
}

const char *json_name(const void *node)
{
	return ((const struct json_node *)node)->name;
}

const void *json_member(const void *object, const char *name)
{
	const void *n = json_is_object(object) ? json_first(object) : NULL;

	while (n && strcmp(json_name(n), name) != 0)
		n = json_next(n);
	return n;
}

bool json_is_array(const void *node)
{
	return ((const struct json_node *)node)->type == JSON_ARRAY;
}

bool json_is_object(const void *node)
{
	return is_object(node);
}

bool json_is_number(const void *node)
{
	return ((const struct json_node *)node)->type == JSON_NUMBER;
}

void json_text(struct text *to, const void *node)
{
	const struct json_node *value = node;

	if (value->type == JSON_STRING)
		text_bytes(to, value->string, value->len);
	else if (value->type == JSON_NUMBER)
		text_int(to, value->number);
	else if (value->type == JSON_TRUE || value->type == JSON_FALSE)
		text_add(to, value->type == JSON_TRUE ? "true" : "false");
	else
		text_add(to, "");
}

/* ---- writing */

enum { WIDEST = 4, REPLACED = 0xfffd }; /* the most bytes of a character; the replacement character */

static void write_key(struct json_writer *w, const char *key)
{
	size_t len = key ? strlen(key) : 0;
	char  *to = text_room(w->to, len + 4), *at = to;

	if (w->comma)
		*at++ = ',';
	w->comma = true;
	if (key) {
		*at++ = '"';
		at = (char *)memcpy(at, key, len) + len;
		*at++ = '"';
		*at++ = ':';
	}
	*at = '\0';
	w->to->len += (size_t)(at - to);
}

static void write_open(struct json_writer *w, const char *key, char bracket)
{
	write_key(w, key);
	text_char(w->to, bracket);
	w->comma = false;
}

static void write_close(struct json_writer *w, char bracket)
{
	text_char(w->to, bracket);
	w->comma = true;
}

void json_open_object(struct json_writer *w, const char *key)
{
	write_open(w, key, '{');
}

void json_close_object(struct json_writer *w)
{
	write_close(w, '}');
}

void json_open_array(struct json_writer *w, const char *key)
{
	write_open(w, key, '[');
}

void json_close_array(struct json_writer *w)
{
	write_close(w, ']');
}

void json_put_string(struct json_writer *w, const char *key, const char *s)
{
	json_put_bytes(w, key, s, strlen(s));
}

/* Writes the character at `s`, which is no plain ASCII, and returns the place behind it. */
static const char *character_put(struct text *to, const char *s, const char *end)
{
	char   at[WIDEST + 1] = "", spelled[ESCAPE_MAX];
	size_t len;

	memcpy(at, s, end - s < WIDEST ? (size_t)(end - s) : WIDEST);
	len = (unsigned char)*s < 0x80 ? 0 : utf8_length(at);
	if (len > 0) {
		text_bytes(to, s, len);
		return s + len;
	}
	len = (size_t)(escape_write(spelled, (unsigned char)*s < 0x80 ? (unsigned char)*s : REPLACED) - spelled);
	text_bytes(to, spelled, len);
	return s + 1;
}

void json_put_bytes(struct json_writer *w, const char *key, const char *s, size_t len)
{
	const char *end = s + len;

	write_key(w, key);
	text_char(w->to, '"');
	while (s < end) {
		const char *plain = s;

		while (s < end && (unsigned char)(*s - ' ') < 0x80 - ' ' && *s != '"' && *s != '\\')
			s++;
		text_bytes(w->to, plain, (size_t)(s - plain));
		if (s < end)
			s = character_put(w->to, s, end);
	}
	text_char(w->to, '"');
}

void json_put_int(struct json_writer *w, const char *key, int64_t n)
{
	write_key(w, key);
	text_int(w->to, n);
}

void json_put_bool(struct json_writer *w, const char *key, bool b)
{
	json_put_json(w, key, b ? "true" : "false");
}

void json_put_json(struct json_writer *w, const char *key, const char *json)
{
	write_key(w, key);
	text_add(w->to, json);
}

void json_put_null(struct json_writer *w, const char *key)
{
	json_put_json(w, key, "null");
}

void json_put_time(struct json_writer *w, const char *key, int64_t ms)
{
	write_key(w, key);
	text_char(w->to, '"');
	time_write(w->to, ms);
	text_char(w->to, '"');
}
