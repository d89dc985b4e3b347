/* shares.c - see shares.h. */
#include "engine/promise/shares.h"
#include "engine/base/memory.h"
#include "engine/log/event.h"
#include "engine/promise/noted.h"
#include "engine/promise/waiting.h"

#include <stdio.h>

void shares_fini(struct shares *s)
{
	free(s->list);
	portions_fini(&s->customers);
}

void share_add(struct shares *s, uint32_t sku_id, uint32_t location_id, uint16_t slot, int64_t qty, int64_t back)
{
	s->list = mem_reach(s->list, s->count, &s->max, sizeof(*s->list));
	s->list[s->count++] = (struct share){sku_id, location_id, slot, qty, back};
}

static int share_order(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	int                 order = pair_order(x->sku_id, x->location_id, y->sku_id, y->location_id);

	return order ? order : (x->slot > y->slot) - (x->slot < y->slot);
}

static void share_join(void *sum, const void *one)
{
	struct share       *to = sum;
	const struct share *from = one;

	to->qty += from->qty;
	to->back += from->back;
}

/* Merges equal rows: an upsert that met the same row twice would count two rows. */
void shares_sum(struct shares *s)
{
	s->count = mem_join(s->list, s->count, sizeof(s->list[0]), share_order, share_join);
}

int64_t shares_of_sku(const struct shares *s, uint32_t sku_id)
{
	const struct share  key = {.sku_id = sku_id};
	const struct share *found = s->count > 0 ? bsearch(&key, s->list, s->count, sizeof(key), share_order) : NULL;

	return found ? found->qty : 0;
}

static void lines_share(struct shares *s, const struct line *lines, size_t count, bool back)
{
	for (size_t k = 0; k < count; k++)
		share_add(s, sku_id(lines[k].sku), lines[k].location->location_id, lines[k].slot, lines[k].qty,
		          back ? lines[k].qty : 0);
}

void promise_end(struct shares *s, const struct reservation *of, const struct line *lines, size_t count)
{
	assert(count <= of->lines_count); /* its own lines, or those of a part, each of which it has (split_decide) */
	lines_share(s, lines, count, true);
	portions_lower(&s->customers, of->customer, lines, count);
}

void promise_keep(struct shares *s, const struct reservation *of, const struct line *lines, size_t count)
{
	assert(count <= of->lines_count);
	lines_share(s, lines, count, false);
}

void promise_replace(struct shares *s, const struct reservation *of, const char *customer, const struct line *lines,
                     size_t count, unsigned slot)
{
	portions_replace(&s->customers, of, customer, lines, count);
	for (size_t i = 0; i < of->lines_count; i++) {
		const struct line *old = &of->lines[i];
		const struct line *line = line_like(lines, count, old);
		int64_t            granted = line ? line->granted : 0;
		uint32_t           sku = sku_id(old->sku), location = old->location->location_id;

		if (granted < old->qty)
			share_add(s, sku, location, old->slot, old->qty - granted, old->qty - granted);
		else if (granted > old->qty && old->slot != slot)
			share_add(s, sku, location, old->slot, old->qty, 0);
	}
}

void shares_write(struct txn *t, struct values *rows, const struct shares *s, enum statement name,
                  enum txn_verdict verdict)
{
	if (s->count == 0)
		return;
	assert(name == STOCK_GIVE_BACK || name == STOCK_SETTLE);
	values_reset(rows);
	for (size_t i = 0; i < s->count; i++)
		values_row(rows, V_INT(s->list[i].sku_id), V_INT(s->list[i].location_id), V_INT(s->list[i].slot),
		           V_INT(s->list[i].back), V_INT(s->list[i].qty));
	txn_run(t, name, &(struct fill){.rows = rows});
	txn_expect(t, 2 * s->count, verdict); /* an upsert counts 2 for each row updated */
}

static struct shares shares_of_all(struct reservation *const *list, size_t count,
                                   void (*promise)(struct shares *s, const struct reservation *of,
                                                   const struct line *lines, size_t count))
{
	struct shares s = {0};

	for (size_t i = 0; i < count; i++)
		promise(&s, list[i], list[i]->lines, list[i]->lines_count);
	shares_sum(&s);
	return s;
}

/* The lines of what has ended. */
static void lines_end(struct txn *t, struct values *rows, struct reservation *const *list, size_t count)
{
	values_reset(rows);
	for (size_t i = 0; i < count; i++)
		values_row(rows, V_INT(list[i]->reservation_id));
	txn_run(t, RESERVATION_LINE_END, &(struct fill){.rows = rows});
}

void stock_give_back(struct txn *t, struct reservation *const *list, size_t count)
{
	struct shares s = shares_of_all(list, count, promise_end);
	struct values rows = {0};

	shares_write(t, &rows, &s, STOCK_GIVE_BACK, TXN_MISPLACED);
	portions_sum(&s.customers);
	portions_write_lowered(t, &rows, &s.customers, CUSTOMER_LOWER);
	lines_end(t, &rows, list, count);
	values_fini(&rows);
	shares_fini(&s);
}

enum db_result holds_expire(struct db *db, struct reservation *const *list, size_t count, struct text *changes,
                            enum txn_verdict *verdict)
{
	struct values  rows = {0};
	struct fill    fill = {.rows = &rows, .claimed = reservations_claimed(list, count)};
	struct txn     t = {0};
	enum db_result result;

	txn_begin(&t, db);
	t.whole = count == 1;
	txn_enter(&t, reservations_as_read(&rows, list, count), true);
	if (fill.claimed)
		txn_run(&t, TASK_LOSE, &fill);
	txn_run(&t, RESERVATION_EXPIRE, &fill);
	txn_expect(&t, count, TXN_MOVED);
	noted_follow(&t, list, count);
	stock_give_back(&t, list, count);
	waiting_end(&t, list, count);
	text_reset(changes);
	for (size_t i = 0; i < count; i++)
		event_entered(changes, &(struct event_head){.type = EVENT_EXPIRED}, list[i], EXPIRED);
	txn_log(&t, changes);
	result = txn_commit(&t, verdict);
	values_fini(&rows);
	return result;
}

void settlement_of_task(struct settlement *settlement, uint64_t task_id, uint64_t reservation_id)
{
	unsigned long long task = task_id, part = reservation_id;

	snprintf(settlement->movement_id, sizeof(settlement->movement_id), OF_JOBS "%llu/%llu", task, part);
	snprintf(settlement->reference, sizeof(settlement->reference), "%llu", task);
}

void settlement_of_order(struct settlement *settlement, uint64_t reservation_id, const char *order_id)
{
	snprintf(settlement->movement_id, sizeof(settlement->movement_id), OF_JOBS "%llu",
	         (unsigned long long)reservation_id);
	snprintf(settlement->reference, sizeof(settlement->reference), "%s", order_id);
}

void settlement_row(struct values *rows, const struct settlement *settlement, uint32_t key_id)
{
	static const uint8_t no_hash[16];

	values_row(rows, V_INT(settlement->movement_no), V_TEXT(settlement->movement_id), V_INT(SETTLEMENT),
	           V_BYTES(no_hash, sizeof(no_hash)), V_NOW, V_TEXT(NULL), V_TEXT(settlement->reference),
	           key_id ? V_INT(key_id) : V_TEXT(NULL), V_TEXT(NULL), V_TEXT(NULL));
}

void settlement_line(struct values *rows, const struct settlement *settlement, const struct share *share)
{
	values_row(rows, V_INT(settlement->movement_no), V_INT(share->sku_id), V_INT(share->location_id),
	           V_INT(share->slot), V_INT(-share->qty));
}

void stock_settle(struct txn *t, struct reservation **list, size_t count, const struct settlement *settlement)
{
	struct shares s = shares_of_all(list, count, promise_keep);
	struct values rows = {0};

	if (s.count == 0) { /* damaged orders: a line of none is left */
		txn_refuse(t, TXN_MISPLACED);
		return;
	}
	shares_write(t, &rows, &s, STOCK_SETTLE, TXN_MISPLACED);
	values_reset(&rows);
	settlement_row(&rows, settlement, 0);
	txn_run(t, MOVEMENT_ADD, &(struct fill){.rows = &rows});
	values_reset(&rows);
	for (size_t i = 0; i < s.count; i++)
		settlement_line(&rows, settlement, &s.list[i]);
	txn_run(t, MOVEMENT_LINE_ADD, &(struct fill){.rows = &rows});
	lines_end(t, &rows, list, count);
	values_fini(&rows);
	shares_fini(&s);
}

void settlement_tell(struct text *changes, const struct event_head *head, struct reservation *const *list, size_t count,
                     const struct settlement *settlement)
{
	struct event_head of = *head;
	struct movement   m = {.kind = SETTLEMENT, .reference = (char *)settlement->reference};
	struct line      *lines;
	size_t            max = 0, all = 0;

	for (size_t i = 0; i < count; i++)
		max += list[i]->lines_count;
	lines = mem_alloc((max + 1) * sizeof(*lines));
	for (size_t i = 0; i < count; i++) {
		memcpy(lines + all, list[i]->lines, list[i]->lines_count * sizeof(*lines));
		all += list[i]->lines_count;
	}
	for (size_t i = 0; i < all; i++)
		lines[i].granted = -lines[i].qty;
	strcpy(m.movement_id, settlement->movement_id);
	of.type = EVENT_SETTLEMENT;
	event_movement(changes, &of, &m, 0, lines, lines_join(lines, all));
	free(lines);
}
