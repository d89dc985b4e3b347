/* makes.c - see makes.h. */
#include "tests/model/makes.h"

#include "tests/model/order.h"
#include "tests/model/positions.h"
#include "tests/model/wire.h"

enum { WAITED = 3, LONG_TTL_S = 2600000 }; /* WAITED: skus in a walk about queues */

unsigned chance(struct maker *k, unsigned n)
{
	return chance_of(&k->chance, n);
}

/* 0: no such line. */
static void line_set(struct ask *a, int s, int p, int64_t qty)
{
	a->lines.named[s][p] = qty > 0;
	a->lines.qty[s][p] = qty;
}

/* Mostly a place with units for sale; in a walk about queues, many with promises. */
static int place_make(struct maker *k)
{
	static const int places[] = {MAIN, MAIN, MAIN, PO, PO, PO, PARIS, BO};

	if (k->waits)
		return chance(k, 25) ? places[chance(k, LENGTH(places))] : QC;
	if (chance(k, 3))
		return MAIN;
	return chance(k, 12) ? (int)chance(k, PO) : (int)chance(k, MODEL_PLACES);
}

static int sku_make(struct maker *k)
{
	return (int)chance(k, k->waits ? WAITED : MODEL_SKUS);
}

static void cells_make(struct maker *k, struct cells *to, int64_t most, bool negative)
{
	int n = 1 + (int)chance(k, k->waits ? 2 : chance(k, 20) ? 3 : 12);

	for (int i = 0; i < n; i++) {
		int     s = sku_make(k), p = place_make(k);
		int64_t qty = 1 + chance(k, (unsigned)(s != MODEL_BIG ? most : chance(k, 3) ? 1000000000 : 4));

		if (s == MODEL_BIG && chance(k, 4) == 0)
			qty *= qty > 4 ? 1000 : 1; /* 10^12 at most */
		to->named[s][p] = true;
		to->qty[s][p] = negative && chance(k, 3) ? -qty : qty;
	}
}

/* Picks places that sell their units, or one such place and the place at which it waits. The orders there get the units
 * of the first place, so the end is the same whichever units are taken. */
static void wish_places(struct maker *k, struct wish *w)
{
	int first = (int)chance(k, PO), step = 1 + (int)chance(k, PO - 1);

	w->places = 2 + (int)chance(k, PO - 1);
	for (int i = 0; i < w->places; i++)
		w->place[i] = (first + i * step) % PO;
	first = chance(k, 2) ? MAIN : PARIS;
	if (!k->waits || k->model->kind[first] != STOCK || !k->model->waits_at[first] || chance(k, 4) == 0)
		return;
	w->places = 2;
	w->place[0] = first;
	w->place[1] = k->model->waits_at[first] - 1;
}

/* Mostly for a sku that plain lines ask for, too. */
static void wish_make(struct maker *k, struct ask *a, int64_t most)
{
	a->wish = (struct wish){.sku = sku_make(k)};
	wish_places(k, &a->wish);
	a->wish.may_split = chance(k, 2);
	a->wish.qty = 1 + chance(k, (unsigned)most);
	if (k->waits || chance(k, 3) == 0)
		a->lines = (struct cells){0};
	if (k->waits)
		a->best_effort = false;
}

/* Returns an id that no order has, or that was refused: refused ids are not remembered. */
static int order_id_make(struct maker *k)
{
	int old = k->orders ? (int)chance(k, (unsigned)k->orders) : 0;

	return k->orders && chance(k, 5) == 0 && k->model->order[old].state == ORDER_NONE ? old : k->orders++;
}

static int move_id_make(struct maker *k)
{
	int old = k->moves ? (int)chance(k, (unsigned)k->moves) : 0;

	return k->moves && chance(k, 5) == 0 && !k->model->moved[old].made ? old : k->moves++;
}

/* Mostly a recent one. */
static int id_find(struct maker *k, int ids)
{
	if (ids == 0)
		return 0;
	return chance(k, 5) ? ids - 1 - (int)chance(k, ids < 40 ? (unsigned)ids : 40) : (int)chance(k, (unsigned)ids);
}

static int wrong_make(struct maker *k)
{
	return chance(k, 40) ? 0 : 1 + (int)chance(k, WIRE_WRONGS);
}

/* Far from any tick, so that it does not matter how long the run takes. */
static int ttl_make(struct maker *k)
{
	return MODEL_TICK_S / 2 + MODEL_TICK_S * (int)chance(k, 5);
}

/* Mostly an order in one of these states. */
static int order_find(struct maker *k, enum order_state first, enum order_state second)
{
	int id = id_find(k, k->orders);

	for (int i = 0; i < 8 && k->model->order[id].state != first && k->model->order[id].state != second; i++)
		id = id_find(k, k->orders);
	return id;
}

/* In a walk about queues often an order with several positions in a queue, if there is one. */
static int parted_find(struct maker *k, int otherwise)
{
	const struct model *m = k->model;
	int                 from = k->waits && m->positions ? (int)chance(k, (unsigned)m->positions) : 0;

	for (int i = 0; k->waits && i < m->positions; i++) {
		const struct position *x = &m->position[(from + i) % m->positions];

		if (x->units > 0 && x->added > 0 && chance(k, 3))
			return x->order;
	}
	return otherwise;
}

static bool any_line(const struct ask *a)
{
	EACH_CELL(s, p)
	if (a->lines.named[s][p])
		return true;
	return false;
}

/* Keeps out of a walk about queues what the documents leave open: the position of an order that replaces one with a
 * given position, and of lines that a confirmed order gets beside its own. */
static void without_doubt(struct maker *k, struct ask *a)
{
	const struct order *old = a->other ? &k->model->order[a->other - 1] : NULL;

	if (!k->waits || !old)
		return;
	a->best_effort = false;
	EACH_CELL(s, p)
	if (old->state == ORDER_CONFIRMED && k->model->kind[p] == INCOMING && old->held.qty[s][p] == 0)
		line_set(a, s, p, 0);
	if (a->wish.places || old->told)
		a->other = 0;
	if (a->wish.places || any_line(a))
		return;
	a->other = 0;
	line_set(a, 0, MAIN, 1);
}

static void reserve_make(struct maker *k, struct ask *a)
{
	*a = (struct ask){.what = ASK_RESERVE, .ttl_s = ttl_make(k), .best_effort = chance(k, k->waits ? 8 : 3) == 0};
	a->wrong = wrong_make(k);
	a->id = order_id_make(k);
	a->customer = chance(k, 4) ? 1 + (int)chance(k, MODEL_CUSTOMERS) : 0;
	cells_make(k, &a->lines, k->waits ? 3 : chance(k, 8) ? 12 : 80, false);
	if (chance(k, 3) == 0)
		wish_make(k, a, k->waits ? 5 : chance(k, 8) ? 20 : 200);
	a->confirm = chance(k, 5) == 0;
	if (chance(k, 5) == 0)
		a->other =
			1 + order_find(k, ORDER_HELD, a->confirm || chance(k, 5) == 0 ? ORDER_CONFIRMED : ORDER_HELD);
	if (a->other && chance(k, 3) == 0)
		a->confirm = true;
	if (a->other && chance(k, 4))
		a->customer = k->model->order[a->other - 1].customer;
	without_doubt(k, a);
}

/* Mostly with the lines of the replaced order. */
static void replace_make(struct maker *k, struct ask *a)
{
	const struct order *old;

	reserve_make(k, a);
	a->wish = (struct wish){0};
	a->other = 1 + parted_find(k, order_find(k, ORDER_HELD, ORDER_CONFIRMED));
	a->confirm = chance(k, 2);
	old = &k->model->order[a->other - 1];
	a->customer = old->customer;
	EACH_CELL(s, p)
	if (old->held.qty[s][p] > 0 && chance(k, 4))
		line_set(a, s, p, 1 + chance(k, (unsigned)old->held.qty[s][p] + 1));
	without_doubt(k, a);
}

/* Makes an order that waits and never expires: its position after expiry is left open. */
static void told_make(struct maker *k, struct ask *a)
{
	int s = sku_make(k), p = chance(k, 3) ? PO : BO;

	reserve_make(k, a);
	a->wish = (struct wish){0};
	a->other = 0;
	line_set(a, s, p, 1);
	a->told_s = MODEL_TICK_S * (int)(1 + chance(k, 4)) + MODEL_TICK_S / 2;
	a->ttl_s = LONG_TTL_S;
	a->best_effort = false;
}

/* Repeats an id, mostly with the same lines. */
static void reserve_again(struct maker *k, struct ask *a)
{
	const struct ask *made;

	reserve_make(k, a);
	a->id = id_find(k, k->orders);
	made = &k->model->order[a->id].ask;
	if (k->model->order[a->id].state == ORDER_NONE || chance(k, 4) == 0)
		return;
	a->lines = made->lines;
	a->wish = made->wish;
	if (chance(k, 8))
		a->other = made->other;
	if (chance(k, 12))
		a->customer = made->customer;
	if (chance(k, 5) == 0)
		EACH_CELL(s, p)
	a->lines.qty[s][p] += a->lines.named[s][p];
	if (a->wish.places && chance(k, 10) == 0)
		a->wish.may_split = !a->wish.may_split;
}

/* Splits off some units of an order, at times more than it has, or units of other orders. */
static void split_make(struct maker *k, struct ask *a)
{
	const struct order *first;
	bool                any = false;

	*a = (struct ask){.what = ASK_SPLIT, .other = 1 + parted_find(k, order_find(k, ORDER_HELD, ORDER_CONFIRMED))};
	a->wrong = wrong_make(k);
	a->then = (enum then)chance(k, 4);
	a->force = a->then == THEN_SETTLED && chance(k, 3) == 0;
	a->id = order_id_make(k);
	first = &k->model->order[a->other - 1];
	EACH_CELL(s, p)
	{
		int64_t had = first->held.qty[s][p];

		if (had == 0 || chance(k, 3) == 0)
			continue;
		any = a->lines.named[s][p] = true;
		a->lines.qty[s][p] = chance(k, 10) ? 1 + chance(k, (unsigned)had) : had + (had < 1000000);
	}
	if (!any || chance(k, 20) == 0)
		cells_make(k, &a->lines, 12, false);
}

static void split_again(struct maker *k, struct ask *a)
{
	int id = id_find(k, k->orders);

	split_make(k, a);
	for (int i = 0; i < 8 && k->model->order[id].ask.what != ASK_SPLIT; i++)
		id = id_find(k, k->orders);
	if (k->model->order[id].state == ORDER_NONE || k->model->order[id].ask.what != ASK_SPLIT)
		return;
	*a = k->model->order[id].ask;
	if (chance(k, 5) == 0)
		a->then = (enum then)chance(k, 4);
	a->force = false;
	if (chance(k, 5) == 0)
		a->other = 1 + id_find(k, k->orders);
}

static void move_make(struct maker *k, struct ask *a, enum asked what)
{
	int64_t most = what == ASK_RECEIPT ? 40 : 15;

	*a = (struct ask){.what = what, .id = move_id_make(k), .reason = chance(k, 3) ? 0 : (int)chance(k, 100)};
	a->wrong = wrong_make(k);
	if (k->waits)
		most = what == ASK_RECEIPT ? 4 : 2;
	cells_make(k, &a->lines, most, what == ASK_ADJUSTMENT);
	EACH_CELL(s, p)
	if (what == ASK_ADJUSTMENT && a->lines.named[s][p] && chance(k, 30) == 0)
		a->lines.qty[s][p] = 0; /* wire_ask makes two lines of it */
}

static void receipt_make(struct maker *k, struct ask *a)
{
	move_make(k, a, ASK_RECEIPT);
}

static void adjustment_make(struct maker *k, struct ask *a)
{
	move_make(k, a, ASK_ADJUSTMENT);
}

static void return_make(struct maker *k, struct ask *a)
{
	move_make(k, a, ASK_RETURN);
}

/* Returns units, mostly some of a settled order, to any place. At times these are more than it had or has left, or
 * units of a part, by the first order. */
static void return_of_order_make(struct maker *k, struct ask *a)
{
	const struct order *of;
	struct cells        some = {0};
	bool                any = false;
	int                 id = id_find(k, k->orders);

	for (int i = chance(k, 6) ? 0 : 90; i < 100 && k->orders && k->model->order[id].state != ORDER_SETTLED; i++)
		id = (int)chance(k, (unsigned)k->orders);
	move_make(k, a, ASK_RETURN);
	of = &k->model->order[id];
	a->other = of->ask.what == ASK_SPLIT && chance(k, 3) == 0 ? of->ask.other : id + 1;
	EACH_CELL(s, p)
	{
		int64_t had = of->held.qty[s][p];
		int     at = chance(k, 3) ? p : (int)chance(k, MODEL_PLACES);

		if (had == 0 || chance(k, 3) == 0)
			continue;
		any = some.named[s][at] = true;
		some.qty[s][at] = chance(k, 8) ? 1 + chance(k, (unsigned)had) : had + (had < 1000000);
	}
	if (any && chance(k, 10))
		a->lines = some;
}

/* Never a number that depends on whether an expired hold was swept already: that is left open. */
static void count_make(struct maker *k, struct ask *a)
{
	const struct model *m = k->model;

	move_make(k, a, ASK_COUNT);
	EACH_CELL(s, p)
	{
		int64_t on_hand = m->available[s][p] + m->reserved[s][p], *counted = &a->lines.qty[s][p];

		if (!a->lines.named[s][p])
			continue;
		*counted = chance(k, 6) ? m->reserved[s][p] + m->unswept[s][p] + chance(k, 25) : (int64_t)chance(k, 40);
		if (k->waits)
			*counted = chance(k, 6);
		if (s == MODEL_BIG && chance(k, 2))
			*counted = MODEL_TOTAL_MAX - chance(k, 4);
		if (*counted >= m->reserved[s][p] && *counted < m->reserved[s][p] + m->unswept[s][p])
			*counted = m->reserved[s][p] + m->unswept[s][p];
		a->expected.named[s][p] = chance(k, 3) == 0;
		a->expected.qty[s][p] = chance(k, 4) ? on_hand : on_hand == MODEL_TOTAL_MAX ? on_hand - 1 : on_hand + 1;
	}
}

/* Makes a loss, mostly of promised units; at times with a wrong place to wait at. */
static void loss_make(struct maker *k, struct ask *a)
{
	int lines = 1 + (int)chance(k, 2);

	*a = (struct ask){.what = chance(k, 2) ? ASK_COUNT : ASK_ADJUSTMENT, .id = move_id_make(k)};
	for (int i = 0; i < lines; i++) {
		int     s = sku_make(k), p = chance(k, 3) ? MAIN : PARIS;
		int64_t there = k->model->available[s][p] + k->model->reserved[s][p];
		int     lost = 1 + (int)chance(k, 3);

		a->lines.named[s][p] = a->loses.named[s][p] = true;
		a->lines.qty[s][p] = a->what == ASK_ADJUSTMENT ? -lost : there > lost ? there - lost : 0;
		a->loses.qty[s][p] = 1 + (chance(k, 2) ? PO : BO);
		if (k->model->kind[p] == STOCK && chance(k, 3) == 0)
			a->loses.qty[s][p] = 0;
		if (chance(k, 25) == 0)
			a->loses.qty[s][p] = 1 + (chance(k, 2) ? QC : MAIN);
	}
}

static void transfer_make(struct maker *k, struct ask *a)
{
	static const int ends[][2] = {{MAIN, QC},    {QC, MAIN}, {QC, MAIN}, {QC, PARIS}, {MAIN, PARIS},
	                              {PARIS, MAIN}, {PO, BO},   {BO, PO},   {PO, MAIN},  {QC, BO}};

	*a = (struct ask){.what = ASK_TRANSFER, .id = move_id_make(k), .ends = 1 + (int)chance(k, MODEL_ENDS)};
	for (int i = 0; i < a->ends; i++) {
		const int *way = ends[chance(k, chance(k, 4) ? 8 : LENGTH(ends))];

		a->end[i] = (struct end){i, way[0], way[1], 1 + chance(k, 2)};
	}
}

/* Makes one line per sku: the order in which the lines of a call are handed out is left open. */
static void arrival_make(struct maker *k, struct ask *a)
{
	*a = (struct ask){.what = ASK_ARRIVAL, .id = move_id_make(k), .ends = 1 + (int)chance(k, MODEL_ENDS)};
	for (int i = 0; i < a->ends; i++)
		a->end[i] = (struct end){i + (int)chance(k, 2), chance(k, 3) ? PO : BO, chance(k, 3) ? MAIN : PARIS,
		                         1 + chance(k, 4)};
	if (a->ends == 2 && a->end[0].sku == a->end[1].sku)
		a->ends = 1;
	if (chance(k, 20) == 0) /* not for places outside the house */
		a->end[0].from = a->end[0].to == MAIN ? PARIS : MAIN;
}

static void move_again(struct maker *k, struct ask *a)
{
	const struct moved *v = &k->model->moved[id_find(k, k->moves)];

	receipt_make(k, a);
	if (!v->made)
		return;
	*a = v->ask;
	if (chance(k, 5) == 0)
		a->reason++;
	if (a->other && chance(k, 5) == 0)
		a->other = (int)chance(k, 2) * (1 + id_find(k, k->orders));
}

static bool lies_aside(const struct model *m, const struct order *o)
{
	EACH_CELL(s, p)
	if (o->held.qty[s][p] > 0 && m->kind[p] == ASIDE)
		return true;
	return false;
}

/* The documents leave open what becomes of units at a place that is not for sale any more, and what a second kick
 * does. */
static void change_without_doubt(struct maker *k, struct ask *a)
{
	const struct order *o = &k->model->order[a->id];

	if (a->what == ASK_KICK && o->tried && o->state == ORDER_CONFIRMED)
		a->what = ASK_CONFIRM;
	if ((a->what == ASK_EXTEND || (a->what == ASK_AMEND && a->ttl_s)) && o->told)
		a->ttl_s = LONG_TTL_S;
	if (lies_aside(k->model, o)) {
		a->what = ASK_RELEASE;
		a->wrong = 0;
	}
}

static void change_make(struct maker *k, struct ask *a, enum asked what)
{
	*a = (struct ask){.what = what, .id = id_find(k, k->orders), .ttl_s = ttl_make(k)};
	if (k->waits && what != ASK_GET && chance(k, 6))
		a->id = order_find(k, ORDER_HELD, ORDER_CONFIRMED);
	a->wrong = what == ASK_EXTEND && chance(k, 20) == 0;
	change_without_doubt(k, a);
}

static void confirm_make(struct maker *k, struct ask *a)
{
	change_make(k, a, ASK_CONFIRM);
	a->id = parted_find(k, a->id);
	change_without_doubt(k, a);
}

static void reacquire_make(struct maker *k, struct ask *a)
{
	change_make(k, a, ASK_REACQUIRE);
	for (int i = 0; i < 30 && k->model->order[a->id].state != ORDER_EXPIRED; i++)
		a->id = id_find(k, k->orders);
	a->what = ASK_REACQUIRE;
	change_without_doubt(k, a);
}

static void release_make(struct maker *k, struct ask *a)
{
	change_make(k, a, ASK_RELEASE);
}

static void extend_make(struct maker *k, struct ask *a)
{
	change_make(k, a, ASK_EXTEND);
}

/* The lines that an order has, more or fewer units of them, and others. */
static void amend_of(struct maker *k, struct ask *a, int id)
{
	const struct cells *had;
	bool                same = chance(k, 10) == 0;

	*a = (struct ask){.what = ASK_AMEND, .id = id};
	a->ttl_s = chance(k, 3) ? 0 : ttl_make(k);
	a->best_effort = !k->waits && chance(k, 3) == 0;
	a->force = chance(k, 3) == 0;
	a->wrong = wrong_make(k);
	had = &k->model->order[id].held;
	if (!same && chance(k, 2))
		cells_make(k, &a->lines, k->waits ? 2 : 12, false);
	EACH_CELL(s, p)
	{
		int64_t more = had->qty[s][p] ? 1 + chance(k, (unsigned)had->qty[s][p] + 3) : a->lines.qty[s][p];

		if (same || (had->qty[s][p] && chance(k, 4)))
			line_set(a, s, p, same || chance(k, 3) == 0 ? had->qty[s][p] : more);
	}
	if (!any_line(a))
		line_set(a, 0, MAIN, 1);
	change_without_doubt(k, a);
}

/* In a walk about queues orders that wait. */
static bool lives_as_asked(const struct maker *k, int id)
{
	const struct order *o = &k->model->order[id];

	return k->waits ? order_waits(k->model, o) : order_lives(o);
}

static void amend_make(struct maker *k, struct ask *a)
{
	int id = id_find(k, k->orders);

	for (int i = chance(k, 8) ? 0 : 40; i < 40 && !lives_as_asked(k, id); i++)
		id = id_find(k, k->orders);
	amend_of(k, a, chance(k, 2) ? id : parted_find(k, id));
}

static void kick_make(struct maker *k, struct ask *a)
{
	change_make(k, a, ASK_KICK);
	for (int i = 0; k->waits && i < k->orders; i++)
		if (k->model->order[i].state == ORDER_BURIED)
			*a = (struct ask){.what = ASK_KICK, .id = i};
}

static void settle_make(struct maker *k, struct ask *a)
{
	change_make(k, a, ASK_SETTLE);
	a->force = chance(k, 3) == 0;
}

static void hold_make(struct maker *k, struct ask *a)
{
	change_make(k, a, chance(k, 2) ? ASK_HOLD : ASK_LET_GO);
}

static void get_make(struct maker *k, struct ask *a)
{
	change_make(k, a, ASK_GET);
}

/* Makes a call about the orders of a task, if there is a task. */
static void claimed_make(struct maker *k, struct ask *a)
{
	int id = order_find(k, ORDER_CONFIRMED, ORDER_CONFIRMED);

	for (int i = 0; i < 40 && !k->model->order[id].claimed; i++)
		id = order_find(k, ORDER_CONFIRMED, ORDER_CONFIRMED);
	if (chance(k, 3) == 0) {
		amend_of(k, a, id);
	} else if (chance(k, 2)) {
		replace_make(k, a);
		a->other = k->model->order[id].told ? 0 : id + 1;
		a->confirm = true;
		without_doubt(k, a);
	} else {
		settle_make(k, a);
		a->id = id;
	}
}

/* ---- one call */

struct making {
	int times; /* how often, in proportion to the others */
	void (*make)(struct maker *, struct ask *);
};

static void one_of(struct maker *k, const struct making *some, size_t count, struct ask *a)
{
	int at = 0;

	for (size_t i = 0; i < count; i++)
		at += some[i].times;
	at = (int)chance(k, (unsigned)at);
	while (at >= some->times)
		at -= some++->times;
	some->make(k, a);
}

void make_one(struct maker *k, struct ask *a)
{
	static const struct making all[] = {
		{3, receipt_make},   {3, adjustment_make}, {1, return_make}, {5, return_of_order_make},
		{3, count_make},     {1, transfer_make},   {2, move_again},  {9, reserve_make},
		{3, reserve_again},  {5, split_make},      {1, split_again}, {5, confirm_make},
		{3, reacquire_make}, {4, release_make},    {2, extend_make}, {2, kick_make},
		{1, get_make},       {4, settle_make},     {3, hold_make},   {5, amend_make},
	};
	static const struct making of_queues[] = {
		{5, loss_make},    {3, arrival_make}, {1, transfer_make}, {2, reserve_make},
		{4, told_make},    {2, replace_make}, {1, confirm_make},  {1, split_make},
		{4, claimed_make}, {1, settle_make},  {1, hold_make},     {5, amend_make},
	};

	if (k->waits && chance(k, 2))
		one_of(k, of_queues, LENGTH(of_queues), a);
	else
		one_of(k, all, LENGTH(all), a);
}

void make_end(struct maker *k, struct ask *a)
{
	*a = (struct ask){.what = chance(k, 2) ? ASK_RELEASE : ASK_SETTLE};
	a->id = order_find(k, ORDER_CONFIRMED, ORDER_HELD);
	for (int i = 0; i < 40 && !order_lives(&k->model->order[a->id]); i++)
		a->id = (int)chance(k, (unsigned)k->orders);
	a->force = a->what == ASK_SETTLE && k->model->order[a->id].on_hold;
}

/* ---- a call of several */

/* The last order of the call replaces another one, and so on. Orders in between would be judged with or without the
 * units that a replacement frees. */
static int chain_make(struct maker *k, struct ask *asks, int n)
{
	for (int links = (int)chance(k, 4); links > 0 && n < MAKE_MAX; links--, n++) {
		reserve_make(k, &asks[n]);
		asks[n].other = 1 + asks[n - 1].id;
	}
	return n;
}

/* The documents leave open which lane takes its part of the call first, and so the positions in a queue. */
static void at_stock(struct maker *k, struct ask *a)
{
	EACH_CELL(s, p)
	if (k->model->kind[p] != STOCK)
		line_set(a, s, p, 0);
	a->wish = (struct wish){0};
	if (!any_line(a))
		line_set(a, 0, MAIN, 1);
}

/* Some orders of the call repeat an earlier one that was accepted or refused just now. */
int make_batch(struct maker *k, struct ask *asks)
{
	int n = 1 + (int)chance(k, chance(k, 10) ? 8 : MAKE_MAX);

	for (int i = 0; i < n; i++) {
		if (chance(k, 8) == 0)
			reserve_again(k, &asks[i]);
		else
			reserve_make(k, &asks[i]);
		if (i > 0 && chance(k, 10) == 0)
			asks[i] = asks[chance(k, (unsigned)i)];
		if (i > 0 && chance(k, 20) == 0)
			asks[i].id = asks[i - 1].id;
		if (k->model->order[asks[i].id].state != ORDER_NONE)
			continue;
		asks[i].other = 0;
		if (k->waits)
			at_stock(k, &asks[i]);
	}
	return k->waits ? n : chain_make(k, asks, n);
}

/* Lanes work at the same time, so at most one order of the call asks for units, or waits and is confirmed. */
int make_changes(struct maker *k, struct ask *asks)
{
	static void (*const makes[])(struct maker *, struct ask *) = {confirm_make, reacquire_make, release_make,
	                                                              settle_make};
	void (*make)(struct maker *, struct ask *) = makes[chance(k, LENGTH(makes))];
	int n = 1 + (int)chance(k, chance(k, 10) ? 8 : MAKE_MAX), only = -1;

	for (int i = 0; i < n; i++) {
		struct ask         *a = &asks[i];
		const struct order *o;

		make(k, a);
		a->what = i ? asks[0].what : a->what;
		a->force = false;
		a->wrong = wrong_make(k);
		if (i > 0 && chance(k, 10) == 0)
			*a = asks[chance(k, (unsigned)i)];
		o = &k->model->order[a->id];
		if ((a->what == ASK_REACQUIRE && o->state == ORDER_EXPIRED) ||
		    (k->waits && a->what <= ASK_REACQUIRE && order_waits(k->model, o)))
			a->id = only = only < 0 ? a->id : only;
		if (a->what == ASK_REACQUIRE && lies_aside(k->model, &k->model->order[a->id]))
			return i; /* see change_without_doubt */
	}
	return n;
}
