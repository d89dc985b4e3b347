/* waiting.c - see waiting.h. */
#include "engine/promise/waiting.h"

static void waiting_run(struct txn *t, enum statement name, struct reservation *const *list, size_t count)
{
	struct values ids = {0};

	for (size_t i = 0; i < count; i++)
		if (lines_wait(list[i]->lines, list[i]->lines_count))
			values_row(&ids, V_INT(list[i]->reservation_id));
	txn_rows(t, name, &ids);
	values_fini(&ids);
}

void waiting_end(struct txn *t, struct reservation *const *list, size_t count)
{
	waiting_run(t, WAITING_END, list, count);
}

void waiting_put_aside(struct txn *t, struct reservation *const *list, size_t count)
{
	waiting_run(t, RESERVATION_WAIT, list, count);
}

void waiting_trim(struct txn *t, const struct values *ids)
{
	txn_run(t, WAITING_TRIM, &(struct fill){.rows = ids});
	txn_run(t, WAITING_RAISE, &(struct fill){.rows = ids});
}
