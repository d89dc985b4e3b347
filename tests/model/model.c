/* model.c - see model.h. */
#include "tests/model/model.h"

#include "tests/model/movement.h"
#include "tests/model/order.h"
#include "tests/model/positions.h"

/* ---- time */

void model_tick(struct model *m, int64_t seconds)
{
	m->now_s += seconds;
	for (int i = 0; i < m->ids; i++)
		if (m->order[i].state == ORDER_HELD && m->order[i].expires_s <= m->now_s)
			order_expire(m, &m->order[i]);
}

/* A hold is swept as a whole: if all units are available at a place, no hold with units there waits to be swept. */
bool model_sees(struct model *m, int sku, int place, int64_t available)
{
	int64_t most = m->available[sku][place];

	if (available > most || available < most - m->unswept[sku][place])
		return false;
	for (int i = 0; available == most && m->unswept[sku][place] > 0 && i < m->ids; i++)
		if (m->order[i].unswept && m->order[i].held.qty[sku][place] > 0)
			order_is_swept(m, &m->order[i]);
	return true;
}

void model_sweep(struct model *m)
{
	for (int i = 0; i < m->ids; i++)
		order_is_swept(m, &m->order[i]);
}

void model_settle(struct model *m)
{
	queues_pull(m);
	assert(positions_agree(m));
	m->calls++;
}

/* ---- settings of skus and places */

bool model_limit(struct model *m, int sku, int64_t limit)
{
	bool is_new = !m->known[sku];

	m->known[sku] = true;
	m->limit[sku] = limit;
	return is_new;
}

bool model_stopped(const struct model *m, int sku, int place)
{
	return m->stopped_sku[sku] || m->stopped_place[place];
}

bool model_stays_open(const struct model *m, const struct ask *ask)
{
	for (int i = 0; ask->what == ASK_ARRIVAL && i < ask->ends; i++)
		if (model_stopped(m, ask->end[i].sku, ask->end[i].to))
			return true;
	return false;
}

bool model_in_use(const struct model *m, int place, enum kind kind)
{
	bool used = false;

	for (int p = 0; p < MODEL_PLACES; p++)
		used |= m->waits_at[p] == place + 1;
	for (int s = 0; s < MODEL_SKUS; s++)
		used |= m->available[s][place] + m->reserved[s][place] > 0;
	return used && m->kind[place] != kind;
}

/* ---- tasks */

int model_claim(struct model *m)
{
	int n = 0;

	for (int i = 0; i < m->ids; i++) {
		struct order *o = &m->order[i];

		o->claimed = o->state == ORDER_CONFIRMED && !order_waits(m, o) && !o->on_hold;
		o->tried |= o->claimed;
		n += o->claimed;
	}
	return n;
}

int model_task_end(struct model *m, enum order_state state)
{
	int n = 0;

	for (int i = 0; i < m->ids; i++) {
		struct order *o = &m->order[i];

		if (!o->claimed)
			continue;
		n++;
		if (state == ORDER_SETTLED)
			units_leave(m, o);
		o->state = state;
		o->claimed = false;
	}
	return n;
}

/* ---- calls */

void model_do(struct model *m, const struct ask *ask, struct verdict *out)
{
	static void (*const deeds[ASKED])(struct model *, const struct ask *, struct verdict *) = {
		[ASK_RECEIPT] = move_do,      [ASK_ADJUSTMENT] = move_do, [ASK_RETURN] = move_do,
		[ASK_COUNT] = move_do,        [ASK_TRANSFER] = move_do,   [ASK_ARRIVAL] = move_do,
		[ASK_RESERVE] = reserve_do,   [ASK_SPLIT] = split_do,     [ASK_CONFIRM] = confirm_do,
		[ASK_REACQUIRE] = confirm_do, [ASK_RELEASE] = release_do, [ASK_EXTEND] = extend_do,
		[ASK_KICK] = kick_do,         [ASK_GET] = get_do,         [ASK_SETTLE] = settle_do,
		[ASK_HOLD] = hold_do,         [ASK_LET_GO] = let_go_do,   [ASK_AMEND] = amend_do,
	};

	*out = (struct verdict){0};
	if (ask->wrong || (ask->what >= ASK_RESERVE && ask->other == ask->id + 1))
		refuse(out, 400, "invalid_request");
	else if (ask->what >= ASK_CONFIRM && m->order[ask->id].state == ORDER_NONE)
		refuse(out, 404, "unknown_order");
	else
		deeds[ask->what](m, ask, out);
}
