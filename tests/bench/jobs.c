/* jobs.c - orders that wait, made in bulk by SQL, and the workers that work them off: `holdfast work settle`, `work
 * expire`, and a worker as one writes it without thinking of batches. An order has one line, of a sku that is more or
 * less in demand (a tenth of the skus have half of the orders). */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "holdfast.h"
#include "load.h"
#include "sql.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	EXPIRE_PART = 4, /* of b->jobs */
	BESIDE_PER_S = 30000,
	ASKED = 20000,
	MAKERS = 8,
	WAIT_ORDERS = 50000, /* orders that wait */
	WAIT_CALL = 500,
};

static struct ledger ledger_job = {.prefix = "JOB", .count = SHOP_SKUS, .received = HOT_QTY};

/* ---- the backlog */

/* Where the units of each sku are: they were received in one slot. */
static const char skus_make[] =
	"CREATE TABLE backlog.sku (n INT PRIMARY KEY) SELECT ROW_NUMBER() OVER (ORDER BY code) - 1 AS n, sku_id,"
	" location_id, slot FROM sku JOIN stock_slot USING (sku_id) WHERE code LIKE 'JOB-%' AND available > 0";

static bool skus_open(struct bench *b)
{
	if (ledger_job.turn == b->turn)
		return true;
	return service_start(b) && ledger_receive(b, &ledger_job) && database_run(b, "CREATE DATABASE backlog") &&
	       database_run(b, skus_make);
}

/* The times of a reservation, by its state. Due in the past, the oldest first. */
static const struct waiting {
	int         state;
	const char *expires_at, *confirmed_at;
} confirmed = {2, "UTC_TIMESTAMP(3) + INTERVAL 900 SECOND", "due_at"}, held = {1, "due_at", "NULL"};

/* Statements with {}: filled in by backlog_make. */
static void orders_sql(struct text *sql, const struct waiting *w, uint64_t first, int64_t count)
{
	text_format(sql,
	            "CREATE OR REPLACE TABLE backlog.made (n BIGINT PRIMARY KEY, sku INT NOT NULL, qty INT NOT NULL)"
	            " SELECT seq AS n, FLOOR(POW(CRC32(seq) / 4294967296, 3) * %d) AS sku, 1 + seq %% %d AS qty"
	            " FROM seq_%" PRIu64 "_to_%" PRIu64,
	            SHOP_SKUS, QTY_KINDS, first, first + (uint64_t)count - 1);
	text_char(sql, '\0');
	text_format(
		sql,
		"INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, attempts,"
		" created_at, confirmed_at) SELECT n, CONCAT('B-', SUBSTR(SHA1(n), 1, 16)), UNHEX(MD5(n)), %d, due_at,"
		" %s, 0, due_at - INTERVAL 60 SECOND, %s FROM (SELECT n, UTC_TIMESTAMP(3)"
		" - INTERVAL (%" PRIu64 " - n) * 100 MICROSECOND - INTERVAL 1 SECOND AS due_at FROM backlog.made) m",
		w->state, w->expires_at, w->confirmed_at, first + (uint64_t)count);
	text_char(sql, '\0');
	text_add(sql, "INSERT INTO reservation_line SELECT m.n, s.sku_id, s.location_id, s.slot, m.qty, 1"
	              " FROM backlog.made m JOIN backlog.sku s ON s.n = m.sku");
	text_char(sql, '\0');
	text_add(sql, "UPDATE stock_slot t JOIN backlog.sku s USING (sku_id, location_id, slot)"
	              " JOIN (SELECT sku, SUM(qty) AS qty FROM backlog.made GROUP BY sku) m ON m.sku = s.n"
	              " SET t.available = t.available - m.qty, t.reserved = t.reserved + m.qty");
	text_char(sql, '\0');
}

static bool backlog_make(struct bench *b, const struct waiting *w, int64_t count)
{
	struct text sql = {0};
	bool        made = true;

	orders_sql(&sql, w, b->order_next, count);
	b->order_next += (uint64_t)count;
	for (size_t at = 0; made && at < sql.len; at += strlen(sql.data + at) + 1)
		made = database_run(b, sql.data + at);
	text_fini(&sql);
	return made;
}

int64_t state_count(struct bench *b, int state)
{
	struct text sql = {0};
	int64_t     count = 0;

	text_format(&sql, "SELECT COUNT(*) FROM reservation WHERE state = %d", state);
	if (!database_ints(b, sql.data, &count, 1))
		bench_wrong("nobody knows how many reservations are in state %d", state);
	text_fini(&sql);
	return count;
}

/* The number of the oldest confirmed order. */
static int64_t backlog_first(struct bench *b)
{
	int64_t first;

	if (!database_ints(b, "SELECT MIN(reservation_id) FROM reservation WHERE state = 2", &first, 1))
		bench_wrong("nobody knows which orders wait");
	return first;
}

/* ---- holdfast work */

/* The service is not needed once the stock is there. */
static bool job_open(struct bench *b, const struct contender *c)
{
	bool open = skus_open(b);

	(void)c;
	service_stop(b);
	return open;
}

/* All contenders that settle share one backlog. */
static bool settle_ready(struct bench *b, const struct contender *c)
{
	(void)c;
	return state_count(b, confirmed.state) > 0 || backlog_make(b, &confirmed, b->jobs);
}

static bool expire_ready(struct bench *b, const struct contender *c)
{
	(void)c;
	return backlog_make(b, &held, b->jobs / EXPIRE_PART + 1);
}

void work_all(struct bench *b, char *kind, struct round *out)
{
	char   *words[] = {"work", kind, "--workers", "4", "--batch", "500", "--once", NULL};
	int64_t begun_us = clock_us();
	double  left_s = (double)(bench_until_us(b, 0.8) - begun_us) / 1e6;

	if (!command_run(b, words, left_s > 1 ? left_s : 1, &out->cpu)) {
		bench_wrong("work %s did not end well", kind);
		out->wrong++;
	}
	out->seconds = (double)(clock_us() - begun_us) / 1e6;
}

void work_run(struct bench *b, char *kind, int state, struct round *out)
{
	int64_t before = state_count(b, state);

	work_all(b, kind, out);
	out->timed = out->orders = state_count(b, state) - before;
}

static void settle_run(struct bench *b, const struct contender *c, struct round *out)
{
	(void)c;
	work_run(b, "settle", 3, out);
}

static void expire_run(struct bench *b, const struct contender *c, struct round *out)
{
	(void)c;
	work_run(b, "expire", 5, out);
}

const struct way way_settle = {.open = job_open, .ready = settle_ready, .run = settle_run, .audited = true};
const struct way way_expire = {.open = job_open, .ready = expire_ready, .run = expire_run, .audited = true};

/* ---- order by order: what a worker needs to settle one. It is told which, so that it need not search, and no two get
 * the same. The movement, which the audit asks for, is written for all orders at once when the clock has stopped. */

struct found {
	int64_t sku_id, location_id, slot, qty;
};

static void found_read(void *arg, const struct db_row *row)
{
	*(struct found *)arg = (struct found){db_int(row, 0), db_int(row, 1), db_int(row, 2), db_int(row, 3)};
}

static uint64_t plain_shift; /* from the numbers of the buyers to those of the backlog */

static enum db_result settle_order(struct buyer *w, int64_t *units)
{
	uint64_t       id = w->number - plain_shift;
	struct found   f = {0};
	enum db_result result = db_text(w->db, "START TRANSACTION", NULL, NULL);

	text_reset(&w->sql);
	text_format(&w->sql,
	            "SELECT l.sku_id, l.location_id, l.slot, l.qty FROM reservation r"
	            " JOIN reservation_line l USING (reservation_id)"
	            " WHERE r.reservation_id = %" PRIu64 " AND r.state = 2 FOR UPDATE",
	            id);
	if (result == DB_OK)
		result = db_text(w->db, w->sql.data, found_read, &f);
	text_reset(&w->sql);
	text_format(&w->sql,
	            "UPDATE reservation SET state = 3, settled_at = UTC_TIMESTAMP(3) WHERE reservation_id = %" PRIu64,
	            id);
	if (result == DB_OK)
		result = db_text(w->db, w->sql.data, NULL, NULL);
	text_reset(&w->sql);
	text_format(&w->sql,
	            "UPDATE stock_slot SET reserved = reserved - %" PRId64 " WHERE sku_id = %" PRId64
	            " AND location_id = %" PRId64 " AND slot = %" PRId64,
	            f.qty, f.sku_id, f.location_id, f.slot);
	if (result == DB_OK)
		result = db_text(w->db, w->sql.data, NULL, NULL);
	if (result == DB_OK)
		result = db_text(w->db, "COMMIT", NULL, NULL);
	else if (db_text(w->db, "ROLLBACK", NULL, NULL) != DB_OK)
		return DB_ERROR;
	*units = result == DB_OK ? f.qty : 0;
	return result;
}

const struct sql_way sql_settle = {.order = settle_order};

static void plain_run(struct bench *b, const struct contender *c, struct round *out)
{
	struct text sql = {0};

	plain_shift = b->order_next - (uint64_t)backlog_first(b);
	sql_round(b, NULL, &sql_settle, c->connections, state_count(b, confirmed.state), out);
	text_format(&sql,
	            "INSERT INTO movement (movement_no, movement_id, kind, lines_hash, created_at)"
	            " VALUES (%d, 'settlement/plain', 5, UNHEX(MD5('')), UTC_TIMESTAMP(3))",
	            b->turn);
	if (!database_run(b, sql.data))
		out->wrong++;
	text_reset(&sql);
	text_format(&sql,
	            "INSERT INTO movement_line SELECT %d, l.sku_id, l.location_id, l.slot, -SUM(l.qty)"
	            " FROM reservation r FORCE INDEX (claim) JOIN reservation_line l USING (reservation_id)"
	            " WHERE r.state = 3 AND r.task_id IS NULL GROUP BY l.sku_id, l.location_id, l.slot",
	            b->turn);
	if (!database_run(b, sql.data))
		out->wrong++;
	text_fini(&sql);
}

const struct way way_settle_plain = {.open = job_open, .ready = settle_ready, .run = plain_run, .audited = true};

/* ---- settling over HTTP: by tasks, or by the ids; as many in each round. They are made by the service before it. */

static bool asked_open(struct bench *b, const struct contender *c)
{
	(void)c;
	return service_start(b) && ledger_receive(b, &ledger_shop);
}

static bool asked_ready(struct bench *b, const struct contender *c)
{
	struct round made;

	(void)c;
	visit_run(b, &load_waiting, MAKERS, ASKED, &made);
	free(made.samples.us);
	b->order_next -= ASKED; /* the round settles these numbers */
	return made.wrong == 0 && made.orders == ASKED;
}

static void asked_run(struct bench *b, const struct contender *c, struct round *out)
{
	int64_t before = state_count(b, 3);

	visit_run(b, c->what, c->connections, ASKED, out);
	if (state_count(b, 3) - before != out->orders || state_count(b, confirmed.state) > 0) {
		bench_wrong("%s: not what was acknowledged was settled", c->name);
		out->wrong++;
	}
}

const struct way way_settle_asked = {
	.open = asked_open, .ready = asked_ready, .run = asked_run, .child = offsetof(struct bench, service)};

/* ---- an arrival: orders that wait for one sku get their units */

static bool told(struct bench *b, const char *method, const char *path, struct text *body)
{
	struct text answer = {0};
	int         status = load_once(b->port, method, path, body, &answer);

	if (status != 200 && status != 201)
		bench_wrong("%s %s was answered %d %.300s", method, path, status, answer.data ? answer.data : "");
	text_fini(&answer);
	text_fini(body);
	*body = (struct text){0};
	return status == 200 || status == 201;
}

static bool arrive_open(struct bench *b, const struct contender *c)
{
	struct text body = {0};

	(void)c;
	text_add(&body, "{\"kind\":\"incoming\"}");
	return service_start(b) && told(b, "PUT", "/v1/locations/po", &body);
}

/* As many promises as orders, which are confirmed. */
static bool arrive_ready(struct bench *b, const struct contender *c)
{
	struct text body = {0};
	bool        made;

	(void)c;
	text_format(&body,
	            "{\"movement_id\":\"PO-%" PRIu64 "\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"LATE\","
	            "\"location\":\"po\",\"qty\":%d}]}",
	            b->order_next, WAIT_ORDERS);
	made = told(b, "POST", "/v1/movements", &body);
	for (int i = 0; made && i < WAIT_ORDERS; i += WAIT_CALL) {
		text_add(&body, "{\"reservations\":[");
		for (int k = 0; k < WAIT_CALL; k++)
			text_format(&body,
			            "%s{\"order_id\":\"L-%" PRIu64 "\",\"confirm\":true,\"lines\":[{\"sku\":\"LATE\","
			            "\"location\":\"po\",\"qty\":1}]}",
			            k ? "," : "", b->order_next++);
		text_add(&body, "]}");
		made = told(b, "POST", "/v1/reservations/batch", &body);
	}
	return made;
}

/* From the call to the moment in which nothing is left, which is looked for a hundred times a second. */
static void arrive_run(struct bench *b, const struct contender *c, struct round *out)
{
	struct text body = {0};
	int64_t     open = 1, waiting = 1, begun_us = clock_us();

	(void)c;
	text_format(&body,
	            "{\"movement_id\":\"CAME-%" PRIu64 "\",\"kind\":\"arrival\",\"lines\":[{\"sku\":\"LATE\","
	            "\"from\":\"po\",\"to\":\"main\",\"qty\":%d}]}",
	            b->order_next, WAIT_ORDERS);
	if (!told(b, "POST", "/v1/movements", &body))
		out->wrong++;
	while (out->wrong == 0 && open > 0) {
		usleep(10000);
		if (!database_ints(b, "SELECT COUNT(*) FROM arrival_open", &open, 1))
			out->wrong++;
	}
	out->seconds = (double)(clock_us() - begun_us) / 1e6;
	out->timed = out->orders = WAIT_ORDERS;
	if (!database_ints(b, "SELECT COUNT(*) FROM waiting_line", &waiting, 1) || waiting > 0) {
		bench_wrong("%s: not all who waited were served", c->name);
		out->wrong++;
	}
}

const struct way way_arrive = {.open = arrive_open,
                               .ready = arrive_ready,
                               .run = arrive_run,
                               .child = offsetof(struct bench, service),
                               .audited = true};

/* ---- settling under full load: the loss of reservations a second */

static bool beside_open(struct bench *b, const struct contender *c)
{
	(void)c;
	return service_start(b) && ledger_receive(b, &ledger_hot) && skus_open(b);
}

static bool beside_ready(struct bench *b, const struct contender *c)
{
	(void)c;
	return backlog_make(b, &confirmed, (int64_t)(b->seconds + 1) * BESIDE_PER_S);
}

static void beside_run(struct bench *b, const struct contender *c, struct round *out)
{
	char   *words[] = {"work", "settle", "--workers", "4", "--batch", "500", NULL};
	int64_t before = state_count(b, 3), begun_us = clock_us(), ended_us;
	bool    well = command_start(b, words);

	visit_run(b, c->what, c->connections, INT64_MAX, out);
	ended_us = clock_us();
	well = well && child_stop(&b->worker, 15);
	out->cpu = b->worker.cpu_ended;
	out->beside = (double)(state_count(b, 3) - before) * 1e6 / (double)(ended_us - begun_us);
	if (!well) {
		bench_wrong("work settle did not end well beside the load");
		out->wrong++;
	}
	if (state_count(b, confirmed.state) == 0)
		say("bench: everything was settled before the round was over");
}

static bool beside_taken(struct bench *b, const struct contender *c, int64_t *units)
{
	(void)c;
	return ledger_check(b, &ledger_hot, units);
}

const struct way way_settle_beside = {.open = beside_open,
                                      .ready = beside_ready,
                                      .run = beside_run,
                                      .taken = beside_taken,
                                      .child = offsetof(struct bench, service)};
