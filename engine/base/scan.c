/* scan.c - see scan.h. Recursive descent, at most SCAN_DEPTH_MAX deep, over a text that ends in a NUL. No rule accepts
 * a NUL, so no rule needs to ask whether the text is over. */
#include "engine/base/scan.h"
#include "engine/base/escape.h"
#include "engine/base/utf8.h"
#include "engine/base/memory.h"

#include <stdio.h>

/* Stands for an escape that no call takes: no code and no name of a member has it. */
enum { DELETE = 0x7f };

enum { BLOCK_NODES = 500 };

/* Nodes beyond the room that the caller gave. */
struct scan_block {
	struct scan_block *next;
	struct json_node   nodes[BLOCK_NODES];
};

/* An object or array that is still open. */
struct level {
	bool              array;
	size_t            count;   /* complete members or elements, which is the index of the current one */
	struct json_node *current; /* the member or element that is being read */
};

struct scan {
	char              *text;
	char              *end;     /* the place of the NUL */
	char              *at;      /* the next byte to read */
	size_t             values;  /* values begun so far */
	bool               escaped; /* the last string has a backslash */
	size_t             depth;   /* levels around the value being read */
	struct scan_tree  *tree;
	struct json_fault *fault;
	struct level       levels[SCAN_DEPTH_MAX];
};

/* ---- nodes */

static struct json_node *node_new(struct scan *s)
{
	struct scan_tree *tree = s->tree;

	if (tree->unused == tree->end) {
		struct scan_block *block = mem_resize(NULL, sizeof(*block));

		block->next = tree->blocks;
		tree->blocks = block;
		tree->unused = block->nodes;
		tree->end = block->nodes + BLOCK_NODES;
	}
	*tree->unused = (struct json_node){0};
	return tree->unused++;
}

void scan_tree_fini(struct scan_tree *tree)
{
	while (tree->blocks) {
		struct scan_block *next = tree->blocks->next;

		free(tree->blocks);
		tree->blocks = next;
	}
	free(tree->flaws.items);
}

/* ---- paths */

void path_add_name(char *path, size_t size, const char *name, size_t len)
{
	size_t had = strlen(path), room = size - 1 - had;

	if (had > 0 && room > 0) {
		path[had++] = '.';
		room--;
	}
	if (len > room)
		for (len = room; len > 0 && (name[len] & 0xc0) == 0x80; len--)
			;
	memcpy(path + had, name, len);
	path[had + len] = '\0';
}

void path_add_index(char *path, size_t size, size_t index)
{
	size_t had = strlen(path);

	snprintf(path + had, size - had, "[%zu]", index);
}

/* A name is spelled in the shortest way, so that it shows what a text in JSON has. */
static void path_add_member(char *path, size_t size, const struct json_node *node)
{
	char        spelled[sizeof(((struct json_fault *)0)->field) + ESCAPE_MAX], *to = spelled;
	const char *from = node->name, *end = from + node->name_len;

	for (; from < end && to < spelled + sizeof(spelled) - ESCAPE_MAX; from++)
		if ((unsigned char)*from < ' ' || *from == '"' || *from == '\\')
			to = escape_write(to, (unsigned char)*from);
		else
			*to++ = *from;
	path_add_name(path, size, spelled, (size_t)(to - spelled));
}

/* The path through the first `depth` levels. */
static void path_write(const struct scan *s, size_t depth, char *path, size_t size)
{
	path[0] = '\0';
	for (const struct level *l = s->levels; l < s->levels + depth; l++)
		if (l->array)
			path_add_index(path, size, l->count);
		else
			path_add_member(path, size, l->current);
}

/* ---- faults and flaws */

/* The text is not readable. Always false. */
static PRINTF(3, 4) bool scan_fail(struct scan *s, const char *at, const char *format, ...)
{
	struct json_fault *fault = s->fault;
	size_t             size = sizeof(fault->detail), len;
	va_list            ap;

	path_write(s, s->depth, fault->field, sizeof(fault->field));
	va_start(ap, format);
	vsnprintf(fault->detail, size, at == s->end ? "is not JSON: the text ends too early" : format, ap);
	va_end(ap);
	len = strlen(fault->detail);
	snprintf(fault->detail + len, size - len, ", at byte %zu", (size_t)(at - s->text) + 1);
	return false;
}

/* Refuses the byte at s->at. Always false. */
static bool scan_expected(struct scan *s, const char *what)
{
	return scan_fail(s, s->at, "is not JSON: %s is expected", what);
}

/* The value being read has a flaw. The text stays readable. */
static void scan_flaw(struct scan *s, const char *detail)
{
	bool               in_item = s->depth >= 2 && !s->levels[0].array && s->levels[1].array;
	size_t             item = in_item ? s->levels[1].count : SCAN_ITEMS_MAX;
	struct scan_flaws *flaws = &s->tree->flaws;
	struct json_fault *fault = &flaws->outside;

	if (item < SCAN_ITEMS_MAX) {
		struct scan_flaw *flaw;

		if (flaws->count > 0 && flaws->items[flaws->count - 1].item >= item)
			return;
		flaws->items = mem_reach(flaws->items, flaws->count, &flaws->room, sizeof(*flaws->items));
		flaw = &flaws->items[flaws->count++];
		fault = &flaw->fault;
		path_write(s, 2, fault->field, sizeof(fault->field));
		flaw->item = item;
		flaw->own = strlen(fault->field);
		if (s->depth > 2 && !s->levels[2].array && flaw->own < sizeof(fault->field) - 1)
			flaw->own++; /* the dot */
	} else if (fault->detail[0]) {
		return;
	}
	path_write(s, s->depth, fault->field, sizeof(fault->field));
	snprintf(fault->detail, sizeof(fault->detail), "%s", detail);
}

static int by_item(const void *item, const void *flaw)
{
	size_t a = *(const size_t *)item, b = ((const struct scan_flaw *)flaw)->item;

	return (a > b) - (a < b);
}

const struct scan_flaw *scan_flaw_find(const struct scan_flaws *flaws, size_t item)
{
	return flaws->count ? bsearch(&item, flaws->items, flaws->count, sizeof(*flaws->items), by_item) : NULL;
}

/* ---- the grammar, rule by rule */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void skip_space(struct scan *s)
{
	while (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t')
		s->at++;
}

static bool scan_value(struct scan *s, struct json_node *node);

/* To the quote behind the string. */
static bool scan_string(struct scan *s)
{
	char *at = s->at + 1;

	s->escaped = false;
	for (;;) {
		size_t      len;
		const char *why;

		while ((signed char)*at >= ' ' && *at != '"' && *at != '\\')
			at++;
		if (*at == '"')
			break;
		if (*at == '\\') {
			s->escaped = true;
			if (!escape_read(at, &len, &why)) {
				if (len == 0)
					return scan_fail(s, at, "%s", why);
				scan_flaw(s, why);
				memset(at, DELETE, len);
			}
		} else if ((signed char)*at < 0) {
			len = utf8_length(at);
			if (len == 0)
				return scan_fail(s, at, "is not UTF-8");
		} else {
			return scan_fail(s, at, "holds a control character that is not escaped");
		}
		at += len;
	}
	s->at = at + 1;
	return true;
}

/* Puts the characters in the place of their escapes. */
static size_t unescape(char *string, size_t len)
{
	char *from = string, *to = string, *end = string + len;

	while (from < end)
		if (*from == '\\') {
			size_t      escape;
			const char *why;
			uint32_t    c = escape_read(from, &escape, &why);

			from += escape;
			to = utf8_write(to, c);
		} else {
			*to++ = *from++;
		}
	return (size_t)(to - string);
}

/* Reads a string and ends it with a NUL, which takes the place of its quote or of a part of an escape. */
static bool scan_text_of(struct scan *s, const char **string, size_t *len)
{
	char *from = s->at + 1;

	if (!scan_string(s))
		return false;
	*string = from;
	*len = (size_t)(s->at - 1 - from);
	if (s->escaped)
		*len = unescape(from, *len);
	from[*len] = '\0';
	return true;
}

static bool scan_digits(struct scan *s)
{
	if (!is_digit(*s->at))
		return scan_expected(s, "a digit");
	while (is_digit(*s->at))
		s->at++;
	return true;
}

/* The integer that is spelled in [from, to). False: it is none of int64_t. */
static bool number_read(const char *from, const char *to, int64_t *number)
{
	bool     negative = *from == '-';
	uint64_t n = 0, limit = (uint64_t)INT64_MAX + negative;

	if (to - from - negative > 19) /* 19 digits are less than 2^64 */
		return false;
	for (from += negative; from < to; from++)
		n = n * 10 + (uint64_t)(*from - '0');
	*number = (int64_t)(negative ? 0 - n : n);
	return n <= limit;
}

static bool scan_number(struct scan *s, struct json_node *node)
{
	char *from = s->at, *digits = from + (*from == '-'), *integer;

	s->at = digits;
	if (!scan_digits(s))
		return false;
	if (*digits == '0' && s->at > digits + 1)
		return scan_fail(s, digits, "is not JSON: a number does not start with 0");
	integer = s->at;
	if (*s->at == '.') {
		s->at++;
		if (!scan_digits(s))
			return false;
	}
	if (*s->at == 'e' || *s->at == 'E') {
		s->at += s->at[1] == '+' || s->at[1] == '-' ? 2 : 1;
		if (!scan_digits(s))
			return false;
	}
	if (s->at == integer && !(*from == '-' && *digits == '0') && number_read(from, integer, &node->number))
		node->type = JSON_NUMBER;
	else
		node->type = JSON_ARRAY;
	return true;
}

static bool scan_word(struct scan *s, struct json_node *node, const char *word, enum json_type type)
{
	node->type = type;
	for (; *word; word++, s->at++)
		if (*s->at != *word)
			return scan_expected(s, "a value");
	return true;
}

/* An element or a member's value, and the space around it. */
static bool scan_inside(struct scan *s, struct json_node *node)
{
	bool ok;

	skip_space(s);
	s->depth++;
	ok = scan_value(s, node);
	s->depth--;
	skip_space(s);
	return ok;
}

/* Begins an object or array that ends with `close`. False: it is empty, and has been read. */
static bool level_begin(struct scan *s, struct level *level, char close)
{
	level->array = close == ']';
	level->count = 0;
	s->at++;
	skip_space(s);
	if (*s->at != close)
		return true;
	s->at++;
	return false;
}

static bool scan_array(struct scan *s, struct json_node *node)
{
	struct level      *level = &s->levels[s->depth];
	struct json_node **last = &node->child;

	node->type = JSON_ARRAY;
	if (!level_begin(s, level, ']'))
		return true;
	for (;; level->count++) {
		level->current = *last = node_new(s);
		last = &level->current->next;
		node->count++;
		if (!scan_inside(s, level->current))
			return false;
		if (*s->at != ',' && *s->at != ']')
			return scan_expected(s, "',' or ']'");
		if (*s->at++ == ']')
			return true;
	}
}

/* A member's name and the colon. */
static bool scan_name(struct scan *s, struct json_node *node)
{
	if (*s->at != '"')
		return scan_expected(s, "a member's name in double quotes");
	if (!scan_text_of(s, &node->name, &node->name_len))
		return false;
	skip_space(s);
	if (*s->at != ':')
		return scan_expected(s, "':'");
	s->at++;
	return true;
}

/* A member before the last one has its name. */
static bool name_repeated(const struct json_node *object, const struct json_node *last)
{
	for (const struct json_node *n = object->child; n != last; n = n->next)
		if (n->name_len == last->name_len && memcmp(n->name, last->name, n->name_len) == 0)
			return true;
	return false;
}

static bool scan_member(struct scan *s, struct level *level, struct json_node *object)
{
	if (level->count == SCAN_MEMBERS_MAX)
		return scan_fail(s, s->at, "has more than %d members", SCAN_MEMBERS_MAX);
	if (!scan_name(s, level->current))
		return false;
	if (name_repeated(object, level->current)) {
		s->depth++;
		scan_flaw(s, "appears twice");
		s->depth--;
	}
	return scan_inside(s, level->current);
}

static bool scan_object(struct scan *s, struct json_node *node)
{
	struct level      *level = &s->levels[s->depth];
	struct json_node **last = &node->child;

	node->type = JSON_OBJECT;
	if (!level_begin(s, level, '}'))
		return true;
	for (;; level->count++) {
		level->current = *last = node_new(s);
		last = &level->current->next;
		node->count++;
		if (!scan_member(s, level, node))
			return false;
		if (*s->at != ',' && *s->at != '}')
			return scan_expected(s, "',' or '}'");
		if (*s->at++ == '}')
			return true;
		skip_space(s);
	}
}

static bool scan_value(struct scan *s, struct json_node *node)
{
	if (++s->values > SCAN_VALUES_MAX) {
		s->depth = 0; /* the fault is the whole text's */
		return scan_fail(s, s->at, "has more than %d values", SCAN_VALUES_MAX);
	}
	switch (*s->at) {
	case '{':
	case '[':
		if (s->depth == SCAN_DEPTH_MAX)
			return scan_fail(s, s->at, "is nested more than %d deep", SCAN_DEPTH_MAX);
		return *s->at == '{' ? scan_object(s, node) : scan_array(s, node);
	case '"':
		node->type = JSON_STRING;
		return scan_text_of(s, &node->string, &node->len);
	case 't':
		return scan_word(s, node, "true", JSON_TRUE);
	case 'f':
		return scan_word(s, node, "false", JSON_FALSE);
	case 'n':
		return scan_word(s, node, "null", JSON_NULL);
	default:
		if (*s->at == '-' || is_digit(*s->at))
			return scan_number(s, node);
		return scan_expected(s, "a value");
	}
}

bool scan_text(char *text, size_t len, struct scan_tree *tree, struct json_fault *fault)
{
	struct scan s = {.text = text, .at = text, .end = text + len, .tree = tree, .fault = fault};

	assert(text[len] == '\0');
	skip_space(&s);
	if (!scan_value(&s, &tree->root))
		return false;
	skip_space(&s);
	if (s.at != s.end)
		return scan_fail(&s, s.at, "is not JSON: nothing may follow the value");
	return true;
}
