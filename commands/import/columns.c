/* columns.c - see columns.h. */
#include "commands/import/columns.h"
#include "engine/base/log.h"

#include <string.h>

enum { OTHERS_MAX = 400 }; /* bytes of names of columns in a message */

static const struct column {
	const char *name;
	unsigned    has, lacks, must;
} columns[FIELDS] = {
#define X(name, ...) {#name, __VA_ARGS__},
	COLUMNS
#undef X
};

const char *field_name(enum field what)
{
	return columns[what].name;
}

bool field_is_of(enum movement_kind kind, enum field what)
{
	return movement_is(kind, LISTED) && movement_is(kind, columns[what].has) &&
	       !movement_is(kind, columns[what].lacks);
}

bool field_is_needed(enum movement_kind kind, enum field what)
{
	return field_is_of(kind, what) && movement_is(kind, columns[what].must);
}

/* ---- names */

/* Leaves out what stands around a name: spaces, a space that does not break, quotes, a mark of the order of bytes. */
static const char *name_trim(const char *name, size_t *len)
{
	static const char *const around[] = {" ", "\t", "\r", "\n", "\"", "\xC2\xA0", "\xEF\xBB\xBF"};
	size_t                   before;

	do {
		before = *len;
		for (size_t i = 0; i < LENGTH(around); i++) {
			size_t n = strlen(around[i]);

			if (*len >= n && memcmp(name, around[i], n) == 0) {
				name += n;
				*len -= n;
			}
			if (*len >= n && memcmp(name + *len - n, around[i], n) == 0)
				*len -= n;
		}
	} while (*len < before);
	return name;
}

static enum field field_of(const char *name, size_t len)
{
	name = name_trim(name, &len);
	for (int i = 0; i < FIELDS; i++)
		if (strlen(columns[i].name) == len && strncasecmp(columns[i].name, name, len) == 0)
			return (enum field)i;
	return FIELD_OTHER;
}

int columns_know(enum movement_kind kind, const char *name, size_t len)
{
	enum field what = field_of(name, len);

	return what == FIELD_OTHER ? 0 : field_is_of(kind, what) ? 2 : 1;
}

/* ---- messages */

/* Adds a name; a byte that cannot be printed shows as a question mark. */
static void name_add(struct text *t, const char *name, size_t len)
{
	if (len == 0 || t->len > OTHERS_MAX)
		return;
	if (t->len > 0)
		text_add(t, ", ");
	if (t->len + len > OTHERS_MAX) {
		text_add(t, "..");
		len = OTHERS_MAX;
	}
	for (size_t i = 0; i < len && len < OTHERS_MAX; i++)
		text_char(t, (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '?' : name[i]);
}

static void needed_add(enum movement_kind kind, struct text *t)
{
	int left = 0;

	for (int i = 0; i < FIELDS; i++)
		left += field_is_needed(kind, (enum field)i);
	for (int i = 0; i < FIELDS; i++)
		if (field_is_needed(kind, (enum field)i)) {
			text_add(t, columns[i].name);
			left--;
			text_add(t, left > 1 ? ", " : left == 1 ? " and " : "");
		}
}

void columns_missing(enum movement_kind kind, const struct table *t)
{
	struct text needed = {0};

	needed_add(kind, &needed);
	say("%s is empty: the first line must name the columns %s", t->file, needed.data);
	text_fini(&needed);
}

static bool say_needed(const struct columns *c, const struct table *t, const struct record *head)
{
	struct text needed = {0}, names = {0};
	const char *name;
	size_t      len;

	needed_add(c->kind, &needed);
	for (size_t i = 0; i < head->count; i++) {
		name = record_field(head, i, &len);
		name_add(&names, name, len);
	}
	say("%s: the first line must name the columns %s; separated by %s, it names %s", t->file, needed.data,
	    table_separators(t), names.len > 0 ? names.data : "nothing");
	text_fini(&needed);
	text_fini(&names);
	return false;
}

static bool say_strange(const struct table *t, enum field what)
{
	struct text kinds = {0};
	const char *before = "";

	for (enum movement_kind kind = 0; kind < KINDS; kind++)
		if (field_is_of(kind, what)) {
			text_format(&kinds, "%s%s", before, movement_kind_name(kind));
			before = " or ";
		}
	if (kinds.len > 0)
		say("%s: the column %s is of a list of another kind: say --kind %s, or give the column another name",
		    t->file, columns[what].name, kinds.data);
	else
		say("%s: the column %s is of a list of orders, and not of stock", t->file, columns[what].name);
	text_fini(&kinds);
	return false;
}

/* ---- the first line */

bool columns_read(struct columns *c, const struct table *t, const struct record *head, bool tells)
{
	enum field  strange = FIELD_OTHER, twice = FIELD_OTHER;
	struct text others = {0};

	c->count = head->count;
	for (int i = 0; i < FIELDS; i++)
		c->at[i] = NO_COLUMN;
	for (size_t i = 0; i < head->count; i++) {
		size_t      len;
		const char *name = record_field(head, i, &len);
		enum field  what = field_of(name, len);

		if (what == FIELD_OTHER) {
			name_add(&others, name, len);
		} else if (!field_is_of(c->kind, what)) {
			strange = what;
		} else {
			twice = c->at[what] == NO_COLUMN ? twice : what;
			c->at[what] = (int)i;
		}
	}
	if (tells && others.len > 0 && strange == FIELD_OTHER && twice == FIELD_OTHER)
		say("%s: these columns are passed over: %s", t->file, others.data);
	text_fini(&others);
	if (twice != FIELD_OTHER) {
		say("%s: the first line names the column %s twice", t->file, columns[twice].name);
		return false;
	}
	for (int i = 0; i < FIELDS; i++)
		if (field_is_needed(c->kind, (enum field)i) && c->at[i] == NO_COLUMN)
			return say_needed(c, t, head);
	return strange == FIELD_OTHER || say_strange(t, strange);
}
