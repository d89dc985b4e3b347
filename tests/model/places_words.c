/* places_words.c - see places_words.h. */
#include "tests/model/places_words.h"

const char *const pm_places[PM_PLACES] = {"bo", "main", "po", "qc", "west"};

const char *pm_state_name(enum pm_state state)
{
	const char *const names[] = {"none", "held", "confirmed", "buried", "released", "expired", "settled"};

	return names[state];
}

/* ---- what comes back */

void pm_spots_add(struct text *to, const int64_t qty[PM_SKUS][PM_PLACES])
{
	int lines = 0;

	EACH_SPOT(s, p)
	if (qty[s][p] != 0) {
		text_format(to, " %c@%s=%lld", 'A' + s, pm_places[p], (long long)qty[s][p]);
		lines++;
	}
	text_format(to, " lines=%d", lines);
}

void pm_order_words(const struct pm *m, int id, struct text *to)
{
	const struct pm_order *o = &m->order[id];
	int                    line = 0;

	text_format(to, "200 %s", pm_state_name(o->state));
	pm_spots_add(to, o->units);
	EACH_SPOT(s, p)
	if (o->units[s][p] > 0) {
		bool waits = pm_lives(o) && m->kind[p] == PM_INCOMING;

		text_format(to, waits ? " lines[%d].waiting=true" : " !lines[%d].waiting", line++);
	}
}

void pm_sku_words(const struct pm *m, int s, struct text *to)
{
	int64_t available[3] = {0}, reserved[3] = {0};

	for (int p = 0; p < PM_PLACES; p++) {
		available[m->kind[p]] += m->available[s][p];
		reserved[m->kind[p]] += m->reserved[s][p];
	}
	text_format(to, "200 available=%lld reserved=%lld on_hand=%lld", (long long)available[PM_STOCK],
	            (long long)reserved[PM_STOCK],
	            (long long)(available[PM_STOCK] + reserved[PM_STOCK] + available[PM_ASIDE]));
	if (available[PM_ASIDE])
		text_format(to, " aside=%lld", (long long)available[PM_ASIDE]);
	else
		text_add(to, " !aside");
	if (available[PM_INCOMING] + reserved[PM_INCOMING])
		text_format(to, " incoming.available=%lld incoming.reserved=%lld", (long long)available[PM_INCOMING],
		            (long long)reserved[PM_INCOMING]);
	else
		text_add(to, " !incoming");
	for (int p = 0; p < PM_PLACES; p++)
		if (m->available[s][p] + m->reserved[s][p])
			text_format(to, " @%s available=%lld reserved=%lld", pm_places[p],
			            (long long)m->available[s][p], (long long)m->reserved[s][p]);
}

void pm_line_words(const struct pm *m, int s, int p, struct text *to)
{
	int ids[PM_ORDERS], n = pm_line(m, s, p, ids);

	text_add(to, "200 end items=");
	for (int i = 0; i < n; i++)
		text_format(to, "%sR%d", i ? "," : "", ids[i]);
	for (int i = 0; i < n; i++)
		text_format(to, " items[%d].qty=%lld items[%d].state=%s", i, (long long)m->order[ids[i]].units[s][p], i,
		            pm_state_name(m->order[ids[i]].state));
}

/* ---- calls */

static void order_lines(const struct pm_ask *a, struct text *to)
{
	const struct pm_choice *c = &a->choice;

	EACH_SPOT(s, p)
	if (a->named[s][p])
		text_format(to, " %c@%s=%lld", 'A' + s, pm_places[p], (long long)a->qty[s][p]);
	if (c->qty)
		text_format(to, " %c@%s%c%s=%lld", 'A' + c->sku, pm_places[c->first], c->may_split ? '+' : ',',
		            pm_places[c->second], (long long)c->qty);
}

static void movement_lines(const struct pm_ask *a, struct text *to)
{
	EACH_SPOT(s, p)
	{
		if (!a->named[s][p])
			continue;
		text_format(to, a->call == PM_COUNT ? " %c@%s=%lld" : " %c@%s %+lld", 'A' + s, pm_places[p],
		            (long long)a->qty[s][p]);
		if (a->may_lose[s][p])
			text_add(to, " short=backorder");
		if (a->may_lose[s][p] && a->lost_to[s][p] >= 0)
			text_format(to, " to=%s", pm_places[a->lost_to[s][p]]);
	}
}

static void change_words(const struct pm_ask *a, struct text *to)
{
	static const char *const verbs[] = {
		[PM_CONFIRM] = "confirm", [PM_REACQUIRE] = "confirm", [PM_RELEASE] = "release",
		[PM_EXTEND] = "extend",   [PM_SETTLE] = "settle",     [PM_KICK] = "kick",
	};

	text_format(to, "%s R%d", verbs[a->call], a->id);
	if (a->call == PM_REACQUIRE)
		text_add(to, " reacquire");
	if (a->call == PM_EXTEND)
		text_format(to, " ttl=%d", a->ttl_s);
	if (a->call == PM_SETTLE && a->force)
		text_add(to, " force=true");
}

void pm_words(const struct pm_ask *a, struct text *to)
{
	static const char *const verbs[] = {
		[PM_RECEIPT] = "receipt", [PM_ADJUST] = "adjust",     [PM_RETURN] = "return",
		[PM_COUNT] = "count",     [PM_TRANSFER] = "transfer", [PM_ARRIVAL] = "arrival",
	};

	if (a->call >= PM_RECEIPT) {
		text_format(to, "%s M%d", verbs[a->call], a->id);
		movement_lines(a, to);
		for (int i = 0; i < a->ends; i++)
			text_format(to, " %c@%s>%s=%lld", 'A' + a->end[i].sku, pm_places[a->end[i].from],
			            pm_places[a->end[i].to], (long long)a->end[i].qty);
	} else if (a->call == PM_SPLIT) {
		text_format(to, "split R%d R%d", a->other, a->id);
		order_lines(a, to);
		if (a->then)
			text_format(to, " then=%s",
			            a->then == PM_CONFIRMED  ? "confirm"
			            : a->then == PM_RELEASED ? "release"
			                                     : "settle");
		if (a->force)
			text_add(to, " force=true");
	} else if (a->call == PM_RESERVE) {
		text_format(to, "reserve R%d", a->id);
		order_lines(a, to);
		text_format(to, " ttl=%d%s%s", a->ttl_s, a->confirm ? " confirm=true" : "",
		            a->best_effort ? " mode=best_effort" : "");
		if (a->other >= 0)
			text_format(to, " replaces=R%d", a->other);
		if (a->told_s)
			text_format(to, " waits_since=-%d", a->told_s);
	} else {
		change_words(a, to);
	}
}
