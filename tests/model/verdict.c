/* verdict.c - see verdict.h. */
#include "tests/model/verdict.h"

bool cells_equal(const struct cells *a, const struct cells *b)
{
	EACH_CELL(s, p)
	if (a->named[s][p] != b->named[s][p] || (a->named[s][p] && a->qty[s][p] != b->qty[s][p]))
		return false;
	return true;
}

bool wish_equal(const struct wish *a, const struct wish *b)
{
	bool same = a->places == b->places && a->sku == b->sku && a->may_split == b->may_split && a->qty == b->qty;

	for (int i = 0; same && i < a->places; i++)
		same = a->place[i] == b->place[i];
	return same;
}

int64_t units_of(const struct cells *cells, int s)
{
	int64_t units = 0;

	for (int p = 0; p < MODEL_PLACES; p++)
		units += cells->qty[s][p];
	return units;
}

int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void refuse(struct verdict *out, int status, const char *code)
{
	out->status = status;
	out->code = code;
}

void fault_set(struct verdict *out, int s, int p, int64_t first, int64_t second)
{
	out->fault.named[s][p] = true;
	out->fault.qty[s][p] = first;
	out->second.qty[s][p] = second;
}

void faults_named(struct verdict *out, const char *first, const char *second)
{
	out->first_name = first;
	out->second_name = second;
}

bool has_fault(const struct verdict *out)
{
	EACH_CELL(s, p)
	if (out->fault.named[s][p])
		return true;
	return out->wish;
}

bool refuse_skus(const bool *wrong, const char *code, const struct ask *ask, struct verdict *out)
{
	EACH_CELL(s, p)
	if (ask->lines.named[s][p] && wrong[s])
		fault_set(out, s, p, 0, 0);
	if (ask->wish.places && wrong[ask->wish.sku])
		out->wish = &ask->wish;
	for (int i = 0; i < ask->ends; i++)
		if (wrong[ask->end[i].sku]) {
			fault_set(out, ask->end[i].sku, ask->end[i].from, 0, 0);
			fault_set(out, ask->end[i].sku, ask->end[i].to, 0, 0);
		}
	if (has_fault(out))
		refuse(out, 422, code);
	return has_fault(out);
}

bool refuse_unknown(const struct model *m, const struct ask *ask, struct verdict *out)
{
	bool unknown[MODEL_SKUS];

	for (int s = 0; s < MODEL_SKUS; s++)
		unknown[s] = !m->known[s];
	return refuse_skus(unknown, "unknown_sku", ask, out);
}
