/* together.c - see together.h. A call that is refused is undone by what was there before it. */
#include "tests/model/together.h"

#include "engine/base/memory.h"
#include "tests/model/meets.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- making one */

static bool names(const struct ask *a, int id)
{
	return a->id == id || a->other == id + 1;
}

static bool meet(const struct ask *a, const struct ask *b)
{
	return names(a, b->id) || (b->other && names(a, b->other - 1));
}

static bool any_meets(const struct ask *asks, int n, const struct ask *one)
{
	for (int i = 0; i < n; i++)
		if (meet(&asks[i], one))
			return true;
	return false;
}

static void wish_drop(struct maker *k, struct ask *a)
{
	bool any = false;

	if (a->what != ASK_RESERVE || k->model->order[a->id].state != ORDER_NONE)
		return;
	a->wish = (struct wish){0};
	EACH_CELL(s, p)
	any |= a->lines.named[s][p];
	a->lines.named[0][MAIN] |= !any;
	a->lines.qty[0][MAIN] += !any;
}

int together_make(struct maker *k, struct ask *asks, int n)
{
	int kept = 0;

	for (int i = 0; i < n && kept < TOGETHER_MAX; i++) {
		if (any_meets(asks, kept, &asks[i]) && chance(k, 40))
			continue;
		asks[kept] = asks[i];
		wish_drop(k, &asks[kept++]);
	}
	return kept;
}

void together_wire(struct call *to)
{
	to->body.len--;
	text_add(&to->body, ",\"atomic\":true}");
}

/* ---- doing it */

/* What a call may change. */
struct before {
	struct model *head; /* the members before the orders */
	struct order  order[2 * TOGETHER_MAX];
	int           id[2 * TOGETHER_MAX], count;
};

static void before_keep(struct before *b, const struct model *m, const struct ask *asks, int n)
{
	b->head = mem_alloc(offsetof(struct model, order));
	memcpy(b->head, m, offsetof(struct model, order));
	for (int i = 0; i < n; i++) {
		b->id[b->count++] = asks[i].id;
		if (asks[i].other)
			b->id[b->count++] = asks[i].other - 1;
	}
	for (int i = 0; i < b->count; i++)
		b->order[i] = m->order[b->id[i]];
}

static void before_return(const struct before *b, struct model *m)
{
	memcpy(m, b->head, offsetof(struct model, order));
	for (int i = 0; i < b->count; i++)
		m->order[b->id[i]] = b->order[i];
}

/* By an earlier call, whatever became of the order since. */
static bool was_done(const struct model *m, const struct ask *a, const struct verdict *v)
{
	bool confirms = a->what == ASK_CONFIRM || a->what == ASK_REACQUIRE;

	return v->replayed || (confirms && v->code && strcmp(v->code, "released") == 0 && m->order[a->id].confirmed);
}

static int together_do(struct model *m, const struct ask *asks, int n, struct verdict *v)
{
	struct before b = {0};
	bool          each = true, before = true, wrong = false;

	before_keep(&b, m, asks, n);
	for (int i = 0; i < n; i++) {
		wrong |= any_meets(asks, i, &asks[i]);
		if (wrong)
			break;
		model_do(m, &asks[i], &v[i]);
		wrong |= v[i].status == 400;
		each &= !v[i].code || v[i].replayed;
		before &= was_done(m, &asks[i], &v[i]);
	}
	if (wrong || (!each && !before))
		before_return(&b, m);
	free(b.head);
	return wrong ? 400 : each || before ? 200 : 409;
}

/* ---- comparing */

static bool is_refused(const cJSON *root, int status, const char *code)
{
	const cJSON *has = cJSON_GetObjectItemCaseSensitive(root, "code");
	const cJSON *says = cJSON_GetObjectItemCaseSensitive(root, "status");

	return cJSON_IsString(has) && strcmp(has->valuestring, code) == 0 && cJSON_IsNumber(says) &&
	       says->valueint == status;
}

static bool result_meets(const cJSON *result, int status, const struct ask *a, const struct verdict *v,
                         const struct model *m, struct text *why)
{
	if (status == 200 || (v->code && !v->replayed))
		return meets_result(result, a, v, m, why);
	if (!is_refused(result, 424, "not_done"))
		text_format(why, "O%d: the model says not_done", a->id);
	return why->len == 0;
}

bool together_meets(const struct answer *a, struct model *m, const struct ask *asks, int n, struct text *why)
{
	struct verdict v[TOGETHER_MAX];
	int            status = together_do(m, asks, n, v);
	const cJSON   *results = cJSON_GetObjectItemCaseSensitive(a->json, "results");
	const cJSON   *result = results ? results->child : NULL;

	if (a->status != status || (status == 400 && !is_refused(a->json, 400, "invalid_request")) ||
	    (status == 409 && !is_refused(a->json, 409, "not_all")) ||
	    cJSON_GetArraySize(results) != (status == 400 ? 0 : n))
		text_format(why, "the model says %d of the whole call", status);
	for (int i = 0; why->len == 0 && status != 400 && i < n; i++, result = result->next)
		if (!result_meets(result, status, &asks[i], &v[i], m, why))
			break;
	return why->len == 0;
}
