/* webhook.c - see webhook.h. */
#include "jobs/webhooks/webhook.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"
#include "engine/log/feed.h"
#include "engine/catalogue/past.h"

#include <openssl/crypto.h>
#include <stdio.h>

const char *webhook_reason(enum webhook_state s)
{
	static const char *const words[] = {
#define X(name, number, word) [name] = word,
#include "jobs/webhooks/webhook_states.def"
#undef X
	};

	if (s == WEBHOOK_ACTIVE)
		return NULL;
	return s > 0 && s < WEBHOOK_STATES ? words[s] : "unknown";
}

static void secret_free(char *secret)
{
	if (secret)
		OPENSSL_cleanse(secret, strlen(secret));
	free(secret);
}

void webhook_fini(struct webhook *w)
{
	free(w->url);
	free(w->types);
	for (int i = 0; i < SECRETS; i++)
		secret_free(w->secrets[i]);
	free(w->place);
	free(w->last_error);
	*w = (struct webhook){0};
}

/* A text that is longer than any id is cut. */
static void short_copy(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text ? text : "");
}

/* Keeps the value in its bounds, whatever the row says: with 0 nothing would ever be sent, and no error would show
 * it. */
static unsigned parallel_read(const struct db_row *row, unsigned column)
{
	int64_t n = db_int(row, column);

	return n < 1 ? 1 : n > PARALLEL_MAX ? PARALLEL_MAX : (unsigned)n;
}

/* A time span in ms, within bounds in which sums with a time do not overflow. */
static int64_t span_read(const struct db_row *row, unsigned column)
{
	int64_t ms = db_int(row, column);

	return ms < -TIME_LAST ? -TIME_LAST : ms > TIME_LAST ? TIME_LAST : ms;
}

/* The columns in the order of {webhook_columns}. */
void webhook_read(void *webhooks, const struct db_row *row)
{
	struct webhooks *in = webhooks;
	struct webhook  *w;

	if (in->most > 0 && in->count == in->most) {
		db_other(row);
		return;
	}
	in->list = mem_reach(in->list, in->count, &in->max, sizeof(*in->list));
	w = &in->list[in->count++];
	*w = (struct webhook){.url = mem_copy(db_word(row, 1)),
	                      .types = mem_copy(row->col[2]),
	                      .from_oldest = db_int(row, 3) != 0,
	                      .parallel = parallel_read(row, 4),
	                      .created_at = time_parse(row->col[5]),
	                      .secrets = {mem_copy(db_word(row, 6)), mem_copy(row->col[7]), mem_copy(row->col[22])},
	                      .rotated_at = time_parse(row->col[8]),
	                      .state = (enum webhook_state)db_int(row, 9),
	                      .version = db_int(row, 10),
	                      .place = mem_copy(row->col[11]),
	                      .age_ms = span_read(row, 12),
	                      .last_status = row->col[14] ? (int)db_int(row, 14) : -1,
	                      .last_error = mem_copy(row->col[15]),
	                      .failures = db_int(row, 16),
	                      .failing_since = time_parse(row->col[18]),
	                      .retry_at = time_parse(row->col[19]),
	                      .failing_ms = span_read(row, 20),
	                      .retry_ms = span_read(row, 21),
	                      .mark = db_int(row, 23),
	                      .has_ahead = db_int(row, 24) != 0,
	                      .asked = db_int(row, 25) != 0};
	short_copy(w->webhook_id, sizeof(w->webhook_id), row->col[0]);
	short_copy(w->skip_event, sizeof(w->skip_event), row->col[13]);
	short_copy(w->failed_event, sizeof(w->failed_event), row->col[17]);
}

/* ---- reading */

enum db_result webhook_find(struct db *db, const char *webhook_id, struct webhook *out, enum outcome *outcome)
{
	struct webhooks in = {out, 0, 1, 1};
	enum db_result  result;

	webhook_fini(out);
	result = db_ask(db, WEBHOOK_FIND, &(struct fill){.webhook = webhook_id}, webhook_read, &in);
	*outcome = in.count ? OUTCOME_OK : NO_WEBHOOK;
	return result;
}

enum db_result webhook_list(struct db *db, const char *after, struct webhook *list, size_t max, size_t *count)
{
	struct webhooks in = {list, 0, max, max};
	enum db_result  result =
		db_ask(db, WEBHOOK_LIST, &(struct fill){.after_code = after, .limit = (int64_t)max}, webhook_read, &in);

	*count = in.count;
	return result;
}

static bool is_list(const char *json)
{
	struct json_fault fault;
	struct json_doc  *doc = json ? json_parse(json, strlen(json), &fault) : NULL;
	bool              is = doc && json_is_array(json_root(doc));

	json_free(doc);
	return is;
}

static void attempts_read(void *arg, const struct db_row *row)
{
	struct webhook_attempts *out = arg;

	if (out->found) {
		db_other(row);
		return;
	}
	out->found = true;
	out->old = db_int(row, 3) != 0;
	if (!is_list(row->col[0]))
		return;
	out->list = mem_copy(row->col[0]);
	out->at = time_parse(row->col[1]);
	short_copy(out->by, sizeof(out->by), row->col[2]);
}

enum db_result webhook_attempts(struct db *db, const char *webhook_id, struct webhook_attempts *out,
                                enum outcome *outcome)
{
	const struct fill fill = {.webhook = webhook_id};
	enum db_result    result = db_ask(db, WEBHOOK_ASK, &fill, NULL, NULL);

	free(out->list);
	*out = (struct webhook_attempts){0};
	if (result == DB_OK)
		result = db_ask(db, WEBHOOK_ATTEMPTS, &fill, attempts_read, out);
	*outcome = out->found ? OUTCOME_OK : NO_WEBHOOK;
	return result;
}

/* ---- places in the feed */

/* The cursor of a place (feed_read), owned by the caller; NULL: *outcome says why there is none. */
static enum db_result place_find(struct db *db, const char *after, char **place, enum outcome *outcome)
{
	struct catalogue   *c = past_catalogue(db);
	struct event_filter all = {.all = true};
	struct feed_page    page = {0};
	struct feed        *feed = feed_new(c);
	enum db_result      result = feed_read(feed, db, after, &all, 1, &page, outcome);

	*place = result == DB_OK && *outcome == OUTCOME_OK ? feed_cursor(&page, 0) : NULL;
	feed_page_fini(&page);
	feed_free(feed);
	return result;
}

/* ---- making, deleting */

/* True: this same call has made `w`, but its answer was lost. */
static bool has_secret(const struct vault *v, const struct webhook *w, const char *secret)
{
	char kept[SECRET_SIZE];
	bool is = vault_open(v, w->webhook_id, w->secrets[0], kept) && strcmp(kept, secret) == 0;

	OPENSSL_cleanse(kept, sizeof(kept));
	return is;
}

static enum outcome twin_outcome(const struct vault *v, const struct webhook *w, const struct webhook *asked,
                                 const char *secret)
{
	if (strcmp(w->url, asked->url) != 0 || !texts_equal(w->types, asked->types) ||
	    w->from_oldest != asked->from_oldest || w->parallel != asked->parallel)
		return WEBHOOK_ID_REUSED;
	return has_secret(v, w, secret) ? OUTCOME_OK : OUTCOME_REPLAYED;
}

static enum db_result webhook_insert(struct db *db, const struct vault *v, const struct webhook *asked,
                                     const char *secret, const char *place)
{
	struct values  rows = {0};
	struct text    kept = {0};
	enum db_result result;

	vault_seal(v, asked->webhook_id, secret, &kept);
	values_row(&rows, V_TEXT(asked->webhook_id), V_INT(random_number()), V_TEXT(asked->url), V_TEXT(asked->types),
	           V_INT(asked->from_oldest), V_INT(asked->parallel), V_TEXT(kept.data), V_TEXT(place), V_CLOCK,
	           V_CLOCK, V_CLOCK);
	result = db_ask(db, WEBHOOK_INSERT, &(struct fill){.rows = &rows}, NULL, NULL);
	values_fini(&rows);
	secret_free(kept.data);
	return result;
}

enum db_result webhook_make(struct db *db, const struct vault *v, const struct webhook *asked, const char *secret,
                            struct webhook *out, enum outcome *outcome)
{
	char          *place = NULL;
	enum db_result result = webhook_find(db, asked->webhook_id, out, outcome);

	if (result != DB_OK)
		return result;
	if (*outcome == OUTCOME_OK) {
		*outcome = twin_outcome(v, out, asked, secret);
		return DB_OK;
	}
	result = place_find(db, asked->from_oldest ? NULL : "now", &place, outcome);
	if (result == DB_OK && place)
		result = webhook_insert(db, v, asked, secret, place);
	if (result == DB_OK && place)
		result = webhook_find(db, asked->webhook_id, out, outcome);
	free(place);
	return result;
}

enum db_result webhook_delete(struct db *db, const char *webhook_id)
{
	struct webhook w = {0};
	enum outcome   outcome;
	enum db_result result = webhook_find(db, webhook_id, &w, &outcome); /* a DELETE waits for no other node */

	webhook_fini(&w);
	if (result == DB_OK && outcome == OUTCOME_OK)
		result = db_ask(db, WEBHOOK_DELETE, &(struct fill){.webhook = webhook_id}, NULL, NULL);
	return result;
}

/* ---- enabling, a new secret */

/* Finds the place from which the webhook goes on. *place NULL: its old place, or *outcome says why there is none. */
static enum db_result place_choose(struct db *db, const struct webhook *w, const char *from, char **place,
                                   enum outcome *outcome)
{
	enum db_result result = place_find(db, from ? from : w->place, place, outcome);

	if (result != DB_OK || from)
		return result;
	if (*outcome == CURSOR_EXPIRED || *outcome == BAD_CURSOR)
		return place_find(db, NULL, place, outcome);
	free(*place);
	*place = NULL;
	return DB_OK;
}

enum db_result webhook_enable(struct db *db, const char *webhook_id, const char *from, bool skip, struct webhook *out,
                              enum outcome *outcome)
{
	char          *place = NULL;
	enum db_result result = webhook_find(db, webhook_id, out, outcome);

	if (result == DB_OK && *outcome == OUTCOME_OK)
		result = place_choose(db, out, from, &place, outcome);
	if (result == DB_OK && *outcome == OUTCOME_OK)
		result = db_ask(db, WEBHOOK_ENABLE,
		                &(struct fill){.webhook = webhook_id,
		                               .mark = out->mark,
		                               .moves = place != NULL,
		                               .cursor = place,
		                               .skip = skip},
		                NULL, NULL);
	free(place);
	if (result == DB_OK && *outcome == OUTCOME_OK)
		result = webhook_find(db, webhook_id, out, outcome);
	return result;
}

enum db_result webhook_rotate(struct db *db, const struct vault *v, const char *webhook_id, const char *secret,
                              struct webhook *out, enum outcome *outcome)
{
	struct text    kept = {0};
	enum db_result result = webhook_find(db, webhook_id, out, outcome);

	if (result != DB_OK || *outcome != OUTCOME_OK || has_secret(v, out, secret))
		return result;
	vault_seal(v, webhook_id, secret, &kept);
	result = db_ask(db, WEBHOOK_ROTATE,
	                &(struct fill){.webhook = webhook_id, .mark = out->mark, .secret = kept.data}, NULL, NULL);
	secret_free(kept.data);
	if (result == DB_OK && db_changed(db) == 0)
		return DB_RETRY; /* another webhook has the id now, or it is gone */
	if (result == DB_OK)
		result = webhook_find(db, webhook_id, out, outcome);
	return result;
}
