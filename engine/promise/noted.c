/* noted.c - see noted.h. */
#include "engine/promise/noted.h"

void noted_follow(struct txn *t, struct reservation *const *list, size_t count)
{
	struct values ids = {0};

	for (size_t i = 0; i < count; i++)
		if (list[i]->noted & NOTED_TEXTS)
			values_row(&ids, V_INT(list[i]->reservation_id));
	txn_rows(t, NOTE_STATES, &ids);
	values_fini(&ids);
}
