/* key_command.c - see key_command.h. A secret is printed once and kept nowhere. */
#include "commands/key_command.h"
#include "api/key_edit.h"
#include "commands/database.h"
#include "commands/options.h"
#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/read/key.h"

#include <stdio.h>

enum { KEY_BYTES = 32, WHY_SIZE = 400 };

#define DAY_MS        INT64_C(86400000)
#define LENGTH_MAX_MS (3660 * DAY_MS)
#define LENGTH_RULE   "is a number of s, m, h or d, as 24h, ten years at most"

/* What the command line says. */
struct wish {
	int64_t  now;     /* time of this machine, ms since 1970 */
	int64_t  expires; /* TIME_NONE: never, or not said */
	int64_t  overlap; /* ms */
	unsigned roles;
};

/* ---- times */

/* 24h, 90d; 0 without a letter. */
static bool length_read(const char *text, int64_t *ms)
{
	static const struct {
		char    letter;
		int64_t ms;
	} units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', DAY_MS}};

	size_t  digits = strspn(text, "0123456789");
	int64_t n = digits > 0 && digits <= 9 ? strtoll(text, NULL, 10) : -1;

	*ms = 0;
	if (n == 0 && !text[digits])
		return true;
	for (size_t i = 0; n >= 0 && i < LENGTH(units); i++)
		if (text[digits] == units[i].letter && !text[digits + 1]) {
			*ms = n * units[i].ms;
			return *ms <= LENGTH_MAX_MS;
		}
	return false;
}

/* The file has whole seconds. */
static int64_t whole_seconds(int64_t ms)
{
	return (ms + 999) / 1000 * 1000;
}

/* The time of --expires; TIME_NONE: never. */
static bool expires_read(const char *text, int64_t now, int64_t *expires)
{
	int64_t ms;

	*expires = TIME_NONE;
	if (!text || strcmp(text, "never") == 0)
		return true;
	if (length_read(text, &ms))
		ms += now;
	else if (time_read(text, &ms))
		ms /= 1000;
	else
		ms = 0;
	*expires = whole_seconds(ms);
	return ms > now && *expires <= TIME_LAST;
}

static void time_put(struct json_writer *w, const char *name, int64_t ms)
{
	struct text at = {0};

	if (ms == TIME_NONE) {
		json_put_null(w, name);
		return;
	}
	time_write(&at, ms);
	json_put_string(w, name, at.data);
	text_fini(&at);
}

/* ---- new and rotate */

/* Draws a secret: its hex digits, and its digest for the file. */
static void secret_draw(struct text *secret, uint8_t digest[DIGEST_SIZE])
{
	uint8_t random[KEY_BYTES];

	random_bytes(random, sizeof(random));
	text_hex(secret, random, sizeof(random));
	assert(secret->len == 2 * KEY_BYTES);
	key_digest(digest, secret->data, secret->len);
}

static bool secret_print(const struct key_line *key, const struct text *secret)
{
	struct text        out = {0}, role = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	json_put_string(&w, "name", key->name);
	roles_write(&role, key->roles);
	json_put_string(&w, "role", role.data);
	json_put_string(&w, "key", secret->data);
	if (key->expires != TIME_NONE)
		time_put(&w, "expires_at", key->expires);
	if (key->old_until != TIME_NONE)
		time_put(&w, "old_until", key->old_until);
	json_close_object(&w);
	printf("%s\n", option_given(OPTION_json) ? out.data : secret->data);
	text_fini(&out);
	text_fini(&role);
	return fflush(stdout) == 0;
}

/* Draws a secret for the key, writes its line and prints the secret. A secret that cannot be printed is none. */
static int secret_give(struct key_edit *e, const struct key_line *from, struct key_line *to)
{
	struct text secret = {0};
	char        why[WHY_SIZE];
	int         status = EXIT_DONE;

	secret_draw(&secret, to->digest);
	if (!key_edit_write(e, from, to, why, sizeof(why)))
		status = say_status(EXIT_TROUBLE, "%s", why);
	else if (!secret_print(to, &secret))
		status = key_edit_undo(e, why, sizeof(why))
		                 ? say_status(EXIT_TROUBLE, "the key could not be printed: %s is as before", e->file)
		                 : say_status(EXIT_TROUBLE, "the key could not be printed: %s", why);
	text_fini(&secret);
	return status;
}

static int key_make(struct key_edit *e, const struct wish *wish)
{
	const struct key_line *other = key_list_find(&e->list, operand(1));
	struct key_line        key = {.expires = wish->expires, .old_until = TIME_NONE};

	if (other)
		return say_status(EXIT_TROUBLE, "%s has a key called %s already, line %d", e->file, other->name,
		                  other->number);
	if (e->list.count == KEYS_MAX)
		return say_status(EXIT_TROUBLE, "%s has %d keys, more there may not be", e->file, KEYS_MAX);
	strcpy(key.name, operand(1));
	key.roles = wish->roles;
	return secret_give(e, NULL, &key);
}

static int say_time(const char *format, const char *name, int64_t ms)
{
	struct text at = {0};

	time_write(&at, ms);
	say(format, name, at.data);
	text_fini(&at);
	return EXIT_TROUBLE;
}

/* A key has two secrets at most. A third one would end the oldest, which clients may still use, or the one in between,
 * which others have been given. */
static int key_rotate(struct key_edit *e, const struct key_line *from, const struct wish *wish)
{
	struct key_line to = *from;
	int64_t         now = wish->now, overlap = wish->overlap;
	int             status;

	if (option_given(OPTION_expires))
		to.expires = wish->expires;
	if (to.expires != TIME_NONE && to.expires <= now)
		return say_time("%s expired at %s: say --expires TIME for the new secret", from->name, to.expires);
	if (overlap > 0 && from->old_until != TIME_NONE && from->old_until > now)
		return say_time(
			"%s has two secrets, the old one until %s, and more there may not be: `key revoke --old` "
			"ends the old one, --overlap 0 both",
			from->name, from->old_until);
	to.old_until = TIME_NONE;
	if (overlap > 0 && (from->expires == TIME_NONE || from->expires > now)) {
		memcpy(to.old, from->digest, DIGEST_SIZE);
		to.old_until = whole_seconds(now + overlap);
		if (from->expires != TIME_NONE && from->expires < to.old_until)
			to.old_until = from->expires;
	}
	status = secret_give(e, from, &to);
	if (status == EXIT_DONE && to.old_until != TIME_NONE)
		(void)say_time("the old secret of %s is valid until %s", to.name, to.old_until);
	return status;
}

/* ---- revoke */

static int revoked_print(const char *name, const char *what)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	json_put_string(&w, "name", name);
	json_put_string(&w, "revoked", what);
	json_close_object(&w);
	if (option_given(OPTION_json))
		puts(out.data);
	else
		printf("%s of %s is revoked; services with this file refuse it within a second\n", what, name);
	text_fini(&out);
	return EXIT_DONE;
}

static int key_revoke(struct key_edit *e, const struct key_line *from, int64_t now)
{
	struct key_line to = *from;
	bool            old = option_given(OPTION_old);
	char            why[WHY_SIZE];

	if (old && (from->old_until == TIME_NONE || from->old_until <= now))
		return say_status(EXIT_TROUBLE, "%s has no old secret", from->name);
	if (!old && e->list.count == 1)
		return say_status(EXIT_TROUBLE,
		                  "%s is the only key, and a service keeps the keys that it has if the file has none: "
		                  "make another key first, or `key rotate %s --overlap 0`",
		                  from->name, from->name);
	to.old_until = TIME_NONE;
	if (!key_edit_write(e, from, old ? &to : NULL, why, sizeof(why)))
		return say_status(EXIT_TROUBLE, "%s", why);
	return revoked_print(from->name, old ? "the old secret" : "the key");
}

/* ---- list */

/* "6 days": the largest unit of which there are two. */
static void length_write(struct text *to, int64_t ms)
{
	static const struct {
		const char *name;
		int64_t     ms;
	} units[] = {{"days", DAY_MS}, {"hours", 3600000}, {"minutes", 60000}, {"seconds", 1000}};

	size_t i = 0;

	while (i + 1 < LENGTH(units) && ms < 2 * units[i].ms)
		i++;
	text_format(to, "%lld %s", (long long)(ms / units[i].ms), units[i].name);
}

static const char *state_of(const struct key_line *key, int64_t now)
{
	return key->expires != TIME_NONE && key->expires <= now ? "expired" : "active";
}

static int64_t old_until_of(const struct key_line *key, int64_t now)
{
	return key->old_until > now ? key->old_until : TIME_NONE;
}

/* Active, expires in 6 days, the old one until TIME. */
static void state_write(struct text *to, const struct key_line *key, int64_t now)
{
	text_add(to, state_of(key, now));
	if (key->expires > now) {
		text_add(to, ", expires in ");
		length_write(to, key->expires - now);
	}
	if (old_until_of(key, now) != TIME_NONE) {
		text_add(to, ", old secret until ");
		time_write(to, key->old_until);
	}
}

/* What `key list` shows: the lines, and their last uses by the same index. */
struct listing {
	const struct key_list *list;
	struct key_use        *uses; /* NULL: no database was named */
	int64_t                now;
};

static void list_json(const struct listing *l)
{
	struct text        out = {0}, role = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	json_open_array(&w, "items");
	for (size_t i = 0; i < l->list->count; i++) {
		const struct key_line *key = &l->list->keys[i];

		text_reset(&role);
		roles_write(&role, key->roles);
		json_open_object(&w, NULL);
		json_put_string(&w, "name", key->name);
		json_put_string(&w, "role", role.data);
		if (key->rps)
			json_put_int(&w, "rps", key->rps);
		if (key->held)
			json_put_int(&w, "held", key->held);
		json_put_string(&w, "state", state_of(key, l->now));
		time_put(&w, "expires_at", key->expires);
		time_put(&w, "old_until", old_until_of(key, l->now));
		if (l->uses)
			time_put(&w, "used_at", l->uses[i].used_at);
		json_close_object(&w);
	}
	json_close_array(&w);
	json_close_object(&w);
	puts(out.data);
	text_fini(&out);
	text_fini(&role);
}

enum { CELLS = 6 };

static void number_write(struct text *to, int64_t n)
{
	if (n)
		text_int(to, n);
	else
		text_char(to, '-');
}

/* A row of the table; `key` NULL: its head. */
static void row_write(const struct listing *l, const struct key_line *key, struct text cell[CELLS])
{
	static const char *const heads[CELLS] = {"name", "role", "rps", "held", "last_used", "state"};

	for (size_t i = 0; i < CELLS; i++) {
		text_reset(&cell[i]);
		text_add(&cell[i], key ? "" : heads[i]);
	}
	if (!key)
		return;
	text_add(&cell[0], key->name);
	roles_write(&cell[1], key->roles);
	number_write(&cell[2], key->rps);
	number_write(&cell[3], key->held);
	if (!l->uses)
		text_char(&cell[4], '-');
	else if (l->uses[key - l->list->keys].used_at == TIME_NONE)
		text_add(&cell[4], "never");
	else
		time_write(&cell[4], l->uses[key - l->list->keys].used_at);
	state_write(&cell[5], key, l->now);
}

/* Numbers stand at the right end of their column. */
static void line_print(const struct text cell[CELLS], const int width[CELLS])
{
	printf("%-*s  %-*s  %*s  %*s  %-*s  %s\n", width[0], cell[0].data, width[1], cell[1].data, width[2],
	       cell[2].data, width[3], cell[3].data, width[4], cell[4].data, cell[5].data);
}

static void list_print(const struct listing *l)
{
	struct text cell[CELLS] = {0};
	int         width[CELLS] = {0};

	for (size_t i = 0; i <= l->list->count; i++) {
		row_write(l, i ? &l->list->keys[i - 1] : NULL, cell);
		for (size_t c = 0; c < CELLS; c++)
			width[c] = (int)cell[c].len > width[c] ? (int)cell[c].len : width[c];
	}
	for (size_t i = 0; i <= l->list->count; i++) {
		row_write(l, i ? &l->list->keys[i - 1] : NULL, cell);
		line_print(cell, width);
	}
	for (size_t c = 0; c < CELLS; c++)
		text_fini(&cell[c]);
}

static int uses_act(struct db *db, void *arg)
{
	const struct listing *l = arg;

	return key_uses_read(db, l->uses, l->list->count) == DB_OK ? EXIT_DONE : EXIT_UNAVAILABLE;
}

/* The list needs no database. Where one is named, and says nothing, the list is printed all the same. */
static int list_show(const struct key_list *list)
{
	struct listing l = {.list = list, .now = clock_wall_ms()};
	int            status = EXIT_DONE;

	if (option_given(OPTION_data) || option_given(OPTION_db)) {
		l.uses = mem_alloc(list->count * sizeof(*l.uses));
		for (size_t i = 0; i < list->count; i++)
			l.uses[i].key_id = list->keys[i].key_id;
		status = database_run(EMBEDDED_FIND, false, uses_act, &l);
		if (status != EXIT_DONE) {
			free(l.uses);
			l.uses = NULL;
		}
	}
	if (option_given(OPTION_json))
		list_json(&l);
	else
		list_print(&l);
	free(l.uses);
	return status;
}

static int key_list_run(const char *file)
{
	struct key_list list;
	char            why[WHY_SIZE];
	int             status;

	if (!key_file_read(&list, file, why, sizeof(why)))
		return say_status(EXIT_CONFIG, "%s", why);
	status = list_show(&list);
	key_list_fini(&list);
	return status;
}

/* ---- the command */

enum verb { NEW, LIST, ROTATE, REVOKE, VERBS };

static const char *const verb_words[VERBS] = {"new", "list", "rotate", "revoke"};

static enum verb verb_find(const char *word)
{
	enum verb v = NEW;

	while (v < VERBS && (!word || strcmp(word, verb_words[v]) != 0))
		v++;
	return v;
}

/* NULL, or an option that the verb does not know. */
static const char *option_astray(enum verb verb)
{
	if (option_given(OPTION_expires) && verb != NEW && verb != ROTATE)
		return "--expires is for key new and key rotate";
	if (option_given(OPTION_overlap) && verb != ROTATE)
		return "--overlap is for key rotate";
	if (option_given(OPTION_old) && verb != REVOKE)
		return "--old is for key revoke";
	return NULL;
}

/* Reads the command as it was given; EXIT_DONE, or after saying why not. */
static int wish_read(enum verb verb, struct wish *wish)
{
	static const int operands[VERBS] = {[NEW] = 3, [LIST] = 1, [ROTATE] = 2, [REVOKE] = 2};

	int given = 0;

	while (given < 3 && operand(given))
		given++;
	if (verb == VERBS || given != operands[verb] || !option_text(OPTION_keys))
		return operand_wrong(
			verb == VERBS ? operand(0) : NULL, verb_words, VERBS,
			"key new NAME ROLE, key list, key rotate NAME or key revoke NAME, with --keys FILE; "
			"try `holdfast key --help`");
	if (option_astray(verb))
		return say_status(EXIT_USAGE, "%s; try `holdfast key --help`", option_astray(verb));
	if (verb != LIST && !name_valid(operand(1)))
		return say_status(EXIT_USAGE, "NAME " NAME_RULE, (size_t)ID_MAX);
	if (verb == NEW && !roles_read(&wish->roles, operand(2)))
		return say_status(EXIT_USAGE, "ROLE " ROLES_RULE);
	wish->now = clock_wall_ms();
	if (!expires_read(option_text(OPTION_expires), wish->now, &wish->expires))
		return say_status(EXIT_USAGE, "--expires is a time to come, a length of time as 90d, or never");
	if (!length_read(option_text(OPTION_overlap), &wish->overlap))
		return say_status(EXIT_USAGE, "--overlap " LENGTH_RULE);
	return EXIT_DONE;
}

static int edit_run(enum verb verb, struct key_edit *e, const struct wish *wish)
{
	const struct key_line *key = verb == NEW ? NULL : key_list_find(&e->list, operand(1));

	if (verb == NEW)
		return key_make(e, wish);
	if (!key)
		return say_status(EXIT_TROUBLE, "%s has no key called %s", e->file, operand(1));
	return verb == ROTATE ? key_rotate(e, key, wish) : key_revoke(e, key, wish->now);
}

int key_run(void)
{
	enum verb       verb = verb_find(operand(0));
	struct wish     wish;
	int             status = wish_read(verb, &wish);
	const char     *file = option_text(OPTION_keys);
	struct key_edit edit;
	char            why[WHY_SIZE];

	if (status != EXIT_DONE)
		return status;
	if (verb == LIST)
		return key_list_run(file);
	if (!key_edit_begin(&edit, file, verb == NEW, why, sizeof(why)))
		return say_status(EXIT_CONFIG, "%s", why);
	status = edit_run(verb, &edit, &wish);
	key_edit_end(&edit);
	return status;
}
