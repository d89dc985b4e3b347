/* positions.c - see positions.h. */
#include "tests/model/positions.h"

#include "tests/model/order.h"

int64_t model_now(const struct model *m)
{
	return m->now_s * 1000000 + m->calls;
}

/* ---- the table */

static int id_of(const struct model *m, const struct order *o)
{
	return (int)(o - m->order);
}

/* Of the positions of one order in one queue, `added` says which stands first. */
static bool comes_before(const struct model *m, const struct position *a, const struct position *b)
{
	const struct order *of = &m->order[a->order], *bf = &m->order[b->order];
	bool                a_held = of->state == ORDER_HELD, b_held = bf->state == ORDER_HELD;

	if (a_held != b_held)
		return b_held;
	if (a->order == b->order)
		return a->added < b->added;
	if (a->since != b->since)
		return a->since < b->since;
	return a->first != b->first ? a->first < b->first : of->nth < bf->nth;
}

const struct position *queue_next(const struct model *m, int s, int p, const struct position *behind)
{
	const struct position *next = NULL;

	for (int i = 0; i < m->positions; i++) {
		const struct position *x = &m->position[i];

		if (x->units > 0 && x->sku == s && x->place == p && (!behind || comes_before(m, behind, x)) &&
		    (!next || comes_before(m, x, next)))
			next = x;
	}
	return next;
}

bool order_waits(const struct model *m, const struct order *o)
{
	EACH_CELL(s, p)
	if (order_lives(o) && m->kind[p] == INCOMING && o->held.qty[s][p] > 0)
		return true;
	return false;
}

static void add(struct model *m, struct position x)
{
	int i = 0;

	while (i < m->positions && m->position[i].units > 0)
		i++;
	assert(i < MODEL_POSITIONS);
	m->positions = i < m->positions ? m->positions : i + 1;
	m->position[i] = x;
}

/* The first position of the order there, or the last one; NULL: there is none. */
static struct position *end_of(struct model *m, int order, int s, int p, bool last)
{
	struct position *end = NULL;

	for (int i = 0; i < m->positions; i++) {
		struct position *x = &m->position[i];

		if (x->units > 0 && x->order == order && x->sku == s && x->place == p &&
		    (!end || comes_before(m, x, end) != last))
			end = x;
	}
	return end;
}

/* The position that an order would have where it does not wait. */
static struct position position_of(const struct model *m, const struct order *o, int s, int p, int64_t units)
{
	int64_t since = o->told ? o->told : o->confirmed ? o->confirmed : o->made;

	return (struct position){.order = id_of(m, o),
	                         .sku = s,
	                         .place = p,
	                         .since = since,
	                         .first = o->nth,
	                         .told = o->told,
	                         .units = units};
}

/* A position at the end, for units that a change brought. */
static struct position position_now(const struct model *m, const struct order *o, int s, int p, int64_t units)
{
	struct position x = position_of(m, o, s, p, units);

	x.since = x.added = model_now(m);
	x.told = false;
	return x;
}

/* ---- orders */

/* The first units that `from` waits for are those of `to` now, in the same positions. */
static int64_t take_over(struct model *m, const struct order *from, const struct order *to, int s, int p, int64_t most)
{
	int64_t          taken = 0, piece;
	struct position *x;

	while (taken < most && (x = end_of(m, id_of(m, from), s, p, false))) {
		struct position part = *x;

		piece = least(most - taken, x->units);
		x->units -= piece;
		part.units = piece;
		part.order = id_of(m, to);
		add(m, part);
		taken += piece;
	}
	return taken;
}

void positions_make(struct model *m, struct order *old, struct order *o)
{
	EACH_CELL(s, p)
	{
		int64_t units = o->held.qty[s][p];

		if (m->kind[p] != INCOMING || units == 0)
			continue;
		if (old && old->held.qty[s][p] > 0) /* units beyond those of the old line join its first position */
			end_of(m, id_of(m, old), s, p, false)->units +=
				units > old->held.qty[s][p] ? units - old->held.qty[s][p] : 0;
		if (old)
			units -= take_over(m, old, o, s, p, units);
		if (units > 0)
			add(m, position_of(m, o, s, p, units));
	}
}

void positions_split(struct model *m, struct order *first, struct order *part)
{
	EACH_CELL(s, p)
	if (m->kind[p] == INCOMING && part->held.qty[s][p] > 0)
		take_over(m, first, part, s, p, part->held.qty[s][p]);
}

/* Positions of the same moment are one. */
void positions_confirm(struct model *m, struct order *o)
{
	for (int i = 0; i < m->positions; i++) {
		struct position *x = &m->position[i];

		if (x->order == id_of(m, o) && !x->told)
			x->since = model_now(m);
	}
	for (int i = 0; i < m->positions; i++) {
		struct position *x = &m->position[i], *first;

		if (x->order != id_of(m, o) || x->units == 0)
			continue;
		first = end_of(m, x->order, x->sku, x->place, false);
		if (first != x && x->since <= first->since) {
			first->units += x->units;
			x->units = 0;
		}
	}
}

void positions_change(struct model *m, struct order *o, const struct cells *had)
{
	EACH_CELL(s, p)
	{
		int64_t more = o->held.qty[s][p] - had->qty[s][p];

		if (m->kind[p] != INCOMING)
			continue;
		if (more > 0)
			add(m, position_now(m, o, s, p, more));
		while (more < 0) {
			struct position *last = end_of(m, id_of(m, o), s, p, true);
			int64_t          piece = least(-more, last->units);

			last->units -= piece;
			more += piece;
		}
	}
}

void positions_leave(struct model *m, const struct order *o)
{
	for (int i = 0; i < m->positions; i++)
		if (m->position[i].order == id_of(m, o))
			m->position[i].units = 0;
}

bool positions_agree(const struct model *m)
{
	struct cells units = {0};
	bool         agree = true;

	for (int i = 0; i < m->positions; i++)
		units.qty[m->position[i].sku][m->position[i].place] += m->position[i].units;
	EACH_CELL(s, p)
	agree &= m->kind[p] != INCOMING || units.qty[s][p] == m->reserved[s][p];
	return agree;
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

/* The first position of a queue gets units of this many; how many it got. */
static int64_t serve(struct model *m, int s, int from, int to, int64_t most)
{
	int              at = (int)(queue_next(m, s, from, NULL) - m->position);
	struct position *x = &m->position[at];
	int64_t          qty = least(most, x->units);

	x->units -= qty;
	m->order[x->order].served = true;
	units_go(m, &m->order[x->order], s, from, to, qty);
	return qty;
}

void queues_pull(struct model *m)
{
	EACH_CELL(s, p)
	while (m->kind[p] == STOCK && !model_stopped(m, s, p) && m->waits_at[p] && m->available[s][p] > 0 &&
	       queue_next(m, s, m->waits_at[p] - 1, NULL)) {
		int     at = m->waits_at[p] - 1;
		int64_t qty = serve(m, s, at, p, m->available[s][p]);

		m->available[s][p] -= qty;
		m->available[s][at] += qty;
	}
}

int64_t queue_arrive(struct model *m, const struct end *e)
{
	int64_t left = e->qty;

	while (left > 0 && queue_next(m, e->sku, e->from, NULL))
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

int64_t queue_may_lose(const struct model *m, int s, int p)
{
	int64_t sum = 0;

	for (int i = 0; i < m->ids; i++)
		sum += may_lose(&m->order[i], s, p) ? m->order[i].held.qty[s][p] : 0;
	return sum;
}

static struct order *last_of(struct model *m, int s, int p)
{
	struct order   *last = NULL;
	struct position behind = {0};

	for (int i = 0; i < m->ids; i++) {
		struct order   *o = &m->order[i];
		struct position x = position_of(m, o, s, p, 0);

		if (!may_lose(o, s, p) || (last && !comes_before(m, &behind, &x)))
			continue;
		last = o;
		behind = x;
	}
	return last;
}

/* Lost units join an earlier position of their order, and stand ahead of a later one. */
static void wait_again(struct model *m, struct order *o, int s, int p, int64_t units)
{
	struct position  x = position_of(m, o, s, p, units);
	struct position *first = end_of(m, x.order, s, p, false);

	if (first && first->since <= x.since) {
		first->units += units;
		return;
	}
	x.added = first ? first->added - 1 : 0;
	add(m, x);
}

int queue_lose(struct model *m, int s, int p, int64_t qty, int to, int movement)
{
	int losers = 0;

	while (qty > 0) {
		struct order *o = last_of(m, s, p);
		int64_t       piece = least(qty, o->held.qty[s][p]);

		wait_again(m, o, s, to, piece);
		units_go(m, o, s, p, to, piece);
		qty -= piece;
		losers += o->lost_in != movement || o->lost_sku != s;
		o->losses += o->lost_in != movement;
		o->lost_in = movement;
		o->lost_sku = s;
	}
	return losers;
}
