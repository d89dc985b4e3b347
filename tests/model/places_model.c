/* places_model.c - see places_model.h. */
#include "tests/model/places_words.h"

bool pm_lives(const struct pm_order *o)
{
	return o->state == PM_HELD || o->state == PM_CONFIRMED || o->state == PM_BURIED;
}

bool pm_waits(const struct pm *m, const struct pm_order *o)
{
	EACH_SPOT(s, p)
	if (pm_lives(o) && m->kind[p] == PM_INCOMING && o->units[s][p] > 0)
		return true;
	return false;
}

static int64_t now(const struct pm *m)
{
	return m->now_s * 1000000 + m->calls;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- turns */

static bool comes_before(const struct pm_order *a, const struct pm_turn *at, int a_id, const struct pm_order *b,
                         const struct pm_turn *bt, int b_id)
{
	bool a_held = a->state == PM_HELD, b_held = b->state == PM_HELD;

	if (a_held != b_held)
		return b_held;
	if (at->since != bt->since)
		return at->since < bt->since;
	return at->first != bt->first ? at->first < bt->first : a_id < b_id;
}

int pm_line(const struct pm *m, int s, int p, int *ids)
{
	int n = 0;

	for (int id = 0; id < PM_ORDERS; id++) {
		const struct pm_order *o = &m->order[id];
		int                    at = n;

		if (!pm_lives(o) || o->units[s][p] == 0)
			continue;
		for (; at > 0; at--) {
			const struct pm_order *before = &m->order[ids[at - 1]];

			if (!comes_before(o, &o->turn[s][p], id, before, &before->turn[s][p], ids[at - 1]))
				break;
			ids[at] = ids[at - 1];
		}
		ids[at] = id;
		n++;
	}
	return n;
}

/* The turn that an order would have where it does not wait. */
static struct pm_turn turn_of(const struct pm *m, int id)
{
	const struct pm_order *o = &m->order[id];

	return (struct pm_turn){.since = o->told        ? o->told
	                                 : o->confirmed ? o->confirmed
	                                                : o->made,
	                        .first = id,
	                        .told = o->told};
}

static void confirm_turns(struct pm *m, struct pm_order *o)
{
	o->state = PM_CONFIRMED;
	o->confirmed = o->confirmed ? o->confirmed : now(m);
	EACH_SPOT(s, p)
	if (!o->turn[s][p].told)
		o->turn[s][p].since = o->confirmed;
}

/* ---- units on their way */

static void served(struct pm *m, int id, int s, int from, int to, int64_t qty)
{
	struct pm_order *o = &m->order[id];

	o->units[s][from] -= qty;
	o->units[s][to] += qty;
	o->served = true;
	m->reserved[s][from] -= qty;
	m->reserved[s][to] += qty;
}

/* What is available at a place with waits_at goes to those who wait there; the promise stays. */
static void pull(struct pm *m)
{
	int ids[PM_ORDERS];

	EACH_SPOT(s, p)
	while (m->kind[p] == PM_STOCK && m->waits_at[p] >= 0 && m->available[s][p] > 0 &&
	       pm_line(m, s, m->waits_at[p], ids) > 0) {
		int     at = m->waits_at[p];
		int64_t qty = least(m->available[s][p], m->order[ids[0]].units[s][at]);

		served(m, ids[0], s, at, p, qty);
		m->available[s][p] -= qty;
		m->available[s][at] += qty;
	}
}

static void units_hold(struct pm *m, const struct pm_order *o)
{
	EACH_SPOT(s, p)
	{
		m->available[s][p] -= o->units[s][p];
		m->reserved[s][p] += o->units[s][p];
	}
}

static void order_end(struct pm *m, struct pm_order *o, enum pm_state state)
{
	EACH_SPOT(s, p)
	{
		m->reserved[s][p] -= o->units[s][p];
		m->available[s][p] += state == PM_SETTLED ? 0 : o->units[s][p];
	}
	o->state = state;
	o->claimed = false;
}

/* Units of orders at a place that a loss may take. */
static int64_t may_be_lost(const struct pm *m, int s, int p)
{
	int64_t sum = 0;

	for (int id = 0; id < PM_ORDERS; id++)
		sum += pm_lives(&m->order[id]) && !m->order[id].claimed ? m->order[id].units[s][p] : 0;
	return sum;
}

static int last_of(const struct pm *m, int s, int p)
{
	int last = -1;

	for (int id = 0; id < PM_ORDERS; id++) {
		const struct pm_order *o = &m->order[id];
		struct pm_turn         turn = turn_of(m, id), behind;

		if (!pm_lives(o) || o->claimed || o->units[s][p] == 0)
			continue;
		if (last >= 0)
			behind = turn_of(m, last);
		if (last < 0 || comes_before(&m->order[last], &behind, last, o, &turn, id))
			last = id;
	}
	return last;
}

/* The end of the line loses promised units, and waits for others. */
static void lose(struct pm *m, int s, int p, int64_t qty, int to, bool *losers)
{
	while (qty > 0) {
		int              id = last_of(m, s, p);
		struct pm_order *o = &m->order[id];
		int64_t          piece = least(qty, o->units[s][p]);

		if (o->units[s][to] == 0)
			o->turn[s][to] = turn_of(m, id);
		o->units[s][p] -= piece;
		o->units[s][to] += piece;
		m->reserved[s][p] -= piece;
		m->reserved[s][to] += piece;
		losers[id] = true;
		qty -= piece;
	}
}

/* ---- reservations */

static bool not_for_sale(const struct pm *m, const struct pm_ask *a)
{
	EACH_SPOT(s, p)
	if (a->named[s][p] && m->kind[p] == PM_ASIDE)
		return true;
	return a->choice.qty && m->kind[a->choice.first] == PM_ASIDE;
}

/* False: one of two places does not have it, both together where it may be split. */
static bool choice_do(const struct pm_choice *c, int64_t there[PM_SKUS][PM_PLACES], struct pm_order *o)
{
	int64_t first = there[c->sku][c->first], second = there[c->sku][c->second], taken;

	if (c->may_split ? first + second < c->qty : first < c->qty && second < c->qty)
		return false;
	taken = c->may_split || first >= c->qty ? least(first, c->qty) : 0;
	o->units[c->sku][c->first] += taken;
	o->units[c->sku][c->second] += c->qty - taken;
	o->chose = c->qty > 0;
	return true;
}

/* The units that it gets, of those that are there for it; false: too few. */
static bool lines_do(const struct pm *m, const struct pm_ask *a, const struct pm_order *old, struct pm_order *o)
{
	int64_t there[PM_SKUS][PM_PLACES];
	bool    any = a->choice.qty > 0, less = false;

	EACH_SPOT(s, p)
	{
		there[s][p] = m->available[s][p] + (old ? old->units[s][p] : 0);
		o->units[s][p] = a->named[s][p] ? least(a->qty[s][p], there[s][p]) : 0;
		less |= a->named[s][p] && o->units[s][p] < a->qty[s][p];
		any |= o->units[s][p] > 0;
		there[s][p] -= o->units[s][p];
	}
	return any && (!less || a->best_effort) && choice_do(&a->choice, there, o);
}

/* A replacement takes the turns of what it replaces, line by line. */
static void turns_make(const struct pm *m, const struct pm_ask *a, const struct pm_order *old, struct pm_order *o)
{
	EACH_SPOT(s, p)
	{
		if (m->kind[p] != PM_INCOMING || o->units[s][p] == 0)
			continue;
		o->turn[s][p] = (struct pm_turn){o->told ? o->told : o->made, a->id, o->told};
		if (old && old->units[s][p] > 0)
			o->turn[s][p] = old->turn[s][p];
	}
}

static void reserve_do(struct pm *m, const struct pm_ask *a, struct text *to)
{
	struct pm_order *old = a->other >= 0 ? &m->order[a->other] : NULL, *o = &m->order[a->id];
	struct pm_order  made = {.state = PM_HELD, .made = now(m), .expires_s = m->now_s + a->ttl_s};
	bool             may = !old || old->state == PM_HELD || (old->state == PM_CONFIRMED && a->confirm);

	if (!may) {
		text_format(to, "409 %s field=replaces", pm_state_name(old->state));
	} else if (old && old->claimed) {
		text_add(to, "409 claimed field=replaces");
	} else if (not_for_sale(m, a)) {
		text_add(to, "409 not_for_sale");
	} else if (!lines_do(m, a, old, &made)) {
		text_add(to, "409 short");
	} else {
		made.told = a->told_s ? now(m) - a->told_s * INT64_C(1000000) : 0;
		turns_make(m, a, old, &made);
		if (old) {
			made.confirmed = old->confirmed;
			order_end(m, old, PM_RELEASED);
		}
		*o = made;
		if (a->confirm)
			confirm_turns(m, o);
		units_hold(m, o);
		text_format(to, "201 %s", pm_state_name(o->state));
		if (!a->choice.qty)
			pm_spots_add(to, o->units);
	}
}

/* Both orders keep the turns. */
static void split_do(struct pm *m, const struct pm_ask *a, struct text *to)
{
	struct pm_order *first = &m->order[a->other], *o = &m->order[a->id];
	bool             in_order = true, all = true, waits = false;

	EACH_SPOT(s, p)
	{
		int64_t taken = a->named[s][p] ? a->qty[s][p] : 0;

		in_order &= taken <= first->units[s][p];
		all &= taken == first->units[s][p];
		waits |= taken > 0 && m->kind[p] == PM_INCOMING;
	}
	if (first->state != PM_CONFIRMED && (first->state != PM_HELD || a->then == PM_SETTLED)) {
		text_format(to, "409 %s", pm_state_name(first->state));
	} else if (a->then == PM_SETTLED && first->claimed && !a->force) {
		text_add(to, "409 claimed");
	} else if (!in_order) {
		text_add(to, "422 not_in_order");
	} else if (a->then == PM_SETTLED && waits) {
		text_add(to, "409 waiting");
	} else if (all) {
		text_add(to, "422 nothing_left");
	} else {
		*o = *first;
		o->losses = 0;
		first->claimed = o->claimed = o->served = false;
		EACH_SPOT(s, p)
		{
			o->units[s][p] = a->named[s][p] ? a->qty[s][p] : 0;
			first->units[s][p] -= o->units[s][p];
		}
		if (a->then == PM_CONFIRMED)
			confirm_turns(m, o);
		else if (a->then)
			order_end(m, o, (enum pm_state)a->then);
		text_format(to, "201 %s", pm_state_name(o->state));
		pm_spots_add(to, o->units);
	}
}

static void replayed(const struct pm_order *o, struct text *to)
{
	text_format(to, "200 replayed %s", pm_state_name(o->state));
}

static void confirm_do(struct pm *m, const struct pm_ask *a, struct text *to)
{
	struct pm_order *o = &m->order[a->id];

	if (o->state == PM_CONFIRMED || o->state == PM_SETTLED || o->state == PM_BURIED) {
		replayed(o, to);
		return;
	}
	if (o->state == PM_RELEASED || (o->state == PM_EXPIRED && a->call == PM_CONFIRM)) {
		text_format(to, "409 %s", pm_state_name(o->state));
		return;
	}
	if (o->state == PM_EXPIRED) {
		EACH_SPOT(s, p)
		if (o->units[s][p] > m->available[s][p]) {
			text_add(to, "409 short");
			return;
		}
		units_hold(m, o);
		EACH_SPOT(s, p)
		o->turn[s][p] = (struct pm_turn){.first = a->id};
	}
	text_add(to, o->state == PM_EXPIRED ? "200 confirmed reacquired" : "200 confirmed !reacquired");
	confirm_turns(m, o);
	pm_spots_add(to, o->units);
}

static void release_do(struct pm *m, const struct pm_ask *a, struct text *to)
{
	struct pm_order *o = &m->order[a->id];

	if (o->state == PM_RELEASED) {
		replayed(o, to);
	} else if (!pm_lives(o)) {
		text_format(to, "409 %s", pm_state_name(o->state));
	} else {
		order_end(m, o, PM_RELEASED);
		text_add(to, "200 released");
	}
}

static void extend_do(struct pm *m, const struct pm_ask *a, struct text *to)
{
	struct pm_order *o = &m->order[a->id];

	if (o->state == PM_HELD)
		o->expires_s = m->now_s + a->ttl_s;
	text_format(to, o->state == PM_HELD ? "200 %s" : "409 %s", pm_state_name(o->state));
}

static void settle_do(struct pm *m, const struct pm_ask *a, struct text *to)
{
	struct pm_order *o = &m->order[a->id];

	if (o->state == PM_SETTLED) {
		replayed(o, to);
	} else if (o->state != PM_CONFIRMED && o->state != PM_BURIED) {
		text_format(to, "409 %s", pm_state_name(o->state));
	} else if (o->claimed && !a->force) {
		text_add(to, "409 claimed");
	} else if (pm_waits(m, o)) {
		text_add(to, "409 waiting");
	} else {
		order_end(m, o, PM_SETTLED);
		text_add(to, "200 settled");
		pm_spots_add(to, o->units);
	}
}

static void kick_do(struct pm *m, const struct pm_ask *a, struct text *to)
{
	struct pm_order *o = &m->order[a->id];

	if (o->state == PM_BURIED)
		text_add(to, "200 confirmed");
	else
		text_format(to, "409 %s", pm_state_name(o->state));
	o->state = o->state == PM_BURIED ? PM_CONFIRMED : o->state;
}

/* ---- movements */

/* The signed change of a line of a receipt, adjustment, return or count. */
static int64_t change_of(const struct pm *m, const struct pm_ask *a, int s, int p)
{
	if (!a->named[s][p])
		return 0;
	return a->qty[s][p] - (a->call == PM_COUNT ? m->available[s][p] + m->reserved[s][p] : 0);
}

static int lost_to(const struct pm *m, const struct pm_ask *a, int s, int p)
{
	return a->lost_to[s][p] >= 0 ? a->lost_to[s][p] : m->waits_at[p];
}

/* NULL: nothing is in its way. */
static const char *movement_refused(const struct pm *m, const struct pm_ask *a)
{
	bool counted = a->call == PM_COUNT || a->call == PM_RETURN, too_few = false, wrong = false;

	EACH_SPOT(s, p)
	{
		int64_t least_left = a->may_lose[s][p] ? -may_be_lost(m, s, p) : 0;

		if (!a->named[s][p])
			continue;
		if (a->may_lose[s][p] && lost_to(m, a, s, p) < 0)
			return "400 invalid_request";
		wrong |= counted && m->kind[p] == PM_INCOMING;
		wrong |= a->may_lose[s][p] && (m->kind[p] != PM_STOCK || m->kind[lost_to(m, a, s, p)] != PM_INCOMING);
		too_few |= m->available[s][p] + change_of(m, a, s, p) < least_left && change_of(m, a, s, p) < 0;
	}
	return wrong ? "422 wrong_kind" : too_few ? "409 short" : NULL;
}

static void movement_do(struct pm *m, const struct pm_ask *a, struct text *to)
{
	const char *refused = movement_refused(m, a);
	int64_t     told[PM_SKUS][PM_PLACES] = {{0}};
	bool        losers[PM_SKUS][PM_ORDERS] = {{false}}, of_any[PM_ORDERS] = {false};
	int         lines = 0, backordered = 0;

	if (refused) {
		text_add(to, refused);
		return;
	}
	EACH_SPOT(s, p)
	{
		int64_t change = change_of(m, a, s, p), lost = -(m->available[s][p] + change);

		told[s][p] += change;
		m->available[s][p] += change;
		if (lost <= 0 || !a->named[s][p])
			continue;
		m->available[s][p] = 0;
		told[s][lost_to(m, a, s, p)] += lost;
		lose(m, s, p, lost, lost_to(m, a, s, p), losers[s]);
	}
	text_add(to, "201");
	EACH_SPOT(s, p)
	if (a->named[s][p] || told[s][p]) {
		text_format(to, " %c@%s=%lld", 'A' + s, pm_places[p], (long long)told[s][p]);
		lines++;
	}
	text_format(to, " lines=%d", lines);
	for (int s = 0; s < PM_SKUS; s++)
		for (int id = 0; id < PM_ORDERS; id++) {
			backordered += losers[s][id];
			of_any[id] |= losers[s][id];
		}
	for (int id = 0; id < PM_ORDERS; id++)
		m->order[id].losses += of_any[id];
	if (backordered)
		text_format(to, " backordered=%d", backordered);
	else
		text_add(to, " !backordered");
}

/* What the ends of one sku and place give. */
static int64_t given(const struct pm_ask *a, int s, int from)
{
	int64_t sum = 0;

	for (int i = 0; i < a->ends; i++)
		sum += a->end[i].sku == s && a->end[i].from == from ? a->end[i].qty : 0;
	return sum;
}

/* Who waits gets it first. */
static void arrive(struct pm *m, const struct pm_end *e, int line, struct text *to)
{
	int     ids[PM_ORDERS];
	int64_t left = e->qty;

	while (left > 0 && pm_line(m, e->sku, e->from, ids) > 0) {
		int64_t qty = least(left, m->order[ids[0]].units[e->sku][e->from]);

		served(m, ids[0], e->sku, e->from, e->to, qty);
		left -= qty;
	}
	m->available[e->sku][e->from] -= left;
	m->available[e->sku][e->to] += left;
	text_format(to, " lines[%d].filled=%lld lines[%d].for_sale=%lld lines[%d].waiting=0", line,
	            (long long)(e->qty - left), line, (long long)left, line);
}

static void ends_do(struct pm *m, const struct pm_ask *a, struct text *to)
{
	bool arrival = a->call == PM_ARRIVAL, wrong = false, too_few = false;

	for (int i = 0; i < a->ends; i++) {
		const struct pm_end *e = &a->end[i];
		bool                 from_in = m->kind[e->from] == PM_INCOMING, to_in = m->kind[e->to] == PM_INCOMING;
		int64_t              there = m->available[e->sku][e->from];

		there += arrival ? m->reserved[e->sku][e->from] : 0;
		wrong |= arrival ? !from_in || m->kind[e->to] != PM_STOCK : from_in != to_in;
		too_few |= given(a, e->sku, e->from) > there;
	}
	if (wrong || too_few) {
		text_add(to, wrong ? "422 wrong_kind" : "409 short");
		return;
	}
	text_format(to, "201 lines=%d", a->ends);
	for (int i = 0; i < a->ends; i++) {
		const struct pm_end *e = &a->end[i];

		if (arrival) {
			arrive(m, e, i, to);
		} else {
			m->available[e->sku][e->from] -= e->qty;
			m->available[e->sku][e->to] += e->qty;
		}
	}
}

/* ---- all of it */

void pm_open(struct pm *m)
{
	*m = (struct pm){.kind = {[BO] = PM_INCOMING, [PO] = PM_INCOMING, [QC] = PM_ASIDE}};
	for (int p = 0; p < PM_PLACES; p++)
		m->waits_at[p] = -1;
}

bool pm_in_use(const struct pm *m, int place, enum pm_kind kind)
{
	bool used = false;

	for (int p = 0; p < PM_PLACES; p++)
		used |= m->waits_at[p] == place;
	for (int s = 0; s < PM_SKUS; s++)
		used |= m->available[s][place] + m->reserved[s][place] > 0;
	return used && m->kind[place] != kind;
}

void pm_kind_set(struct pm *m, int place, enum pm_kind kind)
{
	m->kind[place] = kind;
}

void pm_waits_at(struct pm *m, int place, int at)
{
	m->waits_at[place] = at;
	pull(m);
}

void pm_tick(struct pm *m, int seconds)
{
	m->now_s += seconds;
	for (int id = 0; id < PM_ORDERS; id++)
		if (m->order[id].state == PM_HELD && m->order[id].expires_s <= m->now_s)
			order_end(m, &m->order[id], PM_EXPIRED);
	pull(m);
}

int pm_claim(struct pm *m)
{
	int n = 0;

	for (int id = 0; id < PM_ORDERS; id++) {
		struct pm_order *o = &m->order[id];

		o->claimed = o->state == PM_CONFIRMED && !pm_waits(m, o);
		n += o->claimed;
	}
	return n;
}

int pm_task_end(struct pm *m, enum pm_state state)
{
	int n = 0;

	for (int id = 0; id < PM_ORDERS; id++) {
		struct pm_order *o = &m->order[id];

		if (!o->claimed)
			continue;
		n++;
		if (state == PM_SETTLED)
			order_end(m, o, state);
		o->state = state;
		o->claimed = false;
	}
	return n;
}

void pm_do(struct pm *m, const struct pm_ask *ask, struct text *expectation)
{
	static void (*const deeds[])(struct pm *, const struct pm_ask *, struct text *) = {
		[PM_RESERVE] = reserve_do,   [PM_SPLIT] = split_do,     [PM_CONFIRM] = confirm_do,
		[PM_REACQUIRE] = confirm_do, [PM_RELEASE] = release_do, [PM_EXTEND] = extend_do,
		[PM_SETTLE] = settle_do,     [PM_KICK] = kick_do,       [PM_RECEIPT] = movement_do,
		[PM_ADJUST] = movement_do,   [PM_RETURN] = movement_do, [PM_COUNT] = movement_do,
		[PM_TRANSFER] = ends_do,     [PM_ARRIVAL] = ends_do,
	};

	m->calls++;
	if (ask->call == PM_RESERVE && ask->other >= 0 && m->order[ask->other].state == PM_NONE)
		text_add(expectation, "422 unknown_order");
	else if (ask->call == PM_SPLIT && m->order[ask->other].state == PM_NONE)
		text_add(expectation, "404 unknown_order");
	else if (ask->call > PM_SPLIT && ask->call < PM_RECEIPT && m->order[ask->id].state == PM_NONE)
		text_add(expectation, "404 unknown_order");
	else
		deeds[ask->call](m, ask, expectation);
	pull(m);
}
