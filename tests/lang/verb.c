/* verb.c - see verb.h. */
#include "api/http/uri.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "tests/lang/verb.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- a step's text */

char *word_next(char **rest)
{
	char *word = *rest + strspn(*rest, " "), *end;

	if (!*word)
		return NULL;
	end = strchr(word + 1, *word == '\'' ? '\'' : ' ');
	word += *word == '\'';
	*rest = end ? end + 1 : word + strlen(word);
	if (end)
		*end = '\0';
	return word;
}

void step_read(struct step *s, const char *text, int64_t number)
{
	struct text whole = {0};
	char       *arrow, *word, *rest;

	text_add(&whole, "");
	for (const char *at = text + strspn(text, " "); *at; at++) {
		if (*at == '#' && number >= 0)
			text_int(&whole, number);
		else
			text_char(&whole, *at);
	}
	*s = (struct step){.text = whole.data};
	arrow = strstr(s->text, "-> ");
	if (arrow) {
		*arrow = '\0';
		s->expectation = arrow + strlen("-> ");
	}
	for (size_t n = strlen(s->text); n > 0 && s->text[n - 1] == ' '; n--)
		s->text[n - 1] = '\0';
	s->rest = s->text;
	s->cut = rest = mem_copy(s->text);
	s->word = mem_alloc((strlen(rest) / 2 + 2) * sizeof(*s->word));
	while ((word = word_next(&rest)))
		s->word[s->words++] = word;
}

void step_fini(struct step *s)
{
	free(s->text);
	free(s->cut);
	free(s->word);
	*s = (struct step){0};
}

/* ---- JSON and paths out of words */

static void json_code(struct text *to, const char *code, size_t len)
{
	text_char(to, '"');
	for (size_t i = 0; i < len; i++) {
		if (strchr("\"\\", code[i]))
			text_char(to, '\\');
		text_char(to, code[i]);
	}
	text_char(to, '"');
}

static void json_string(struct text *to, const char *name, const char *value)
{
	text_format(to, "\"%s\":", name);
	json_code(to, value, strlen(value));
}

/* BEFORE CODE AFTER, the code as a segment of a path. */
static void path_add(struct text *to, const char *before, const char *code, const char *after)
{
	text_add(to, before);
	percent_encode(to, code);
	text_add(to, after);
}

/* "locations":["paris","lyon"] of paris,lyon; of paris+lyon also "may_split":true. */
static void json_places(struct text *to, const char *places, size_t len)
{
	bool split = memchr(places, '+', len);

	text_add(to, ",\"locations\":[");
	for (size_t i = 0, from = 0; i <= len; i++) {
		if (i < len && places[i] != ',' && places[i] != '+')
			continue;
		if (i > from)
			text_format(to, "%s\"%.*s\"", from ? "," : "", (int)(i - from), places + from);
		from = i + 1;
	}
	text_add(to, split ? "],\"may_split\":true" : "]");
}

/* "sku":"A","location":"paris" of A@paris. */
static void json_place(struct text *to, const char *place, size_t len)
{
	const char *at = memrchr(place, '@', len);
	size_t      left = at ? len - (size_t)(at - place) - 1 : 0;

	text_add(to, "\"sku\":");
	json_code(to, place, at ? (size_t)(at - place) : len);
	if (at && (memchr(at, ',', left + 1) || memchr(at, '+', left + 1))) {
		json_places(to, at + 1, left);
	} else if (at) {
		text_add(to, ",\"location\":");
		json_code(to, at + 1, left);
	}
}

/* KEY=VALUE as a member where the word begins with `key`; a number stays bare. */
static bool json_option(struct text *to, const char *word, const char *key, const char *name, bool bare)
{
	size_t len = strlen(key);

	if (strncmp(word, key, len) != 0 || word[len] != '=')
		return false;
	text_format(to, bare ? ",\"%s\":%s" : ",\"%s\":\"%s\"", name, word + len + 1);
	return true;
}

/* ---- movements */

static bool is_signed(const char *word)
{
	return (*word == '+' || *word == '-') && isdigit((unsigned char)word[1]);
}

static void movement_begin(struct text *to, const char *verb, const char *id)
{
	static atomic_int made;

	text_add(to, "{");
	if (id)
		json_string(to, "movement_id", id);
	else
		text_format(to, "\"movement_id\":\"made-%d\"", atomic_fetch_add(&made, 1));
	text_add(to, ",");
	json_string(to, "kind", strcmp(verb, "adjust") == 0 ? "adjustment" : verb);
	text_add(to, ",\"lines\":[");
}

static bool movement_option(struct text *to, const char *word)
{
	return json_option(to, word, "create", "create", true) || json_option(to, word, "reason", "reason", false) ||
	       json_option(to, word, "order", "order_id", false) ||
	       json_option(to, word, "reference", "reference", false);
}

/* transfer|arrival [ID] SKU@FROM>TO=N .. [reason=R] [reference=R] */
static bool write_transfer(const struct step *s, struct call *to)
{
	size_t      i = 1, lines = 0;
	char       *id = s->words > 2 && !strchr(s->word[1], '>') ? s->word[i++] : NULL;
	struct text tail = {0};

	movement_begin(&to->body, s->word[0], id);
	for (; i < s->words; i++) {
		char *at = strrchr(s->word[i], '@'), *over = strchr(s->word[i], '>'), *equals = strchr(s->word[i], '=');

		if (movement_option(&tail, s->word[i]))
			continue;
		if (!at || !over || !equals)
			break;
		*at = *over = *equals = '\0';
		text_add(&to->body, lines++ ? ",{" : "{");
		json_string(&to->body, "sku", s->word[i]);
		text_char(&to->body, ',');
		json_string(&to->body, "from", at + 1);
		text_char(&to->body, ',');
		json_string(&to->body, "to", over + 1);
		text_format(&to->body, ",\"qty\":%s}", equals + 1);
	}
	text_format(&to->body, "]%s}", tail.data ? tail.data : "");
	text_fini(&tail);
	return i == s->words;
}

static bool loss_option(struct text *to, const char *word)
{
	return json_option(to, word, "short", "short", false) || json_option(to, word, "to", "to", false);
}

/* receipt|adjust|return [ID] SKU +N [short=backorder [to=L]] .. [reason=R] [reference=R] */
static bool write_movement(const struct step *s, struct call *to)
{
	size_t      i = 1, lines = 0;
	struct text tail = {0};
	const char *id = s->words > 2 && !is_signed(s->word[2]) ? s->word[i++] : NULL;
	bool        good = true;

	movement_begin(&to->body, s->word[0], id);
	for (; good && i < s->words; i++) {
		if (movement_option(&tail, s->word[i]))
			continue;
		good = i + 1 < s->words && is_signed(s->word[i + 1]);
		if (!good)
			break;
		text_add(&to->body, lines++ ? ",{" : "{");
		json_place(&to->body, s->word[i], strlen(s->word[i]));
		i++;
		text_format(&to->body, ",\"qty\":%s", s->word[i] + (*s->word[i] == '+'));
		while (i + 1 < s->words && (json_option(&to->body, s->word[i + 1], "expected", "expected", true) ||
		                            loss_option(&to->body, s->word[i + 1])))
			i++;
		text_add(&to->body, "}");
	}
	text_format(&to->body, "]%s}", tail.data ? tail.data : "");
	text_fini(&tail);
	return good;
}

/* NAME=+S or NAME=-S: S seconds from now, or ago. */
static bool time_option(struct text *to, const char *word, const char *name)
{
	size_t          len = strlen(name);
	struct timespec now;

	if (strncmp(word, name, len) != 0 || word[len] != '=')
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	text_format(to, ",\"%s\":\"", name);
	time_write(to, ((int64_t)now.tv_sec + atoi(word + len + 1)) * 1000 + now.tv_nsec / 1000000);
	text_add(to, "\"");
	return true;
}

/* count [ID] LINE [expected=N] [as_of=-S] [short=backorder [to=L]] .. [reason=R] [reference=R] */
static bool write_count(const struct step *s, struct call *to)
{
	size_t      i = 1, lines = 0;
	char       *id = s->words > 2 && !strchr(s->word[1], '=') ? s->word[i++] : NULL;
	struct text tail = {0};

	movement_begin(&to->body, s->word[0], id);
	for (; i < s->words; i++) {
		const char *equals = strchr(s->word[i], '=');

		if (movement_option(&tail, s->word[i]))
			continue;
		if (!equals)
			break;
		text_add(&to->body, lines++ ? ",{" : "{");
		json_place(&to->body, s->word[i], (size_t)(equals - s->word[i]));
		text_format(&to->body, ",\"counted\":%s", equals + 1);
		while (i + 1 < s->words &&
		       (json_option(&to->body, s->word[i + 1], "expected", "expected", true) ||
		        time_option(&to->body, s->word[i + 1], "as_of") || loss_option(&to->body, s->word[i + 1])))
			i++;
		text_add(&to->body, "}");
	}
	text_format(&to->body, "]%s}", tail.data ? tail.data : "");
	text_fini(&tail);
	return i == s->words;
}

/* ---- reservations */

/* Lines, and options behind them. */
static bool lines_write(struct text *to, char *const *word, size_t words)
{
	struct text tail = {0};
	bool        good = true;
	size_t      lines = 0;

	text_add(to, "\"lines\":[");
	for (size_t i = 0; good && i < words; i++) {
		const char *equals = strchr(word[i], '=');

		if (json_option(&tail, word[i], "ttl", "ttl_s", true) ||
		    json_option(&tail, word[i], "mode", "mode", false) ||
		    json_option(&tail, word[i], "confirm", "confirm", true) ||
		    json_option(&tail, word[i], "replaces", "replaces", false) ||
		    json_option(&tail, word[i], "customer", "customer", false) ||
		    time_option(&tail, word[i], "ship_after") || time_option(&tail, word[i], "waits_since") ||
		    json_option(&tail, word[i], "then", "then", false) ||
		    json_option(&tail, word[i], "force", "force", true) ||
		    json_option(&tail, word[i], "if_version", "if_version", true) ||
		    json_option(&tail, word[i], "reference", "reference", false))
			continue;
		good = equals;
		if (good) {
			text_add(to, lines++ ? ",{" : "{");
			json_place(to, word[i], (size_t)(equals - word[i]));
			text_format(to, ",\"qty\":%s}", equals + 1);
		}
	}
	text_format(to, "]%s}", tail.data ? tail.data : "");
	text_fini(&tail);
	return good;
}

static bool reservation_write(struct text *to, char *const *word, size_t words)
{
	if (words < 1)
		return false;
	text_add(to, "{");
	json_string(to, "order_id", word[0]);
	text_add(to, ",");
	return lines_write(to, word + 1, words - 1);
}

/* amend ID LINE .. [ttl=S] [mode=best_effort] [if_version=N] [force=true] */
static bool write_amend(const struct step *s, struct call *to)
{
	if (s->words < 2)
		return false;
	path_add(&to->path, "/v1/reservations/", s->word[1], "");
	text_add(&to->body, "{");
	return lines_write(&to->body, s->word + 2, s->words - 2);
}

static bool write_reserve(const struct step *s, struct call *to)
{
	return reservation_write(&to->body, s->word + 1, s->words - 1);
}

/* split FIRST ID LINE .. [then=T] [force=B] */
static bool write_split(const struct step *s, struct call *to)
{
	if (s->words < 3)
		return false;
	text_format(&to->path, "/v1/reservations/%s/split", s->word[1]);
	return reservation_write(&to->body, s->word + 2, s->words - 2);
}

static bool is_atomic(const struct step *s)
{
	return s->words > 1 && strcmp(s->word[1], "atomic") == 0;
}

/* batch [atomic] RESERVATION | RESERVATION .. */
static bool write_batch(const struct step *s, struct call *to)
{
	size_t begin = 1 + is_atomic(s), from = begin;
	bool   good = true;

	text_add(&to->body, is_atomic(s) ? "{\"atomic\":true,\"reservations\":[" : "{\"reservations\":[");
	for (size_t i = begin; good && i <= s->words; i++) {
		if (i < s->words && strcmp(s->word[i], "|") != 0)
			continue;
		text_add(&to->body, from > begin ? "," : "");
		good = reservation_write(&to->body, s->word + from, i - from);
		from = i + 1;
	}
	text_add(&to->body, "]}");
	return good;
}

/* The meaning of a word that is no id for the orders of a change, as a member; NULL: it is an id. */
static const char *change_word(const char *word)
{
	if (strcmp(word, "reacquire") == 0)
		return "\"if_expired\":\"reacquire\"";
	return strcmp(word, "if=held") == 0 ? "\"if_state\":\"held\"" : NULL;
}

/* confirmations [atomic] ID .. [reacquire]    releases [atomic] ID .. [if=held]    settlements [atomic] ID .. */
static bool write_changes(const struct step *s, struct call *to)
{
	size_t      last = s->words - 1, before = is_atomic(s);
	const char *said = last > 0 ? change_word(s->word[last]) : NULL;

	text_add(&to->body, before ? "{\"atomic\":true,\"order_ids\":[" : "{\"order_ids\":[");
	for (size_t i = 1 + before; i <= last - (said != NULL); i++)
		text_format(&to->body, "%s\"%s\"", i == 1 + before ? "" : ",", s->word[i]);
	text_format(&to->body, said ? "],%s}" : "]}", said);
	return last > before + (said != NULL);
}

static bool write_change(const struct step *s, struct call *to)
{
	if (s->words < 2)
		return false;
	path_add(&to->path, "/v1/reservations/", s->word[1], "/");
	text_add(&to->path, s->word[0]);
	if (s->words == 2)
		return true;
	if (change_word(s->word[2])) {
		text_format(&to->body, "{%s}", change_word(s->word[2]));
		return true;
	}
	if (strncmp(s->word[2], "force=", 6) == 0) {
		text_format(&to->body, "{\"force\":%s}", s->word[2] + 6);
		return true;
	}
	if (strncmp(s->word[2], "ttl=", 4) == 0) {
		text_format(&to->body, "{\"ttl_s\":%s}", s->word[2] + 4);
		return true;
	}
	return false;
}

/* hold ID [until=+S] [reason=TEXT]: without `until` a hold without end. */
static bool write_hold(const struct step *s, struct call *to)
{
	struct text tail = {0};
	bool        good = s->words > 1, ends = false;

	for (size_t i = 2; good && i < s->words; i++) {
		bool until = time_option(&tail, s->word[i], "until");

		ends |= until;
		good = until || json_option(&tail, s->word[i], "reason", "reason", false);
	}
	if (good)
		path_add(&to->path, "/v1/reservations/", s->word[1], "/hold");
	text_format(&to->body, "{%s%s}", ends ? "" : "\"until\":null", tail.data ? tail.data + ends : "");
	text_fini(&tail);
	return good;
}

static bool write_off_hold(const struct step *s, struct call *to)
{
	if (s->words == 2)
		path_add(&to->path, "/v1/reservations/", s->word[1], "/hold");
	return s->words == 2;
}

/* ---- tasks */

/* claim KIND [WORKER] [limit=N] [lease=S] */
static bool write_claim(const struct step *s, struct call *to)
{
	struct text tail = {0};
	const char *worker = "w";

	for (size_t i = 2; i < s->words; i++)
		if (!json_option(&tail, s->word[i], "limit", "limit", true) &&
		    !json_option(&tail, s->word[i], "lease", "lease_s", true))
			worker = s->word[i];
	text_format(&to->body, "{\"kind\":\"%s\",", s->words > 1 ? s->word[1] : "");
	json_string(&to->body, "worker", worker);
	text_format(&to->body, "%s}", tail.data ? tail.data : "");
	text_fini(&tail);
	return s->words > 1;
}

/* complete N [ID ..] */
static bool write_complete(const struct step *s, struct call *to)
{
	if (s->words < 2)
		return false;
	text_format(&to->path, "/v1/tasks/%s/complete", s->word[1]);
	for (size_t i = 2; i < s->words; i++) {
		text_add(&to->body, i == 2 ? "{\"order_ids\":[" : ",");
		json_code(&to->body, s->word[i], strlen(s->word[i]));
	}
	text_add(&to->body, s->words > 2 ? "]}" : "{}");
	return true;
}

/* fail N ID=retry[:ERROR] ID=bury[:ERROR] .. */
static bool write_fail(const struct step *s, struct call *to)
{
	if (s->words < 3)
		return false;
	text_format(&to->path, "/v1/tasks/%s/fail", s->word[1]);
	text_add(&to->body, "{\"orders\":[");
	for (size_t i = 2; i < s->words; i++) {
		const char *equals = strchr(s->word[i], '='), *error = equals ? strchr(equals, ':') : NULL;

		if (!equals)
			return false;
		text_add(&to->body, i > 2 ? ",{\"order_id\":" : "{\"order_id\":");
		json_code(&to->body, s->word[i], (size_t)(equals - s->word[i]));
		text_format(&to->body, ",\"error\":\"%s\",\"retry\":%s}", error ? error + 1 : "failed",
		            strncmp(equals, "=retry", 6) == 0 ? "true" : "false");
	}
	text_add(&to->body, "]}");
	return true;
}

/* heartbeat N [lease=S]    give-back N    task N */
static bool write_task(const struct step *s, struct call *to)
{
	const char *verb = s->word[0];

	if (s->words < 2)
		return false;
	text_format(&to->path, "/v1/tasks/%s%s", s->word[1],
	            strcmp(verb, "heartbeat") == 0   ? "/heartbeat"
	            : strcmp(verb, "give-back") == 0 ? "/return"
	                                             : "");
	if (s->words > 2 && strncmp(s->word[2], "lease=", 6) == 0)
		text_format(&to->body, "{\"lease_s\":%s}", s->word[2] + 6);
	return s->words == 2 || to->body.len > 0;
}

/* ---- reading */

static bool write_get(const struct step *s, struct call *to)
{
	if (s->words == 2)
		path_add(&to->path, "/v1/reservations/", s->word[1], "");
	return s->words == 2;
}

static bool write_sku(const struct step *s, struct call *to)
{
	if (s->words < 2)
		return false;
	path_add(&to->path, "/v1/skus/", s->word[1], "");
	if (s->words > 2 && strncmp(s->word[2], "max_age=", 8) == 0)
		text_format(&to->path, "?max_age_ms=%s", s->word[2] + 8);
	else if (s->words > 2)
		return false;
	return true;
}

/* limit SKU [N|none] */
static bool write_limit(const struct step *s, struct call *to)
{
	if (s->words < 2)
		return false;
	path_add(&to->path, "/v1/skus/", s->word[1], "");
	if (s->words == 3)
		text_format(&to->body, "{\"per_customer\":%s}", strcmp(s->word[2], "none") == 0 ? "null" : s->word[2]);
	return s->words <= 3;
}

/* has SKU CUSTOMER */
static bool write_has(const struct step *s, struct call *to)
{
	if (s->words != 3)
		return false;
	path_add(&to->path, "/v1/skus/", s->word[1], "/customers/");
	path_add(&to->path, "", s->word[2], "");
	return true;
}

static bool write_availability(const struct step *s, struct call *to)
{
	text_add(&to->body, "{\"skus\":[");
	for (size_t i = 1; i < s->words; i++) {
		text_add(&to->body, i > 1 ? "," : "");
		json_code(&to->body, s->word[i], strlen(s->word[i]));
	}
	text_add(&to->body, "]}");
	return s->words > 1;
}

/* list|skus|locations|movements SKU|events [state=S] [limit=N] [next] */
static bool write_list(const struct step *s, struct call *to)
{
	bool   of_sku = strcmp(s->word[0], "movements") == 0, of_events = strcmp(s->word[0], "events") == 0;
	size_t i = 1;
	char   join = '?';

	if (of_sku && s->words < 2)
		return false;
	if (of_sku)
		path_add(&to->path, "/v1/skus/", s->word[i++], "/movements");
	for (; i < s->words; i++, join = '&') {
		text_char(&to->path, join);
		if (strcmp(s->word[i], "next") == 0 && s->cursor) {
			text_format(&to->path, "%s=%s", of_events ? "after" : "cursor", s->cursor);
		} else if (strchr(s->word[i], '=')) {
			text_add(&to->path, s->word[i]);
		} else {
			return false;
		}
	}
	return true;
}

static bool write_moved(const struct step *s, struct call *to)
{
	if (s->words == 2)
		path_add(&to->path, "/v1/movements/", s->word[1], "");
	return s->words == 2;
}

/* ---- raw METHOD PATH [Header:value ..] [BODY]: the body is what follows the last header word, to the end */

static bool is_header(const char *word, size_t len)
{
	size_t name = 0;

	while (name < len && (isalnum((unsigned char)word[name]) || word[name] == '-'))
		name++;
	return name > 0 && name < len && word[name] == ':';
}

static void raw_header(struct call *to, const char *word, size_t len)
{
	bool type = strncasecmp(word, "Content-Type:", 13) == 0;

	to->has_type = to->has_type || type;
	to->has_host = to->has_host || strncasecmp(word, "Host:", 5) == 0;
	to->raw_body = to->raw_body || strncasecmp(word, "Content-Length:", 15) == 0 ||
	               strncasecmp(word, "Transfer-Encoding:", 18) == 0;
	if (!type || len > strlen("Content-Type:")) /* `Content-Type:` alone: none is sent */
		text_format(&to->headers, "%.*s\r\n", (int)len, word);
}

static bool write_raw(const struct step *s, struct call *to)
{
	const char *at = s->rest;

	if (s->words < 3 || strlen(s->word[1]) >= sizeof(to->method))
		return false;
	strcpy(to->method, s->word[1]);
	text_add(&to->path, s->word[2]);
	for (int i = 0; i < 3; i++) {
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	for (size_t len; *at && is_header(at, len = strcspn(at, " ")); at += strspn(at, " ")) {
		raw_header(to, at, len);
		at += len;
	}
	for (; *at; at++)
		text_char(&to->body, *at == '\'' ? '"' : *at);
	return true;
}

/* ---- the table */

static const struct verb {
	const char *name, *method, *path; /* path NULL: write adds it */
	bool (*write)(const struct step *s, struct call *to);
} verbs[] = {
	{"receipt", "POST", "/v1/movements", write_movement},
	{"adjust", "POST", "/v1/movements", write_movement},
	{"return", "POST", "/v1/movements", write_movement},
	{"count", "POST", "/v1/movements", write_count},
	{"transfer", "POST", "/v1/movements", write_transfer},
	{"arrival", "POST", "/v1/movements", write_transfer},
	{"reserve", "POST", "/v1/reservations", write_reserve},
	{"amend", "PUT", NULL, write_amend},
	{"batch", "POST", "/v1/reservations/batch", write_batch},
	{"confirmations", "POST", "/v1/confirmations", write_changes},
	{"releases", "POST", "/v1/releases", write_changes},
	{"confirm", "POST", NULL, write_change},
	{"release", "POST", NULL, write_change},
	{"extend", "POST", NULL, write_change},
	{"kick", "POST", NULL, write_change},
	{"settle", "POST", NULL, write_change},
	{"settlements", "POST", "/v1/settlements", write_changes},
	{"hold", "PUT", NULL, write_hold},
	{"off-hold", "DELETE", NULL, write_off_hold},
	{"split", "POST", NULL, write_split},
	{"claim", "POST", "/v1/tasks", write_claim},
	{"complete", "POST", NULL, write_complete},
	{"fail", "POST", NULL, write_fail},
	{"heartbeat", "POST", NULL, write_task},
	{"give-back", "POST", NULL, write_task},
	{"task", "GET", NULL, write_task},
	{"tasks", "GET", "/v1/tasks", write_list},
	{"get", "GET", NULL, write_get},
	{"sku", "GET", NULL, write_sku},
	{"limit", "PUT", NULL, write_limit},
	{"has", "GET", NULL, write_has},
	{"availability", "POST", "/v1/availability", write_availability},
	{"list", "GET", "/v1/reservations", write_list},
	{"skus", "GET", "/v1/skus", write_list},
	{"locations", "GET", "/v1/locations", write_list},
	{"movements", "GET", NULL, write_list},
	{"events", "GET", "/v1/events", write_list},
	{"movement", "GET", NULL, write_moved},
	{"raw", "", NULL, write_raw},
};

bool verb_write(const struct step *s, struct call *to)
{
	for (size_t i = 0; s->words > 0 && i < LENGTH(verbs); i++) {
		if (strcmp(s->word[0], verbs[i].name) != 0)
			continue;
		strcpy(to->method, verbs[i].method);
		if (verbs[i].path)
			text_add(&to->path, verbs[i].path);
		return verbs[i].write(s, to);
	}
	return false;
}
