/* movement.c - see movement.h. */
#include "tests/model/movement.h"

#include "tests/model/positions.h"
#include "tests/model/order.h"

static bool ends_equal(const struct ask *a, const struct ask *b)
{
	bool same = a->ends == b->ends;

	for (int i = 0; same && i < a->ends; i++)
		same = a->end[i].sku == b->end[i].sku && a->end[i].from == b->end[i].from &&
		       a->end[i].to == b->end[i].to && a->end[i].qty == b->end[i].qty;
	return same;
}

static bool moved_equal(const struct ask *a, const struct ask *b)
{
	return a->what == b->what && a->reason == b->reason && a->other == b->other &&
	       cells_equal(&a->lines, &b->lines) && cells_equal(&a->expected, &b->expected) &&
	       cells_equal(&a->loses, &b->loses) && ends_equal(a, b);
}

/* ---- kinds of places */

/* 1 + the place at which orders that lose units wait; 0: none. */
static int lost_to(const struct model *m, const struct ask *ask, int s, int p)
{
	return ask->loses.qty[s][p] ? (int)ask->loses.qty[s][p] : m->waits_at[p];
}

/* The places of a line do not go with the movement. */
static bool is_wrong(const struct model *m, const struct ask *ask, int s, int p)
{
	int to = lost_to(m, ask, s, p);

	if (m->kind[p] == INCOMING && ask->what == ASK_RETURN)
		return true;
	return ask->loses.named[s][p] && to && (m->kind[p] != STOCK || m->kind[to - 1] != INCOMING);
}

static bool end_is_wrong(const struct model *m, const struct ask *ask, const struct end *e)
{
	if (ask->what == ASK_ARRIVAL)
		return m->kind[e->from] != INCOMING || m->kind[e->to] != STOCK;
	return (m->kind[e->from] == INCOMING) != (m->kind[e->to] == INCOMING);
}

static bool refuse_kinds(const struct model *m, const struct ask *ask, struct verdict *out)
{
	bool nowhere = false, wrong = false;

	EACH_CELL(s, p)
	nowhere |= ask->loses.named[s][p] && !lost_to(m, ask, s, p);
	EACH_CELL(s, p)
	if (!nowhere && ask->lines.named[s][p] && is_wrong(m, ask, s, p))
		fault_set(out, s, p, 0, 0);
	for (int i = 0; i < ask->ends; i++)
		wrong |= end_is_wrong(m, ask, &ask->end[i]);
	if (nowhere)
		refuse(out, 400, "invalid_request");
	else if (wrong || has_fault(out))
		refuse(out, 422, "wrong_kind");
	return out->code;
}

/* ---- units */

static bool refuse_mismatch(const struct model *m, const struct ask *ask, struct verdict *out)
{
	EACH_CELL(s, p)
	{
		int64_t on_hand = m->available[s][p] + m->reserved[s][p];

		if (ask->expected.named[s][p] && ask->expected.qty[s][p] != on_hand)
			fault_set(out, s, p, ask->expected.qty[s][p], on_hand);
	}
	if (!has_fault(out))
		return false;
	faults_named(out, "expected", "on_hand");
	refuse(out, 409, "count_mismatch");
	return true;
}

/* Works out what a movement changes. Refuses lines that would take more units than there are. */
static bool refuse_short(const struct model *m, const struct ask *ask, struct cells *change, struct verdict *out)
{
	bool    count = ask->what == ASK_COUNT;
	int64_t left;

	EACH_CELL(s, p)
	{
		if (!ask->lines.named[s][p])
			continue;
		change->named[s][p] = true;
		change->qty[s][p] = ask->lines.qty[s][p] - (count ? m->available[s][p] + m->reserved[s][p] : 0);
		left = m->available[s][p] + change->qty[s][p];
		if (left >= 0 || (ask->loses.named[s][p] && left + queue_may_lose(m, s, p) >= 0))
			continue;
		fault_set(out, s, p, count ? ask->lines.qty[s][p] : -change->qty[s][p],
		          count ? m->reserved[s][p] : m->available[s][p]);
		out->slack.qty[s][p] = count ? m->unswept[s][p] : 0;
	}
	if (!has_fault(out))
		return false;
	faults_named(out, count ? "counted" : "requested", count ? "reserved" : "available");
	refuse(out, 409, "short");
	return true;
}

/* The units that a line moves must be there before. Promised units arrive, too. */
static bool refuse_ends(const struct model *m, const struct ask *ask, struct verdict *out)
{
	struct cells given = {0};

	for (int i = 0; i < ask->ends; i++)
		given.qty[ask->end[i].sku][ask->end[i].from] += ask->end[i].qty;
	EACH_CELL(s, p)
	if (given.qty[s][p] > m->available[s][p] + (ask->what == ASK_ARRIVAL ? m->reserved[s][p] : 0))
		refuse(out, 409, "short");
	return out->code;
}

static bool refuse_limit(const struct model *m, const struct cells *change, struct verdict *out)
{
	for (int s = 0; s < MODEL_SKUS; s++) {
		int64_t total = 0;

		for (int p = 0; p < MODEL_PLACES; p++)
			total += m->available[s][p] + m->reserved[s][p] + change->qty[s][p];
		if (total > MODEL_TOTAL_MAX) {
			refuse(out, 409, "limit");
			return true;
		}
	}
	return false;
}

static bool refuse_origin(const struct order *of, struct verdict *out)
{
	if (!of || of->state == ORDER_SETTLED)
		return false;
	if (of->state == ORDER_NONE)
		refuse(out, 422, "unknown_order");
	else
		refuse(out, 409, order_state_name(of->state));
	return true;
}

static bool refuse_over(const struct order *of, const struct ask *ask, struct verdict *out)
{
	for (int s = 0; of && s < MODEL_SKUS; s++) {
		int64_t asked = units_of(&ask->lines, s), settled = units_of(&of->held, s);

		if (asked > settled - of->returned[s])
			fault_set(out, s, 0, asked, settled);
		out->third.qty[s][0] = of->returned[s];
	}
	if (!has_fault(out))
		return false;
	faults_named(out, "requested", "settled");
	out->third_name = "returned";
	out->over = of;
	refuse(out, 409, "over_returned");
	return true;
}

bool model_parted(const struct model *m, int first, int part, const struct cells *of)
{
	const struct order *o = &m->order[part];
	bool                has = false;

	for (int s = 0; s < MODEL_SKUS; s++)
		has |= units_of(of, s) > 0 && units_of(&o->held, s) > 0;
	if (o->state != ORDER_SETTLED || !has || part == first)
		return false;
	while (m->order[part].ask.what == ASK_SPLIT && part != first)
		part = m->order[part].ask.other - 1;
	return part == first;
}

/* Does what is allowed. */
static void lines_move(struct model *m, const struct ask *ask, struct order *of, struct moved *v)
{
	struct cells change = v->lines;

	EACH_CELL(s, p)
	{
		int     to = lost_to(m, ask, s, p) - 1;
		int64_t lost = -(m->available[s][p] + change.qty[s][p]);

		m->known[s] |= ask->lines.named[s][p];
		m->available[s][p] += change.qty[s][p];
		if (of) {
			of->returned[s] += change.qty[s][p];
			m->has[of->customer][s] -= change.qty[s][p];
		}
		if (!ask->loses.named[s][p] || lost <= 0)
			continue;
		m->available[s][p] = 0;
		v->lines.named[s][to] = true;
		v->lines.qty[s][to] += lost;
		v->backordered += queue_lose(m, s, p, lost, to, ask->id + 1);
	}
}

static void ends_move(struct model *m, const struct ask *ask, struct moved *v)
{
	for (int i = 0; i < ask->ends; i++) {
		const struct end *e = &ask->end[i];

		if (ask->what == ASK_ARRIVAL) {
			v->filled[i] = queue_arrive(m, e);
			continue;
		}
		m->available[e->sku][e->from] -= e->qty;
		m->available[e->sku][e->to] += e->qty;
	}
}

void move_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *of = ask->other ? &m->order[ask->other - 1] : NULL;
	struct moved *v = &m->moved[ask->id];
	struct cells  change = {0};

	if (v->made) {
		out->replayed = moved_equal(&v->ask, ask);
		out->status = 200;
		out->moved = v;
		if (!out->replayed)
			refuse(out, 422, "movement_id_reused");
		return;
	}
	if (refuse_origin(of, out) || (ask->what != ASK_RECEIPT && refuse_unknown(m, ask, out)) ||
	    refuse_kinds(m, ask, out) || refuse_mismatch(m, ask, out) || refuse_over(of, ask, out) ||
	    refuse_short(m, ask, &change, out) || refuse_ends(m, ask, out) || refuse_limit(m, &change, out))
		return;
	*v = (struct moved){.made = true, .ask = *ask, .lines = change};
	lines_move(m, ask, of, v);
	ends_move(m, ask, v);
	out->status = 201;
	out->moved = v;
}
