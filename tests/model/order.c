/* order.c - see order.h. */
#include "tests/model/order.h"

#include "tests/model/positions.h"

#include <string.h>

const char *order_state_name(enum order_state state)
{
	static const char *const names[] = {"none", "held", "confirmed", "buried", "released", "expired", "settled"};

	return names[state];
}

bool order_lives(const struct order *o)
{
	return o->state == ORDER_HELD || o->state == ORDER_CONFIRMED || o->state == ORDER_BURIED;
}

static void units_hold(struct model *m, const struct order *o)
{
	EACH_CELL(s, p)
	{
		m->available[s][p] -= o->held.qty[s][p];
		m->reserved[s][p] += o->held.qty[s][p];
		m->has[o->customer][s] += o->held.qty[s][p];
	}
}

static void units_return(struct model *m, const struct order *o)
{
	EACH_CELL(s, p)
	{
		m->available[s][p] += o->held.qty[s][p];
		m->reserved[s][p] -= o->held.qty[s][p];
		m->has[o->customer][s] -= o->held.qty[s][p];
	}
}

void units_leave(struct model *m, const struct order *o)
{
	EACH_CELL(s, p)
	m->reserved[s][p] -= o->held.qty[s][p];
}

void order_is_swept(struct model *m, struct order *o)
{
	if (!o->unswept)
		return;
	o->unswept = false;
	EACH_CELL(s, p)
	{
		m->unswept[s][p] -= o->held.qty[s][p];
		m->has_unswept[o->customer][s] -= o->held.qty[s][p];
	}
}

void order_expire(struct model *m, struct order *o)
{
	positions_leave(m, o);
	o->state = ORDER_EXPIRED;
	o->unswept = true;
	units_return(m, o);
	EACH_CELL(s, p)
	{
		m->unswept[s][p] += o->held.qty[s][p];
		m->has_unswept[o->customer][s] += o->held.qty[s][p];
	}
}

/* ---- reservations */

static bool made_equal(const struct ask *a, const struct ask *b)
{
	return a->what == b->what && a->other == b->other && a->then == b->then && a->customer == b->customer &&
	       cells_equal(&a->lines, &b->lines) && wish_equal(&a->wish, &b->wish);
}

/* The id is there already. An order that is over has no units, so its call is no success any more. But a split that
 * released its part itself is. */
static bool made_again(const struct order *o, const struct ask *ask, struct verdict *out)
{
	if (o->state == ORDER_NONE)
		return false;
	out->replayed = made_equal(&o->ask, ask);
	out->status = 200;
	out->order = o;
	if (!out->replayed) {
		refuse(out, 422, "order_id_reused");
		return true;
	}
	faults_named(out, "requested", "available");
	out->fault = o->fault;
	out->second = o->second;
	out->limited = o->limited;
	out->wish_limited = o->wish_limited;
	out->wish = o->wish_short ? &o->ask.wish : NULL;
	out->wish_available = o->wish_available;
	out->ended = o->state == ORDER_EXPIRED || (o->state == ORDER_RELEASED && ask->then != THEN_RELEASED);
	if (out->ended)
		refuse(out, 409, order_state_name(o->state));
	return true;
}

static bool refuse_replaced(const struct order *old, const struct ask *ask, struct verdict *out)
{
	bool old_is_free = old && (old->state == ORDER_HELD || (old->state == ORDER_CONFIRMED && ask->confirm));

	if (!old || (old_is_free && !old->claimed))
		return false;
	if (old->state == ORDER_NONE)
		refuse(out, 422, "unknown_order");
	else
		refuse(out, 409, old_is_free ? "claimed" : order_state_name(old->state));
	out->field = "replaces";
	return true;
}

/* ---- stops of sales */

static int64_t had(const struct order *old, int s, int p)
{
	return old ? old->held.qty[s][p] : 0;
}

static bool wish_stopped(const struct model *m, const struct wish *w)
{
	for (int i = 0; i < w->places; i++)
		if (!model_stopped(m, w->sku, w->place[i]))
			return false;
	return w->places > 0;
}

/* The replaced order has the units of the wish already, beside those of the plain lines. */
static bool wish_stays(const struct order *old, const struct ask *ask)
{
	const struct wish *w = &ask->wish;
	int64_t            most = 0;

	for (int i = 0; i < w->places; i++) {
		int64_t left = had(old, w->sku, w->place[i]) - ask->lines.qty[w->sku][w->place[i]];

		if (left > 0)
			most = w->may_split ? most + left : left > most ? left : most;
	}
	return most >= w->qty;
}

/* A best effort goes on without what is stopped, unless all of it is. */
static bool refuse_stopped(const struct model *m, const struct order *old, const struct ask *ask, struct verdict *out)
{
	bool others = ask->wish.places > 0;

	if (wish_stopped(m, &ask->wish) && !wish_stays(old, ask)) {
		out->wish = &ask->wish;
		others = false;
	}
	EACH_CELL(s, p)
	{
		if (!ask->lines.named[s][p])
			continue;
		if (model_stopped(m, s, p) && ask->lines.qty[s][p] > had(old, s, p))
			fault_set(out, s, p, 0, 0);
		else
			others = true;
	}
	if (has_fault(out) && (!ask->best_effort || (!others && !old))) {
		refuse(out, 409, "not_for_sale");
		return true;
	}
	out->fault = (struct cells){0};
	out->wish = NULL;
	return false;
}

/* The order is short of units. If a stop is why, what is stopped is named alone, without numbers. */
static bool refuse_short_of_stopped(const struct model *m, const struct ask *ask, struct verdict *out)
{
	bool wish = out->wish && wish_stopped(m, &ask->wish), any = wish;

	EACH_CELL(s, p)
	any |= out->fault.named[s][p] && model_stopped(m, s, p);
	if (!any)
		return false;
	EACH_CELL(s, p)
	out->fault.named[s][p] &= model_stopped(m, s, p);
	out->wish = wish ? &ask->wish : NULL;
	out->limited = (struct cells){0};
	out->wish_limited = false;
	faults_named(out, NULL, NULL);
	refuse(out, 409, "not_for_sale");
	return true;
}

static bool refuse_not_for_sale(const struct model *m, const struct order *old, const struct ask *ask,
                                struct verdict *out)
{
	EACH_CELL(s, p)
	if (ask->lines.named[s][p] && m->kind[p] == ASIDE)
		fault_set(out, s, p, 0, 0);
	for (int i = 0; i < ask->wish.places; i++)
		if (m->kind[ask->wish.place[i]] == ASIDE)
			out->wish = &ask->wish;
	if (has_fault(out)) {
		refuse(out, 409, "not_for_sale");
		return true;
	}
	return refuse_stopped(m, old, ask, out);
}

/* Units that this order may have: those available, and those of the order that it replaces. */
static void there_are(const struct model *m, const struct order *old, struct cells *there)
{
	EACH_CELL(s, p)
	there->qty[s][p] = (model_stopped(m, s, p) ? 0 : m->available[s][p]) + had(old, s, p);
}

/* ---- limits of customers */

/* Of the customer's units, those that the new order takes over. */
static int64_t kept(const struct order *old, int customer, int s)
{
	return old && old->customer == customer ? units_of(&old->held, s) : 0;
}

/* The units of a sku that a new order may have. A customer above the limit keeps all units. */
static int64_t room_of(const struct model *m, const struct order *old, int customer, int s)
{
	int64_t left = m->limit[s] - m->has[customer][s];

	return m->limit[s] ? kept(old, customer, s) + (left > 0 ? left : 0) : MODEL_TOTAL_MAX;
}

static void limit_fault(const struct model *m, const struct order *old, int customer, int s, int64_t asked,
                        struct verdict *out)
{
	fault_set(out, s, 0, asked, m->has[customer][s] - kept(old, customer, s));
	out->third.qty[s][0] = m->limit[s];
	out->third_name = "limit";
	faults_named(out, "requested", "has");
	refuse(out, 409, "limit_reached");
}

static int64_t asked_of(const struct ask *ask, int s)
{
	return units_of(&ask->lines, s) + (ask->wish.places && ask->wish.sku == s ? ask->wish.qty : 0);
}

/* Of all or nothing. An order without a customer keeps what it has. */
static bool refuse_beyond(const struct model *m, const struct order *old, const struct ask *ask, struct verdict *out)
{
	bool limited[MODEL_SKUS];

	for (int s = 0; s < MODEL_SKUS; s++) {
		limited[s] = m->limit[s] && (ask->what != ASK_AMEND || asked_of(ask, s) > units_of(&old->held, s));
		if (ask->customer && !ask->best_effort && asked_of(ask, s) > room_of(m, old, ask->customer, s))
			limit_fault(m, old, ask->customer, s, asked_of(ask, s), out);
	}
	return ask->customer ? out->code != NULL : refuse_skus(limited, "customer_required", ask, out);
}

/* Of a best effort nothing is left, and it is for the limits alone. */
static bool refuse_all_beyond(const struct model *m, const struct order *old, const struct ask *ask,
                              struct verdict *out)
{
	EACH_CELL(s, p)
	if (ask->lines.named[s][p] && !out->limited.named[s][p])
		return false;
	if (ask->wish.places && !out->wish_limited)
		return false;
	*out = (struct verdict){0};
	for (int s = 0; s < MODEL_SKUS; s++)
		if (asked_of(ask, s) > 0)
			limit_fault(m, old, ask->customer, s, asked_of(ask, s), out);
	return true;
}

/* ---- units */

static void lines_do(const struct cells *there, const struct ask *ask, int64_t *room, struct cells *held,
                     struct verdict *out)
{
	faults_named(out, "requested", "available");
	EACH_CELL(s, p)
	{
		int64_t asked = ask->lines.qty[s][p], most = there->qty[s][p];

		if (!ask->lines.named[s][p])
			continue;
		out->limited.named[s][p] = room[s] < asked && room[s] <= most;
		if (asked > least(most, room[s]))
			fault_set(out, s, p, asked, least(most, room[s]));
		held->qty[s][p] = least(asked, least(most, room[s]));
		held->named[s][p] = held->qty[s][p] > 0;
		room[s] -= held->qty[s][p];
	}
}

/* How the answer says that so many units of a wish were granted, if that can be: no more than there are, and at one
 * place where it may not be split. */
static bool wish_shown(const struct cells *there, const struct ask *ask, int64_t want, const struct cells *held,
                       struct cells *part)
{
	const struct wish *w = &ask->wish;
	int64_t            sum = 0;
	int                used = 0;

	for (int i = 0; i < w->places; i++) {
		int     p = w->place[i];
		int64_t qty = ask->shown.qty[w->sku][p] - held->qty[w->sku][p];

		if (qty < 0 || qty > there->qty[w->sku][p] - held->qty[w->sku][p])
			return false;
		part->qty[w->sku][p] = qty;
		sum += qty;
		used += qty > 0;
	}
	return sum == want && (used <= 1 || w->may_split);
}

/* Adds what the wish gets beside the plain lines, which are in `held`. Where there is enough the first places go by
 * what the service knows; where there is not, it has looked. */
static void wish_do(const struct cells *there, const struct ask *ask, int64_t room, struct cells *held,
                    struct verdict *out)
{
	const struct wish *w = &ask->wish;
	int64_t            left[MODEL_PLACES] = {0}, sum = 0, want = least(w->qty, room);
	int                most = 0;
	struct cells       part = {0};

	for (int i = 0; i < w->places; i++) {
		left[i] = there->qty[w->sku][w->place[i]] - held->qty[w->sku][w->place[i]];
		most = left[i] > left[most] ? i : most;
		sum += left[i];
	}
	out->wish_available = w->may_split ? sum : left[most];
	out->wish_limited = want < w->qty && want <= out->wish_available;
	if (w->places && least(want, out->wish_available) < w->qty)
		out->wish = w;
	if (out->wish_available < want || !wish_shown(there, ask, want, held, &part))
		for (int i = 0; i < w->places; i++)
			part.qty[w->sku][w->place[i]] = w->may_split || i == most ? left[i] : 0;
	out->wish_available = least(out->wish_available, out->wish_limited ? want : MODEL_TOTAL_MAX);
	for (int i = 0; i < w->places; i++) {
		held->qty[w->sku][w->place[i]] += part.qty[w->sku][w->place[i]];
		held->named[w->sku][w->place[i]] = held->qty[w->sku][w->place[i]] > 0;
	}
}

static int order_nth(struct model *m, int id)
{
	if (m->ids <= id)
		m->ids = id + 1;
	return ++m->orders;
}

/* The units that the order gets; false: it is refused. */
static bool units_grant(const struct model *m, const struct order *old, const struct ask *ask, struct cells *held,
                        struct verdict *out)
{
	struct cells there = {0};
	int64_t      room[MODEL_SKUS];
	bool         any = false;

	if (refuse_unknown(m, ask, out) || refuse_not_for_sale(m, old, ask, out) || refuse_beyond(m, old, ask, out))
		return false;
	there_are(m, old, &there);
	for (int s = 0; s < MODEL_SKUS; s++)
		room[s] = room_of(m, old, ask->customer, s);
	lines_do(&there, ask, room, held, out);
	wish_do(&there, ask, room[ask->wish.sku], held, out);
	EACH_CELL(s, p)
	any |= held->named[s][p];
	if (any && (ask->best_effort || !has_fault(out)))
		return true;
	if (!refuse_short_of_stopped(m, ask, out) && (any || !refuse_all_beyond(m, old, ask, out)))
		refuse(out, 409, "short");
	return false;
}

/* The first confirmation counts. */
static void order_confirm(struct model *m, struct order *o)
{
	o->state = ORDER_CONFIRMED;
	if (o->confirmed)
		return;
	o->confirmed = model_now(m);
	positions_confirm(m, o);
}

void reserve_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id], *old = ask->other ? &m->order[ask->other - 1] : NULL;
	struct cells  held = {0};

	if (made_again(o, ask, out) || refuse_replaced(old, ask, out) || !units_grant(m, old, ask, &held, out))
		return;
	*o = (struct order){.state = ORDER_HELD,
	                    .nth = order_nth(m, ask->id),
	                    .ask = *ask,
	                    .made = model_now(m),
	                    .confirmed = old ? old->confirmed : 0,
	                    .on_hold = old && old->on_hold,
	                    .told = ask->told_s ? model_now(m) - ask->told_s * INT64_C(1000000) : 0,
	                    .customer = ask->customer,
	                    .fault = out->fault,
	                    .second = out->second,
	                    .limited = out->limited,
	                    .wish_short = out->wish,
	                    .wish_limited = out->wish_limited,
	                    .wish_available = out->wish_available,
	                    .held = held,
	                    .expires_s = m->now_s + ask->ttl_s};
	positions_make(m, old, o);
	if (ask->confirm)
		order_confirm(m, o);
	if (old) {
		positions_leave(m, old);
		units_return(m, old);
		old->state = ORDER_RELEASED;
		old->replaced_by = ask->id + 1;
	}
	units_hold(m, o);
	out->status = 201;
	out->order = o;
}

/* Lines that wait cannot leave. */
static bool refuse_waiting(const struct model *m, const struct cells *lines, struct verdict *out)
{
	EACH_CELL(s, p)
	if (m->kind[p] == INCOMING && lines->named[s][p])
		fault_set(out, s, p, 0, 0);
	faults_named(out, NULL, NULL);
	if (has_fault(out))
		refuse(out, 409, "waiting");
	return has_fault(out);
}

static bool refuse_claimed(const struct order *o, const struct ask *ask, struct verdict *out)
{
	if (!o->claimed || ask->force)
		return false;
	refuse(out, 409, "claimed");
	return true;
}

static bool refuse_on_hold(const struct order *o, bool force, struct verdict *out)
{
	if (!o->on_hold || force)
		return false;
	refuse(out, 409, "on_hold");
	return true;
}

static bool refuse_not_in_order(const struct order *first, const struct ask *ask, struct verdict *out)
{
	EACH_CELL(s, p)
	if (ask->lines.named[s][p] && ask->lines.qty[s][p] > first->held.qty[s][p])
		fault_set(out, s, p, ask->lines.qty[s][p], first->held.qty[s][p]);
	faults_named(out, "requested", "in_order");
	if (has_fault(out))
		refuse(out, 422, "not_in_order");
	return has_fault(out);
}

void split_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id], *first = &m->order[ask->other - 1];

	if (made_again(o, ask, out))
		return;
	if (first->state == ORDER_NONE) {
		refuse(out, 404, "unknown_order");
		return;
	}
	if (first->state != ORDER_CONFIRMED && (first->state != ORDER_HELD || ask->then == THEN_SETTLED)) {
		refuse(out, 409, order_state_name(first->state));
		return;
	}
	if ((ask->then == THEN_SETTLED && (refuse_claimed(first, ask, out) || refuse_on_hold(first, false, out))) ||
	    refuse_not_in_order(first, ask, out) || (ask->then == THEN_SETTLED && refuse_waiting(m, &ask->lines, out)))
		return;
	if (cells_equal(&ask->lines, &first->held)) {
		refuse(out, 422, "nothing_left");
		return;
	}
	first->claimed = false;
	*o = (struct order){.state = first->state,
	                    .nth = order_nth(m, ask->id),
	                    .ask = *ask,
	                    .customer = first->customer,
	                    .held = ask->lines,
	                    .made = first->made,
	                    .confirmed = first->confirmed,
	                    .told = first->told,
	                    .on_hold = first->on_hold,
	                    .tried = first->tried,
	                    .expires_s = first->expires_s};
	EACH_CELL(s, p)
	{
		first->held.qty[s][p] -= ask->lines.qty[s][p];
		first->held.named[s][p] = first->held.qty[s][p] > 0;
	}
	positions_split(m, first, o);
	if (ask->then == THEN_CONFIRMED)
		order_confirm(m, o);
	if (ask->then == THEN_RELEASED) {
		positions_leave(m, o);
		units_return(m, o);
		o->state = ORDER_RELEASED;
	}
	if (ask->then == THEN_SETTLED) {
		units_leave(m, o);
		o->state = ORDER_SETTLED;
	}
	out->status = 201;
	out->order = o;
}

void confirm_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id];

	out->order = o;
	out->status = 200;
	if (o->state == ORDER_CONFIRMED || o->state == ORDER_SETTLED || o->state == ORDER_BURIED) {
		out->replayed = true;
		return;
	}
	if (o->state == ORDER_RELEASED || (o->state == ORDER_EXPIRED && ask->what == ASK_CONFIRM)) {
		refuse(out, 409, order_state_name(o->state));
		return;
	}
	if (o->state == ORDER_EXPIRED) {
		EACH_CELL(s, p)
		if (o->held.qty[s][p] > 0 && model_stopped(m, s, p))
			fault_set(out, s, p, 0, 0);
		if (has_fault(out)) {
			refuse(out, 409, "not_for_sale");
			return;
		}
		for (int s = 0; o->customer && s < MODEL_SKUS; s++)
			if (units_of(&o->held, s) > room_of(m, NULL, o->customer, s))
				limit_fault(m, NULL, o->customer, s, units_of(&o->held, s), out);
		if (out->code)
			return;
		faults_named(out, "requested", "available");
		EACH_CELL(s, p)
		if (o->held.qty[s][p] > m->available[s][p])
			fault_set(out, s, p, o->held.qty[s][p], m->available[s][p]);
		if (has_fault(out)) {
			refuse(out, 409, "short");
			return;
		}
		order_is_swept(m, o);
		units_hold(m, o);
		positions_make(m, NULL, o);
		out->reacquired = true;
	}
	order_confirm(m, o);
}

void release_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id];

	out->order = o;
	out->status = 200;
	if (o->state == ORDER_EXPIRED || o->state == ORDER_SETTLED) {
		refuse(out, 409, order_state_name(o->state));
		return;
	}
	out->replayed = o->state == ORDER_RELEASED;
	if (out->replayed)
		return;
	o->claimed = false;
	positions_leave(m, o);
	units_return(m, o);
	o->state = ORDER_RELEASED;
}

void extend_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id];

	out->order = o;
	out->status = 200;
	if (o->state == ORDER_HELD)
		o->expires_s = m->now_s + ask->ttl_s;
	else
		refuse(out, 409, order_state_name(o->state));
}

/* What the order that made it fell short of is told no more. */
static void order_gets(struct model *m, struct order *o, const struct cells *held)
{
	struct cells had = o->held;

	units_return(m, o);
	o->held = *held;
	units_hold(m, o);
	positions_change(m, o, &had);
	o->fault = o->second = o->limited = (struct cells){0};
	o->wish_short = o->claimed = false;
}

void amend_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id];
	struct ask    asked = *ask;
	struct cells  held = {0};

	asked.customer = o->customer;
	out->order = o;
	out->status = 200;
	out->replayed = cells_equal(&ask->lines, &o->held);
	out->ended = out->replayed && (o->state == ORDER_EXPIRED || o->state == ORDER_RELEASED);
	if (out->ended || (!out->replayed && o->state != ORDER_HELD && o->state != ORDER_CONFIRMED)) {
		refuse(out, 409, order_state_name(o->state));
		return;
	}
	if (out->replayed || refuse_claimed(o, ask, out) || !units_grant(m, o, &asked, &held, out))
		return;
	out->replayed = cells_equal(&held, &o->held);
	if (out->replayed)
		return;
	order_gets(m, o, &held);
	if (o->state == ORDER_HELD && ask->ttl_s)
		o->expires_s = m->now_s + ask->ttl_s;
}

void settle_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id];

	out->order = o;
	out->status = 200;
	out->replayed = o->state == ORDER_SETTLED;
	if (out->replayed)
		return;
	if (o->state != ORDER_CONFIRMED && o->state != ORDER_BURIED) {
		refuse(out, 409, order_state_name(o->state));
		return;
	}
	if (refuse_claimed(o, ask, out) || refuse_on_hold(o, ask->force, out) || refuse_waiting(m, &o->held, out))
		return;
	units_leave(m, o);
	o->claimed = false;
	o->state = ORDER_SETTLED;
}

void kick_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id];

	out->order = o;
	out->status = 200;
	if (o->state == ORDER_BURIED)
		o->state = ORDER_CONFIRMED;
	else
		refuse(out, 409, order_state_name(o->state));
}

void hold_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id];

	out->order = o;
	out->status = 200;
	if (!order_lives(o)) {
		refuse(out, 409, order_state_name(o->state));
		return;
	}
	out->replayed = o->on_hold;
	if (!o->on_hold && !refuse_claimed(o, ask, out))
		o->on_hold = true;
}

void let_go_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id];

	out->order = o;
	out->status = 200;
	out->replayed = !o->on_hold || !order_lives(o);
	if (!out->replayed)
		o->on_hold = false;
}

void get_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	out->order = &m->order[ask->id];
	out->status = 200;
}
