/* customers.c - see customers.h. Rows are locked first, all in their order. */
#include "engine/write/customers.h"
#include "engine/write/fence.h"

/* Locks the rows that change, also those that are lowered alone. */
static void rows_lock(struct lane *l, const struct portions *p)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < p->count; i++)
		values_row(&l->rows, V_TEXT(p->list[i].customer), V_INT(p->list[i].sku_id));
	txn_run(&l->txn, CUSTOMER_LOCK, &(struct fill){.rows = &l->rows});
}

static void rows_raise(struct lane *l, const struct portions *p)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].raised > 0)
			values_row(&l->rows, V_TEXT(p->list[i].customer), V_INT(p->list[i].sku_id),
			           V_INT(p->list[i].raised));
	assert(l->rows.rows > 0);
	txn_run(&l->txn, CUSTOMER_RAISE, &(struct fill){.rows = &l->rows});
	txn_expect(&l->txn, 2 * l->rows.rows, TXN_BEYOND);
}

static bool any_raised(const struct portions *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].raised > 0)
			return true;
	return false;
}

void customers_write(struct lane *l, struct portions *p)
{
	if (p->count == 0)
		return;
	portions_sum(p);
	if (!any_raised(p)) {
		portions_write_lowered(&l->txn, &l->rows, p, CUSTOMER_LOWER);
		return;
	}
	rows_lock(l, p);
	portions_write_lowered(&l->txn, &l->rows, p, CUSTOMER_LOWER_LOCKED);
	rows_raise(l, p);
}
