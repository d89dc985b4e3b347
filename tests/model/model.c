/* model.c - see model.h. */
#include "tests/model/verdict.h"

#include <string.h>

const char *order_state_name(enum order_state state)
{
	static const char *const names[] = {"none", "held", "confirmed", "released", "expired", "settled"};

	return names[state];
}

static bool wish_equal(const struct wish *a, const struct wish *b)
{
	bool same = a->places == b->places && a->sku == b->sku && a->may_split == b->may_split && a->qty == b->qty;

	for (int i = 0; same && i < a->places; i++)
		same = a->place[i] == b->place[i];
	return same;
}

static bool refuse_unknown(const struct model *m, const struct ask *ask, struct verdict *out)
{
	bool unknown[MODEL_SKUS];

	for (int s = 0; s < MODEL_SKUS; s++)
		unknown[s] = !m->known[s];
	return refuse_skus(unknown, "unknown_sku", ask, out);
}

/* ---- units of an order */

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

/* The customer has them. */
static void units_leave(struct model *m, const struct order *o)
{
	EACH_CELL(s, p)
	m->reserved[s][p] -= o->held.qty[s][p];
}

/* From here on it is known where the units of an expired order are. */
static void order_is_swept(struct model *m, struct order *o)
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

void model_tick(struct model *m, int64_t seconds)
{
	m->now_s += seconds;
	for (int i = 0; i < MODEL_IDS; i++) {
		struct order *o = &m->order[i];

		if (o->state != ORDER_HELD || o->expires_s > m->now_s)
			continue;
		o->state = ORDER_EXPIRED;
		o->unswept = true;
		units_return(m, o);
		EACH_CELL(s, p)
		{
			m->unswept[s][p] += o->held.qty[s][p];
			m->has_unswept[o->customer][s] += o->held.qty[s][p];
		}
	}
}

/* A hold is swept as a whole: where all is available, none of those that have units there waits to be swept. */
bool model_sees(struct model *m, int sku, int place, int64_t available)
{
	int64_t most = m->available[sku][place];

	if (available > most || available < most - m->unswept[sku][place])
		return false;
	for (int i = 0; available == most && m->unswept[sku][place] > 0 && i < MODEL_IDS; i++)
		if (m->order[i].unswept && m->order[i].held.qty[sku][place] > 0)
			order_is_swept(m, &m->order[i]);
	return true;
}

/* ---- reservations */

static bool made_equal(const struct ask *a, const struct ask *b)
{
	return a->what == b->what && a->other == b->other && a->then == b->then && a->customer == b->customer &&
	       cells_equal(&a->lines, &b->lines) && wish_equal(&a->wish, &b->wish);
}

/* The id is there already. */
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
	return true;
}

static bool refuse_replaced(const struct order *old, const struct ask *ask, struct verdict *out)
{
	if (!old || old->state == ORDER_HELD || (old->state == ORDER_CONFIRMED && ask->confirm))
		return false;
	if (old->state == ORDER_NONE)
		refuse(out, 422, "unknown_order");
	else
		refuse(out, 409, order_state_name(old->state));
	return true;
}

/* What this order may have: what is available, and what the order has that it replaces. */
static void there_are(const struct model *m, const struct order *old, struct cells *there)
{
	EACH_CELL(s, p)
	there->qty[s][p] = m->available[s][p] + (old ? old->held.qty[s][p] : 0);
}

/* ---- of which a customer may have so many */

/* Of the units that he has, those that the new order takes over. */
static int64_t kept(const struct order *old, int customer, int s)
{
	return old && old->customer == customer ? units_of(&old->held, s) : 0;
}

/* The units of a sku that a new order may have. Nobody has to give back what he has. */
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

/* Of all or nothing. */
static bool refuse_beyond(const struct model *m, const struct order *old, const struct ask *ask, struct verdict *out)
{
	bool limited[MODEL_SKUS];

	for (int s = 0; s < MODEL_SKUS; s++) {
		limited[s] = m->limit[s];
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

/* ---- and of which there are so many */

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

static void reserve_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id], *old = ask->other ? &m->order[ask->other - 1] : NULL;
	struct cells  there = {0}, held = {0};
	int64_t       room[MODEL_SKUS];
	bool          any = false;

	if (made_again(o, ask, out) || refuse_replaced(old, ask, out) || refuse_unknown(m, ask, out) ||
	    refuse_beyond(m, old, ask, out))
		return;
	there_are(m, old, &there);
	for (int s = 0; s < MODEL_SKUS; s++)
		room[s] = room_of(m, old, ask->customer, s);
	lines_do(&there, ask, room, &held, out);
	wish_do(&there, ask, room[ask->wish.sku], &held, out);
	EACH_CELL(s, p)
	any |= held.named[s][p];
	if (!any && refuse_all_beyond(m, old, ask, out))
		return;
	if ((has_fault(out) && !ask->best_effort) || !any) {
		refuse(out, 409, "short");
		return;
	}
	if (old) {
		units_return(m, old);
		old->state = ORDER_RELEASED;
		old->replaced_by = ask->id + 1;
	}
	*o = (struct order){.state = ask->confirm ? ORDER_CONFIRMED : ORDER_HELD,
	                    .ask = *ask,
	                    .customer = ask->customer,
	                    .fault = out->fault,
	                    .second = out->second,
	                    .limited = out->limited,
	                    .wish_short = out->wish,
	                    .wish_limited = out->wish_limited,
	                    .wish_available = out->wish_available,
	                    .held = held,
	                    .confirmed = ask->confirm,
	                    .expires_s = m->now_s + ask->ttl_s};
	units_hold(m, o);
	out->status = 201;
	out->order = o;
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

static void split_do(struct model *m, const struct ask *ask, struct verdict *out)
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
	if (refuse_not_in_order(first, ask, out))
		return;
	if (cells_equal(&ask->lines, &first->held)) {
		refuse(out, 422, "nothing_left");
		return;
	}
	*o = (struct order){.state = first->state,
	                    .ask = *ask,
	                    .customer = first->customer,
	                    .held = ask->lines,
	                    .confirmed = first->confirmed || ask->then == THEN_CONFIRMED,
	                    .expires_s = first->expires_s};
	EACH_CELL(s, p)
	{
		first->held.qty[s][p] -= ask->lines.qty[s][p];
		first->held.named[s][p] = first->held.qty[s][p] > 0;
	}
	if (ask->then == THEN_CONFIRMED)
		o->state = ORDER_CONFIRMED;
	if (ask->then == THEN_RELEASED) {
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

static void confirm_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id];

	out->order = o;
	out->status = 200;
	if (o->state == ORDER_CONFIRMED || o->state == ORDER_SETTLED) {
		out->replayed = true;
		return;
	}
	if (o->state == ORDER_RELEASED || (o->state == ORDER_EXPIRED && ask->what == ASK_CONFIRM)) {
		refuse(out, 409, order_state_name(o->state));
		return;
	}
	if (o->state == ORDER_EXPIRED) {
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
		out->reacquired = true;
	}
	o->state = ORDER_CONFIRMED;
	o->confirmed = true;
}

static void release_do(struct model *m, const struct ask *ask, struct verdict *out)
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
	units_return(m, o);
	o->state = ORDER_RELEASED;
}

static void extend_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id];

	out->order = o;
	out->status = 200;
	if (o->state == ORDER_HELD)
		o->expires_s = m->now_s + ask->ttl_s;
	else
		refuse(out, 409, order_state_name(o->state));
}

static void settle_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	struct order *o = &m->order[ask->id];

	out->order = o;
	out->status = 200;
	out->replayed = o->state == ORDER_SETTLED;
	if (out->replayed)
		return;
	if (o->state != ORDER_CONFIRMED) {
		refuse(out, 409, order_state_name(o->state));
		return;
	}
	units_leave(m, o);
	o->state = ORDER_SETTLED;
}

/* Nothing is ever buried here, because that takes workers. */
static void kick_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	refuse(out, 409, order_state_name(m->order[ask->id].state));
}

static void get_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	out->order = &m->order[ask->id];
	out->status = 200;
}

/* ---- movements */

static bool moved_equal(const struct ask *a, const struct ask *b)
{
	return a->what == b->what && a->reason == b->reason && a->other == b->other &&
	       cells_equal(&a->lines, &b->lines) && cells_equal(&a->expected, &b->expected);
}

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

/* What a movement changes, or which lines would take more than there is. */
static bool refuse_short(const struct model *m, const struct ask *ask, struct cells *change, struct verdict *out)
{
	bool count = ask->what == ASK_COUNT;

	EACH_CELL(s, p)
	{
		if (!ask->lines.named[s][p])
			continue;
		change->named[s][p] = true;
		change->qty[s][p] = ask->lines.qty[s][p] - (count ? m->available[s][p] + m->reserved[s][p] : 0);
		if (m->available[s][p] + change->qty[s][p] >= 0)
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

static void move_do(struct model *m, const struct ask *ask, struct verdict *out)
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
	    refuse_mismatch(m, ask, out) || refuse_over(of, ask, out) || refuse_short(m, ask, &change, out) ||
	    refuse_limit(m, &change, out))
		return;
	EACH_CELL(s, p)
	{
		m->known[s] |= ask->lines.named[s][p];
		m->available[s][p] += change.qty[s][p];
		if (of) {
			of->returned[s] += change.qty[s][p];
			m->has[of->customer][s] -= change.qty[s][p];
		}
	}
	*v = (struct moved){.made = true, .ask = *ask, .lines = change};
	out->status = 201;
	out->moved = v;
}

bool model_limit(struct model *m, int sku, int64_t limit)
{
	bool is_new = !m->known[sku];

	m->known[sku] = true;
	m->limit[sku] = limit;
	return is_new;
}

void model_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	static void (*const deeds[ASKED])(struct model *, const struct ask *, struct verdict *) = {
		[ASK_RECEIPT] = move_do,      [ASK_ADJUSTMENT] = move_do, [ASK_RETURN] = move_do,
		[ASK_COUNT] = move_do,        [ASK_RESERVE] = reserve_do, [ASK_CONFIRM] = confirm_do,
		[ASK_REACQUIRE] = confirm_do, [ASK_RELEASE] = release_do, [ASK_EXTEND] = extend_do,
		[ASK_KICK] = kick_do,         [ASK_GET] = get_do,         [ASK_SPLIT] = split_do,
		[ASK_SETTLE] = settle_do,
	};

	*out = (struct verdict){0};
	if (ask->wrong || (ask->what >= ASK_RESERVE && ask->other == ask->id + 1))
		refuse(out, 400, "invalid_request");
	else if (ask->what >= ASK_CONFIRM && m->order[ask->id].state == ORDER_NONE)
		refuse(out, 404, "unknown_order");
	else
		deeds[ask->what](m, ask, out);
}
