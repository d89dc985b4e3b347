/* line.c - see line.h. */
#include "tests/model/line.h"

#include "tests/model/order.h"

int64_t model_now(const struct model *m)
{
	return m->now_s * 1000000 + m->calls;
}

/* ---- turns */

static bool comes_before(const struct order *a, const struct turn *at, const struct order *b, const struct turn *bt)
{
	bool a_held = a->state == ORDER_HELD, b_held = b->state == ORDER_HELD;

	if (a_held != b_held)
		return b_held;
	if (at->since != bt->since)
		return at->since < bt->since;
	return at->first != bt->first ? at->first < bt->first : a->nth < b->nth;
}

int line_next(const struct model *m, int s, int p, int id)
{
	const struct order *behind = id < 0 ? NULL : &m->order[id], *next = NULL;

	for (int i = 0; i < m->ids; i++) {
		const struct order *o = &m->order[i];

		if (order_lives(o) && o->held.qty[s][p] > 0 &&
		    (!behind || comes_before(behind, &behind->turn[s][p], o, &o->turn[s][p])) &&
		    (!next || comes_before(o, &o->turn[s][p], next, &next->turn[s][p])))
			next = o;
	}
	return next ? (int)(next - m->order) : -1;
}

void turns_make(const struct model *m, const struct order *old, struct order *o)
{
	EACH_CELL(s, p)
	{
		if (m->kind[p] != INCOMING || o->held.qty[s][p] == 0)
			continue;
		o->turn[s][p] = (struct turn){o->told ? o->told : o->made, o->nth, o->told};
		if (old && old->held.qty[s][p] > 0)
			o->turn[s][p] = old->turn[s][p];
	}
}

void turns_confirm(const struct model *m, struct order *o)
{
	o->state = ORDER_CONFIRMED;
	o->confirmed = o->confirmed ? o->confirmed : model_now(m);
	EACH_CELL(s, p)
	if (!o->turn[s][p].told)
		o->turn[s][p].since = o->confirmed;
}

/* The turn that an order would have where it does not wait. */
static struct turn turn_of(const struct order *o)
{
	int64_t since = o->told ? o->told : o->confirmed ? o->confirmed : o->made;

	return (struct turn){.since = since, .first = o->nth, .told = o->told};
}

/* ---- units */

static void units_go(struct model *m, struct order *o, int s, int from, int to, int64_t qty)
{
	o->held.qty[s][from] -= qty;
	o->held.qty[s][to] += qty;
	o->held.named[s][from] = o->held.qty[s][from] > 0;
	o->held.named[s][to] = true;
	m->reserved[s][from] -= qty;
	m->reserved[s][to] += qty;
}

/* The first of a line gets units of this many; how many it got. */
static int64_t serve(struct model *m, int s, int from, int to, int64_t most)
{
	struct order *o = &m->order[line_next(m, s, from, -1)];
	int64_t       qty = least(most, o->held.qty[s][from]);

	units_go(m, o, s, from, to, qty);
	o->served = true;
	return qty;
}

void lines_pull(struct model *m)
{
	EACH_CELL(s, p)
	while (m->kind[p] == STOCK && !model_stopped(m, s, p) && m->waits_at[p] && m->available[s][p] > 0 &&
	       line_next(m, s, m->waits_at[p] - 1, -1) >= 0) {
		int     at = m->waits_at[p] - 1;
		int64_t qty = serve(m, s, at, p, m->available[s][p]);

		m->available[s][p] -= qty;
		m->available[s][at] += qty;
	}
}

int64_t line_arrive(struct model *m, const struct end *e)
{
	int64_t left = e->qty;

	while (left > 0 && line_next(m, e->sku, e->from, -1) >= 0)
		left -= serve(m, e->sku, e->from, e->to, left);
	m->available[e->sku][e->from] -= left;
	m->available[e->sku][e->to] += left;
	return e->qty - left;
}

/* ---- losses */

static bool may_lose(const struct order *o, int s, int p)
{
	return order_lives(o) && !o->claimed && o->held.qty[s][p] > 0;
}

int64_t line_may_lose(const struct model *m, int s, int p)
{
	int64_t sum = 0;

	for (int i = 0; i < m->ids; i++)
		sum += may_lose(&m->order[i], s, p) ? m->order[i].held.qty[s][p] : 0;
	return sum;
}

static struct order *last_of(struct model *m, int s, int p)
{
	struct order *last = NULL;
	struct turn   behind = {0};

	for (int i = 0; i < m->ids; i++) {
		struct order *o = &m->order[i];
		struct turn   turn = turn_of(o);

		if (!may_lose(o, s, p) || (last && !comes_before(last, &behind, o, &turn)))
			continue;
		last = o;
		behind = turn;
	}
	return last;
}

int line_lose(struct model *m, int s, int p, int64_t qty, int to, int movement)
{
	int losers = 0;

	while (qty > 0) {
		struct order *o = last_of(m, s, p);
		int64_t       piece = least(qty, o->held.qty[s][p]);

		if (o->held.qty[s][to] == 0)
			o->turn[s][to] = turn_of(o);
		units_go(m, o, s, p, to, piece);
		qty -= piece;
		losers += o->lost_in != movement || o->lost_sku != s;
		o->losses += o->lost_in != movement;
		o->lost_in = movement;
		o->lost_sku = s;
	}
	return losers;
}
