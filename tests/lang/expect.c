/* expect.c - the words of an expectation, held against an answer. See expect.h, and flow.h for the words. */
#include "engine/base/codes.h"
#include "engine/base/memory.h"
#include "engine/base/text.h"
#include "tests/lang/expect.h"
#include "tests/lang/verb.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { TIME_SLACK_S = 5 };

/* The state of judging one answer, or one result of a batch. */
struct judge {
	const struct answer *answer; /* for headers and text */
	const cJSON         *root;   /* the answer's object, or the result's */
	const cJSON         *rows;   /* the array that bare words choose from */
	const cJSON         *row;    /* the row that the last bare word chose; NULL: the root itself */
	int                  status;
	bool                 coded;    /* the problem's code was compared */
	bool                 replayed; /* the header was as expected: it has to be in every answer */
	struct text         *why;
};

static bool refuse(struct judge *j, const char *format, ...) PRINTF(2, 3);
static bool refuse(struct judge *j, const char *format, ...)
{
	char    line[600];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	text_add(j->why, line);
	return false;
}

static const cJSON *member(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *string_of(const cJSON *object, const char *name)
{
	const cJSON *m = member(object, name);

	return cJSON_IsString(m) ? m->valuestring : "";
}

/* Follows a path like lines[0].qty. */
static const cJSON *path_find(const cJSON *from, const char *path)
{
	char name[80];
	int  used;

	while (from && *path) {
		if (*path == '[') {
			from = cJSON_GetArrayItem(from, atoi(path + 1));
			path += strcspn(path, "]") + 1;
		} else if (sscanf(path, "%79[^[.]%n", name, &used) == 1) {
			from = member(from, name);
			path += used;
		} else {
			return NULL;
		}
		path += *path == '.';
	}
	return from;
}

/* A row is called by its sku, or by the id it is about; a task by T and its number; an event by its type. */
static bool row_is_called(const cJSON *row, const char *name)
{
	const cJSON *task = member(row, "task_id");

	if (cJSON_IsNumber(task))
		return *name == 'T' && atoi(name + 1) == task->valueint;
	return strcmp(string_of(row, "sku"), name) == 0 || strcmp(string_of(row, "order_id"), name) == 0 ||
	       strcmp(string_of(row, "movement_id"), name) == 0 ||
	       (member(row, "data") && strcmp(string_of(row, "type"), name) == 0);
}

/* SKU, SKU@LOCATION or @LOCATION. Without LOCATION a row that has one must be of main. */
static const cJSON *row_find(const cJSON *rows, const char *word)
{
	char         name[SKU_MAX + LOCATION_MAX];
	const char  *at = strrchr(word, '@'), *location = at ? at + 1 : "main";
	const cJSON *row;

	snprintf(name, sizeof(name), "%.*s", at ? (int)(at - word) : (int)strlen(word), word);
	cJSON_ArrayForEach(row, rows)
	{
		bool placed = !member(row, "location") || strcmp(string_of(row, "location"), location) == 0;

		if (placed && (!name[0] || row_is_called(row, name)))
			return row;
	}
	return NULL;
}

static const char *row_name(const cJSON *row)
{
	static const char *const names[] = {"order_id", "movement_id", "sku", "location", "type"};

	for (size_t i = 0; i < LENGTH(names); i++)
		if (member(row, names[i]))
			return string_of(row, names[i]);
	return cJSON_IsString(row) ? row->valuestring : "?";
}

static void rows_join(const cJSON *rows, struct text *to)
{
	const cJSON *row;

	cJSON_ArrayForEach(row, rows)
	{
		const cJSON *task = member(row, "task_id");

		if (cJSON_IsNumber(task))
			text_format(to, "%sT%d", to->len ? "," : "", task->valueint);
		else
			text_format(to, "%s%s", to->len ? "," : "", row_name(row));
	}
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_sort(struct text *names)
{
	struct text out = {0};
	char       *word[1000], *rest = names->data;
	size_t      n = 0;

	while (n < LENGTH(word) && rest && (word[n] = strsep(&rest, ",")))
		n++;
	qsort(word, n, sizeof(*word), compare_strings);
	for (size_t i = 0; i < n; i++)
		text_format(&out, "%s%s", i ? "," : "", word[i]);
	text_fini(names);
	*names = out;
}

/* `want` in digits: the number of rows; otherwise their names, in this order or in any order. */
static bool rows_are(const cJSON *rows, const char *want, bool in_order)
{
	struct text have = {0}, wanted = {0};
	bool        same;

	if (*want && want[strspn(want, "0123456789")] == '\0')
		return cJSON_IsArray(rows) && cJSON_GetArraySize(rows) == atoi(want);
	text_add(&wanted, want);
	text_add(&have, "");
	rows_join(rows, &have);
	if (!in_order) {
		names_sort(&wanted);
		names_sort(&have);
	}
	same = cJSON_IsArray(rows) && strcmp(have.data, wanted.data) == 0;
	text_fini(&have);
	text_fini(&wanted);
	return same;
}

static bool time_is_near(const char *s, int from_now_s)
{
	struct tm tm = {0};
	double    off;

	if (!strptime(s, "%Y-%m-%dT%H:%M:%S", &tm))
		return false;
	off = difftime(timegm(&tm), time(NULL)) - from_now_s;
	return off >= -TIME_SLACK_S && off <= TIME_SLACK_S;
}

static bool value_is(const cJSON *value, const char *want)
{
	char number[40];

	if (strcmp(want, "*") == 0)
		return true;
	if (cJSON_IsNumber(value)) {
		snprintf(number, sizeof(number), "%.0f", value->valuedouble);
		return strcmp(number, want) == 0;
	}
	if (cJSON_IsArray(value))
		return rows_are(value, want, true);
	if (cJSON_IsString(value) && *want == '~')
		return time_is_near(value->valuestring, atoi(want + 1));
	if (cJSON_IsString(value))
		return strcmp(value->valuestring, want) == 0;
	return strcmp(want, cJSON_IsTrue(value) ? "true" : cJSON_IsFalse(value) ? "false" : "null") == 0;
}

/* KEY=VALUE: a member of the chosen row or of the root, or a line SKU[@LOCATION]=QTY of a reservation or movement. A
 * refusal may show a reservation, too. */
static bool judge_balance(struct judge *j, const char *word)
{
	const char  *equals = strrchr(word, '=');
	char         key[160];
	const cJSON *value;

	snprintf(key, sizeof(key), "%.*s", (int)(equals - word), word);
	if (strcmp(key, "set") == 0)
		return rows_are(member(j->root, "items"), equals + 1, false) || refuse(j, "the items are not these");
	value = j->row ? path_find(j->row, key) : NULL;
	if (!value)
		value = path_find(j->root, key);
	if (!value)
		value = member(row_find(member(j->row, "lines"), key), "qty");
	if (!value)
		value = member(row_find(member(j->root, "lines"), key), "qty");
	if (!value)
		value = member(row_find(member(member(j->root, "reservation"), "lines"), key), "qty");
	if (!value)
		return refuse(j, "there is no %s", key);
	return value_is(value, equals + 1) || refuse(j, "%s is not %s", key, equals + 1);
}

/* NAME:VALUE: the value of the header, or an element of it, is VALUE; * for any. */
static bool judge_header(struct judge *j, const char *word)
{
	const char *colon = strchr(word, ':');
	char        name[80], value[400], *rest = value, *element;

	snprintf(name, sizeof(name), "%.*s", (int)(colon - word), word);
	if (!answer_header(j->answer, name, value, sizeof(value)))
		return refuse(j, "there is no header %s", name);
	if (strcmp(colon + 1, "*") == 0 || strcmp(colon + 1, value) == 0)
		return true;
	while ((element = strsep(&rest, ",; ")))
		if (strcmp(element, colon + 1) == 0)
			return true;
	return refuse(j, "the header %s is not %s", name, colon + 1);
}

/* The text of metrics or of the document, without its quotes, which are a nuisance in C. */
static void plain_text(const struct answer *a, struct text *to)
{
	text_add(to, "\n");
	for (size_t i = 0; i < a->body.len; i++)
		if (a->body.data[i] != '"')
			text_char(to, a->body.data[i]);
}

/* ~TEXT anywhere in the body; or NAME=VALUE, a line `NAME VALUE` of metrics. */
static bool judge_text(struct judge *j, const char *word)
{
	struct text plain = {0}, want = {0};
	const char *equals = strrchr(word, '=');
	bool        found;

	plain_text(j->answer, &plain);
	if (*word == '~')
		text_add(&want, word + 1);
	else
		text_format(&want, "\n%.*s %s\n", (int)(equals - word), word, equals + 1);
	found = strstr(plain.data, want.data);
	text_fini(&plain);
	text_fini(&want);
	return found || refuse(j, "the text has no %s", word);
}

/* !NAME: the member is not there. For a body that is not JSON, and after a ~: the text is not there. */
static bool judge_absent(struct judge *j, const char *word)
{
	struct text plain = {0};
	bool        found;

	if (*word != '~' && j->root)
		return !path_find(j->row ? j->row : j->root, word) || refuse(j, "%s is there", word);
	plain_text(j->answer, &plain);
	found = strstr(plain.data, word + (*word == '~')) != NULL;
	text_fini(&plain);
	return !found || refuse(j, "%s is there", word);
}

static bool is_state(const char *word)
{
	static const char *const states[] = {"held",   "confirmed", "settled", "released", "expired",
	                                     "buried", "open",      "done",    "returned", "reaped"};

	for (size_t i = 0; i < LENGTH(states); i++)
		if (strcmp(word, states[i]) == 0)
			return true;
	return false;
}

static bool judge_flag(struct judge *j, const char *word, bool *known)
{
	const cJSON *next = member(j->root, "next_cursor");

	*known = true;
	if (strcmp(word, "replayed") == 0)
		return j->replayed = true;
	if (strcmp(word, "reacquired") == 0)
		return cJSON_IsTrue(member(j->root, "reacquired")) || refuse(j, "reacquired is not true");
	if (strcmp(word, "more") == 0)
		return cJSON_IsString(next) || refuse(j, "there is no next_cursor");
	if (strcmp(word, "end") == 0)
		return cJSON_IsNull(next) || refuse(j, "next_cursor is not null");
	if (strcmp(word, "short") == 0 && j->status < 400) {
		j->rows = member(j->root, "short");
		return cJSON_IsArray(j->rows) || refuse(j, "there is no short");
	}
	if (is_state(word) && j->status < 400)
		return strcmp(string_of(j->root, "state"), word) == 0 || refuse(j, "the state is not %s", word);
	return *known = false;
}

static bool judge_bare(struct judge *j, const char *word)
{
	bool known, good = judge_flag(j, word, &known);

	if (known)
		return good;
	if (j->status >= 400 && !j->coded) {
		j->coded = true;
		j->rows = member(j->root, "lines");
		return strcmp(string_of(j->root, "code"), word) == 0 || refuse(j, "the code is not %s", word);
	}
	if (j->status == 422 && !j->rows) /* an unknown sku is named somewhere in the problem */
		return strstr(string_of(j->root, "detail"), word) || refuse(j, "%s is not named", word);
	if (*word == '@' && member(j->root, "locations"))
		j->row = row_find(member(j->root, "locations"), word);
	else
		j->row = row_find(j->rows, word);
	return j->row || refuse(j, "there is no row %s", word);
}

static bool judge_word(struct judge *j, const char *word)
{
	const char *colon = strchr(word, ':'), *equals = strchr(word, '=');

	if (colon && isupper((unsigned char)*word) && !(equals && equals < colon))
		return judge_header(j, word);
	if (*word == '!')
		return judge_absent(j, word + 1);
	if (*word == '~' || (equals && !j->root))
		return judge_text(j, word);
	return equals ? judge_balance(j, word) : judge_bare(j, word);
}

/* One answer or one result. */
static bool judge_all(struct judge *j, char *words, bool replayed)
{
	bool first = true, stated = false;

	for (char *word; (word = word_next(&words));) {
		if (first && (isdigit((unsigned char)*word) || strcmp(word, "lost") == 0)) {
			stated = true;
			if (j->status != atoi(word))
				return refuse(j, "the status is not %s", word);
		} else if (!judge_word(j, word)) {
			return false;
		}
		first = false;
	}
	if (!stated && (j->status < 200 || j->status > 299))
		return refuse(j, "the status is not 2xx");
	if (j->replayed != replayed)
		return refuse(j, "it was %s, or says so wrongly", replayed ? "replayed" : "not replayed");
	return true;
}

static bool judge_answer(char *words, const struct answer *a, struct text *why)
{
	struct judge j = {.answer = a, .root = a->json, .status = a->status, .why = why};
	char         value[16];
	bool         replayed = answer_header(a, "Idempotent-Replayed", value, sizeof(value));

	j.rows = member(a->json, "items");
	if (!j.rows)
		j.rows = member(a->json, "orders");
	return judge_all(&j, words, replayed && strcmp(value, "true") == 0);
}

static bool judge_result(char *words, const cJSON *result, const struct answer *a, struct text *why)
{
	const cJSON *status = member(result, "status");
	struct judge j = {.answer = a, .root = result, .status = status ? status->valueint : 0, .why = why};

	return judge_all(&j, words, cJSON_IsTrue(member(result, "replayed")));
}

/* Judges part by part; a part `...` repeats the one before it for all further results. A batch that was refused as a
 * whole is judged as a single answer, and then its results, where the expectation names any. */
static bool judge_batch(char *words, const struct answer *a, struct text *why)
{
	const cJSON *result = cJSON_GetArrayItem(member(a->json, "results"), 0);
	char        *rest = words, *part = NULL;
	bool         good = true;

	if (a->status != 200) {
		good = judge_answer(strsep(&rest, "|"), a, why);
		if (!good || !rest)
			return good;
	}
	for (int i = 0; good && result; i++, result = result->next) {
		char *copy;

		part = rest && strcmp(rest, " ...") == 0 ? part : strsep(&rest, "|");
		if (!part) {
			text_add(why, "there are more results");
			return false;
		}
		copy = mem_copy(part); /* judging cuts it up */
		good = judge_result(copy, result, a, why);
		if (!good)
			text_format(why, " (result %d)", i);
		free(copy);
	}
	if (good && rest && strcmp(rest, " ...") != 0) {
		text_add(why, "there are fewer results");
		return false;
	}
	return good;
}

bool expect_words(const char *expectation, bool batch, const struct answer *a, struct text *why)
{
	char *words = mem_copy(expectation);
	bool  good = batch ? judge_batch(words, a, why) : judge_answer(words, a, why);

	free(words);
	return good;
}
