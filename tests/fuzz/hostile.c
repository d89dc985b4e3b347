/* hostile.c - see hostile.h. */
#include "hostile.h"
#include "engine/base/log.h"
#include "engine/db/statement.h"
#include "engine/catalogue/past.h"
#include "schema/files.h"
#include "tests/kit/impostor.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the bytes: the server's, between two inputs the fuzzer's */

static struct {
	pthread_mutex_t lock;
	const uint8_t  *at, *end;
	unsigned        how;
} in = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define ENTERED (UINT64_C(1795000000000) << 20) /* lane_enter gives this back */

static uint8_t chance(void)
{
	return in.at < in.end ? *in.at++ : 0;
}

/* Numbers at the edges, times, names, states: what a random text hardly is. */
static const char *const values[] = {
	"0",
	"1",
	"2",
	"3",
	"-1",
	"100",
	"65536",
	"4294967295",
	"4294967296",
	"9000000000000000",
	"9000000000000001",
	"9223372036854775807",
	"-9223372036854775808",
	"99999999999999999999",
	"1795000000000",
	"1795000000000000",
	"2026-11-27 22:00:00.000",
	"9999-12-31 23:59:59.999",
	"99999999999999999999-01-01 00:00:00",
	"",
	"main",
	"A",
	"B",
	"R1",
	"M1",
	"w",
	"ON",
	"wsrep_on",
	"wsrep_local_state_comment",
	"https://example.com/",
	"10.11.19-MariaDB",
	"\1",
};
enum { IS_NULL = 0, IS_BYTES = 0x80 };

/* A byte: NULL, a number of `values`, or how many bytes follow. */
static void value_add(struct reply *to)
{
	uint8_t what = chance();
	char    bytes[IS_BYTES];
	size_t  len = what & (IS_BYTES - 1);

	if (what == IS_NULL) {
		reply_value(to, NULL, 0);
	} else if (what < IS_BYTES) {
		const char *value = values[(what - 1u) % LENGTH(values)];

		reply_value(to, value, strlen(value));
	} else {
		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)chance();
		reply_value(to, bytes, len);
	}
}

/* ---- the server */

enum how { ROWS, NO_ROWS = 6, NO_SET, REFUSAL, OTHER_COLUMNS, TWO_SETS, ANYTHING, CUT, MANY_ROWS, HOWS };

static const unsigned errors[] = {1064, 1213, 1205, 1062, 1020, 1146, 1021, 1290, 1317, 4025, 1264, 2013, 1047, 0};

static void rows_add(struct reply *to, unsigned columns, unsigned rows)
{
	for (unsigned i = 0; i < rows; i++) {
		for (unsigned k = 0; k < columns; k++)
			value_add(to);
		reply_row(to);
	}
}

/* The same row, a few times too often. */
static void row_repeat(struct reply *to, unsigned columns)
{
	struct text row = {0};
	unsigned    times = 1u << chance() % 13;

	for (unsigned k = 0; k < columns; k++)
		value_add(to);
	text_bytes(&row, to->row.data, to->row.len);
	while (times-- > 0 && to->bytes.len < 1 << 17) {
		text_reset(&to->row);
		text_bytes(&to->row, row.data, row.len);
		reply_row(to);
	}
	text_reset(&to->row);
	text_fini(&row);
}

static void set_add(struct reply *to, unsigned columns, enum how how)
{
	reply_columns(to, columns, chance() & 1 ? REPLY_TEXT : REPLY_NUMBER);
	if (how == MANY_ROWS)
		row_repeat(to, columns);
	else if (how != NO_ROWS)
		rows_add(to, columns, 1 + how % 4);
}

static void done_add(struct reply *to)
{
	static const uint64_t ids[] = {0, 1, ENTERED, 1795000000000000, INT64_MAX, UINT64_MAX};
	uint8_t               changed = chance(), id = chance();

	reply_done(to, changed == 255 ? UINT64_MAX : changed, ids[id % LENGTH(ids)]);
}

/* A byte says how; see enum how. */
static bool impostor_says(struct reply *to, unsigned columns)
{
	enum how how = chance() % HOWS;
	uint8_t  bytes[256];
	size_t   len;

	if (columns == 0 && (how < NO_SET || how == MANY_ROWS)) { /* as it is most often */
		reply_done(to, 1 + how, ENTERED);
		return true;
	}
	switch (how) {
	case NO_SET:
		done_add(to);
		return true;
	case REFUSAL:
		reply_error(to, errors[chance() % LENGTH(errors)], "refused (Errcode: 28)");
		return true;
	case OTHER_COLUMNS:
		columns = chance();
		break;
	case TWO_SETS:
		set_add(to, columns ? columns : 1, ROWS);
		reply_end(to, true);
		break;
	case ANYTHING:
		len = chance();
		for (size_t i = 0; i < len; i++)
			bytes[i] = chance();
		reply_packet(to, bytes, len);
		return false; /* no server would send the rest for which the client waits */
	case CUT:
		return false;
	default:
		break;
	}
	if (columns == 0) {
		done_add(to);
		return true;
	}
	set_add(to, columns, how);
	reply_end(to, false);
	return true;
}

static bool right_row(struct reply *to, unsigned columns, const char *const *values_of)
{
	reply_columns(to, columns, REPLY_TEXT);
	for (unsigned i = 0; i < columns; i++)
		reply_value(to, values_of[i], values_of[i] ? strlen(values_of[i]) : 0);
	reply_row(to);
	reply_end(to, false);
	return true;
}

#define NOW "2026-11-27 22:00:00.000"
enum { WORDS_MAX = 6 };

/* The questions of a new connection: the past, the locations, and its writer. */
static const struct {
	const char *sql; /* begins so */
	const char *row[WORDS_MAX];
} right_rows[] = {
	{"SELECT mark, (SELECT code FROM sku", {"7", NULL, NULL, "1"}},
	{"SELECT (COUNT(*) << 32 | BIT_XOR(CRC32(MD5(CONCAT_WS", {"1"}},
	{"SELECT location_id, code, kind, expected_at, waits_at FROM location FORCE", {"1", "main", "1", NULL, "0"}},
	{"BEGIN NOT ATOMIC DECLARE number INT UNSIGNED", {"1", "1", "0", NOW, NOW, "1"}},
};

static bool rightly_said(struct reply *to, const char *sql, unsigned columns)
{
	static char version[20];

	snprintf(version, sizeof(version), "%d", schema_files_latest(&schema_files));
	if (strstr(sql, "FROM schema_version"))
		return right_row(to, columns, (const char *const[]){version, "0"});
	for (size_t i = 0; !(in.how & HOSTILE_PAST) && i < LENGTH(right_rows); i++)
		if (columns <= WORDS_MAX && strncmp(sql, right_rows[i].sql, strlen(right_rows[i].sql)) == 0)
			return right_row(to, columns, right_rows[i].row);
	return false;
}

static bool answer(struct reply *to, const char *sql, bool prepared)
{
	unsigned columns = prepared ? 0 : impostor_columns(sql);
	bool     stays = true;

	pthread_mutex_lock(&in.lock);
	if (!rightly_said(to, sql, columns)) {
		if (in.at < in.end)
			stays = impostor_says(to, columns);
		else if (!(in.how & HOSTILE_GOES_ON))
			reply_error(to, 1064, "no more");
		else if (columns == 0)
			reply_done(to, 1, ENTERED);
		else {
			reply_columns(to, columns, REPLY_TEXT);
			reply_end(to, false);
		}
	}
	pthread_mutex_unlock(&in.lock);
	return stays;
}

/* ---- one input */

/* No pause takes time: a pause between two tries is over at once. */
int usleep(useconds_t us)
{
	(void)us;
	return 0;
}

static char socket_path[64];

static void path_remove(void)
{
	unlink(socket_path);
}

void hostile_open(void)
{
	log_level = LOG_ERROR;
	snprintf(socket_path, sizeof(socket_path), "/tmp/holdfast-fuzz-%d.sock", (int)getpid());
	unlink(socket_path);
	atexit(path_remove);
	assert(impostor_open(socket_path, answer));
}

struct source *hostile_begin(unsigned how, const uint8_t *data, size_t size)
{
	struct db_target target = {.user = "shop", .database = "holdfast"};
	struct source   *source;

	snprintf(target.socket, sizeof(target.socket), "%s", socket_path);
	source = source_new(&target);
	source_schema_set(source, schema_files_latest(&schema_files));
	if (how & HOSTILE_CLUSTER)
		source_node_set(source, &(struct node){.name = "n"});
	pthread_mutex_lock(&in.lock);
	in.how = how;
	in.at = data;
	in.end = data + size;
	pthread_mutex_unlock(&in.lock);
	return source;
}

void hostile_end(struct source *source)
{
	past_watch(source, NULL);
	source_free(source);
	while (impostor_connections() > 0) /* threads of the impostor look at the input */
		sched_yield();
}
