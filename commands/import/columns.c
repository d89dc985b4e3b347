/* columns.c - see columns.h. */
#include "commands/import/columns.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

enum { OTHERS_MAX = 400 }; /* bytes of names of columns in a message */

static const struct column {
	const char *name;
	unsigned    has, lacks, must;
	int         of_orders;
} columns[FIELDS] = {
#define X(name, ...) {#name, __VA_ARGS__},
	COLUMNS
#undef X
};

const char *field_name(enum field what)
{
	return columns[what].name;
}

const char *list_word(enum movement_kind kind)
{
	return kind == ORDERS_LIST ? "reservation" : movement_kind_name(kind);
}

bool field_is_of(enum movement_kind kind, enum field what)
{
	if (kind == ORDERS_LIST)
		return columns[what].of_orders != NONE;
	return movement_is(kind, LISTED) && movement_is(kind, columns[what].has) &&
	       !movement_is(kind, columns[what].lacks);
}

bool field_is_needed(enum movement_kind kind, enum field what)
{
	if (kind == ORDERS_LIST)
		return columns[what].of_orders == MUST;
	return field_is_of(kind, what) && movement_is(kind, columns[what].must);
}

/* ---- presets */

enum { NAMES_MAX = 6, UNITS = FIELDS };
struct preset {
	const char *word, *places; /* the column behind which there may be one of units for each location; NULL: none */
};
static const struct preset presets[] = {{"shopify", "COO"}, {"woocommerce", NULL}, {"magento", NULL}};
static const struct {
	const char *word;
	int         what;
	const char *names[NAMES_MAX];
} preset_columns[] = {
#define X(word, what, ...) {#word, what, {__VA_ARGS__}},
#include "commands/import/presets.def"
#undef X
};

const struct preset *preset_find(const char *word)
{
	for (size_t i = 0; i < LENGTH(presets); i++)
		if (strcmp(presets[i].word, word) == 0)
			return &presets[i];
	return NULL;
}

const char *preset_words(void)
{
	return "shopify, woocommerce or magento";
}

/* ---- names */

const char *name_trim(const char *name, size_t *len)
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

/* Is this the name, but for case and what stands around it? */
static bool name_is(const char *name, const char *column, size_t len)
{
	column = name_trim(column, &len);
	return strlen(name) == len && strncasecmp(name, column, len) == 0;
}

static enum field field_of(const char *name, size_t len)
{
	for (int i = 0; i < FIELDS; i++)
		if (name_is(columns[i].name, name, len))
			return (enum field)i;
	return FIELD_OTHER;
}

/* The field that holds the units of a list. */
static enum field units_of(enum movement_kind kind)
{
	return field_is_of(kind, FIELD_counted) ? FIELD_counted : FIELD_qty;
}

/* The place of a name among those that the preset has for a field, from 1; 0: it has none of this name. */
static size_t preset_names(const struct naming *n, enum field what, const char *name, size_t len)
{
	for (size_t i = 0; n->from && i < LENGTH(preset_columns); i++) {
		int of = preset_columns[i].what == UNITS ? (int)units_of(n->kind) : preset_columns[i].what;

		if (of != (int)what || strcmp(preset_columns[i].word, n->from->word) != 0)
			continue;
		for (size_t k = 0; k < NAMES_MAX && preset_columns[i].names[k]; k++)
			if (name_is(preset_columns[i].names[k], name, len))
				return k + 1;
	}
	return 0;
}

/* The place of a column's name among those that a field may have, from 1: the least one counts. 0: it is not there. */
static size_t name_place(const struct naming *n, enum field what, const char *name, size_t len)
{
	if (n->names[what])
		return n->names[what][0] && name_is(n->names[what], name, len);
	if (n->from)
		return preset_names(n, what, name, len);
	return name_is(columns[what].name, name, len);
}

int columns_know(const struct naming *n, const char *name, size_t len)
{
	int known = len > 0 && field_of(name, len) != FIELD_OTHER;

	for (int i = 0; i < FIELDS; i++)
		if (len > 0 && field_is_of(n->kind, (enum field)i) && name_place(n, (enum field)i, name, len) > 0)
			known = 2;
	return known;
}

/* ---- names that were given */

/* The end of an entry: a comma outside of double quotes, or the end. */
static const char *entry_end(const char *at)
{
	bool quoted = false;

	for (; *at && (quoted || *at != ','); at++)
		quoted ^= *at == '"';
	return at;
}

static bool entry_read(struct naming *n, const char *at, const char *end, char *why, size_t why_size)
{
	const char *equals = memchr(at, '=', (size_t)(end - at));
	enum field  what = equals ? field_of(at, (size_t)(equals - at)) : FIELD_OTHER;
	size_t      len = equals ? (size_t)(end - equals - 1) : 0;
	const char *name = equals ? name_trim(equals + 1, &len) : NULL;

	if (what == FIELD_OTHER)
		return why_write(why, why_size,
		                 "--columns is FIELD=COLUMN,.. as sku=\"Variant SKU\",qty=Available, not %.*s",
		                 (int)(end - at), at);
	if (!field_is_of(n->kind, what) && len > 0) /* without a name the list's own column is passed over */
		return why_write(why, why_size, "--columns: a list of kind %s has no %s", movement_kind_name(n->kind),
		                 columns[what].name);
	if (n->names[what])
		return why_write(why, why_size, "--columns names %s twice", columns[what].name);
	n->names[what] = mem_alloc(len + 1);
	memcpy(n->names[what], name, len);
	return true;
}

bool naming_read(struct naming *n, const char *text, char *why, size_t why_size)
{
	for (const char *at = text, *end; *at; at = *end ? end + 1 : end) {
		end = entry_end(at);
		if (!entry_read(n, at, end, why, why_size))
			return false;
	}
	return true;
}

void naming_fini(struct naming *n)
{
	for (int i = 0; i < FIELDS; i++)
		free(n->names[i]);
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

/* The names by which a field is looked for. */
static void field_add(const struct naming *n, enum field what, struct text *t)
{
	const char *before = "";

	if (n->names[what]) {
		text_format(t, "%s (--columns says so)", n->names[what]);
		return;
	}
	if (!n->from)
		text_add(t, columns[what].name);
	for (size_t i = 0; n->from && i < LENGTH(preset_columns); i++) {
		int of = preset_columns[i].what == UNITS ? (int)units_of(n->kind) : preset_columns[i].what;

		if (of != (int)what || strcmp(preset_columns[i].word, n->from->word) != 0)
			continue;
		for (size_t k = 0; k < NAMES_MAX && preset_columns[i].names[k]; k++, before = " or ")
			text_format(t, "%s%s", before, preset_columns[i].names[k]);
	}
}

static void needed_add(const struct naming *n, struct text *t)
{
	int left = 0;

	for (int i = 0; i < FIELDS; i++)
		left += field_is_needed(n->kind, (enum field)i);
	for (int i = 0; i < FIELDS; i++)
		if (field_is_needed(n->kind, (enum field)i)) {
			field_add(n, (enum field)i, t);
			left--;
			text_add(t, left > 1 ? ", " : left == 1 ? " and " : "");
		}
}

void columns_missing(const struct naming *n, const struct table *t)
{
	struct text needed = {0};

	needed_add(n, &needed);
	say("%s is empty: the first line must name the columns %s", t->file, needed.data);
	text_fini(&needed);
}

static bool say_needed(const struct naming *n, const struct table *t, const struct record *head)
{
	struct text needed = {0}, names = {0};
	const char *name;
	size_t      len;

	needed_add(n, &needed);
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

	for (enum movement_kind kind = columns[what].has ? 1 : ORDERS_LIST; kind < KINDS; kind++)
		if (field_is_of(kind, what)) {
			text_format(&kinds, "%s%s", before, list_word(kind));
			before = " or ";
		}
	say("%s: the column %s is of a list of another kind: say --kind %s, or give the column another name "
	    "(--columns %s= passes it over)",
	    t->file, columns[what].name, kinds.data, columns[what].name);
	text_fini(&kinds);
	return false;
}

static bool say_given(const struct naming *n, const struct table *t, enum field what)
{
	say("%s: the first line has no column %s, which --columns gives for %s; it is separated by %s", t->file,
	    n->names[what], columns[what].name, table_separators(t));
	return false;
}

void columns_tell(const struct columns *c, const struct record *head, struct text *to)
{
	const char *before = "", *name;
	size_t      len;

	for (int i = 0; i < FIELDS; i++) {
		if (c->at[i] == NO_COLUMN)
			continue;
		name = record_field(head, (size_t)c->at[i], &len);
		text_format(to, "%s%s", before, columns[i].name);
		if (!name_is(columns[i].name, name, len))
			text_format(to, " = \"%.*s\"", (int)len, name);
		before = ", ";
	}
	if (c->places_count > 0)
		text_format(to, "%s%zu columns of locations", before, c->places_count);
}

/* ---- the first line */

/* Gives a column to the field for which its name is the best so far. FIELD_OTHER: it is none. *twice: the field has a
 * column of this name already. */
static enum field column_take(struct columns *c, const struct naming *n, const struct record *head, size_t i,
                              bool *twice)
{
	size_t      len, was_len;
	const char *name = record_field(head, i, &len), *was;
	enum field  found = FIELD_OTHER;

	for (int what = 0; what < FIELDS; what++) {
		size_t place = field_is_of(n->kind, (enum field)what) ? name_place(n, (enum field)what, name, len) : 0;
		size_t before = 0;

		if (place == 0)
			continue;
		if (c->at[what] != NO_COLUMN) {
			was = record_field(head, (size_t)c->at[what], &was_len);
			before = name_place(n, (enum field)what, was, was_len);
		}
		*twice |= place == before;
		if (before == 0 || place < before)
			c->at[what] = (int)i;
		found = (enum field)what;
	}
	return found;
}

/* A list without a column of units may have one for each location behind a column. */
static void places_find(struct columns *c, const struct naming *n, const struct record *head)
{
	size_t len;

	if (!n->from || !n->from->places || c->at[units_of(n->kind)] != NO_COLUMN ||
	    c->at[FIELD_location] != NO_COLUMN || field_is_of(n->kind, FIELD_from))
		return;
	for (size_t i = 0; i + 1 < head->count; i++) {
		const char *name = record_field(head, i, &len);

		if (name_is(n->from->places, name, len)) {
			c->places = i + 1;
			c->places_count = head->count - i - 1;
		}
	}
}

/* A column that has the name of a field, and is none of this list: it is of a list of another kind. */
static bool is_strange(const struct naming *n, enum field what)
{
	if (what == FIELD_state || what == FIELD_customer)
		return false; /* many lists of stock have one */
	return what != FIELD_OTHER && !n->from && !n->names[what] && !field_is_of(n->kind, what);
}

bool columns_read(struct columns *c, const struct naming *n, const struct table *t, const struct record *head,
                  bool tells)
{
	enum field  strange = FIELD_OTHER, doubled = FIELD_OTHER;
	struct text others = {0};

	*c = (struct columns){.count = head->count};
	for (int i = 0; i < FIELDS; i++)
		c->at[i] = NO_COLUMN;
	for (size_t i = 0; i < head->count; i++) {
		size_t      len;
		const char *name = record_field(head, i, &len);
		bool        twice = false;
		enum field  what = column_take(c, n, head, i, &twice);

		if (twice)
			doubled = what;
		if (what == FIELD_OTHER && is_strange(n, field_of(name, len)))
			strange = field_of(name, len);
		else if (what == FIELD_OTHER && !name_is(WRONG_COLUMN, name, len))
			name_add(&others, name, len);
	}
	places_find(c, n, head);
	if (tells && !n->from && others.len > 0 && strange == FIELD_OTHER && doubled == FIELD_OTHER)
		say("%s: these columns are passed over: %s", t->file, others.data);
	text_fini(&others);
	if (doubled != FIELD_OTHER) {
		say("%s: the first line names the column %s twice", t->file, columns[doubled].name);
		return false;
	}
	for (int i = 0; i < FIELDS; i++)
		if (n->names[i] && n->names[i][0] && c->at[i] == NO_COLUMN)
			return say_given(n, t, (enum field)i);
	for (int i = 0; i < FIELDS; i++)
		if (field_is_needed(n->kind, (enum field)i) && c->at[i] == NO_COLUMN &&
		    (c->places_count == 0 || (enum field)i != units_of(n->kind)))
			return say_needed(n, t, head);
	return strange == FIELD_OTHER || say_strange(t, strange);
}
