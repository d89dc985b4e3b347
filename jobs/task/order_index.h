/* order_index.h - orders by their ids: rows, or a worker's reports. A call names 5,000 orders at most,
 * and every pair of them compared took seconds. The list outlives its index. */
#ifndef ORDER_INDEX_H
#define ORDER_INDEX_H

#include "engine/rows.h"

/* Zero-initialised it is empty. */
struct order_index {
	struct order_place {
		const char *id;
		const void *of; /* the row, or the element */
	} * list;               /* sorted by id */
	size_t count;
};
struct order_index order_index_rows(const struct reservation_reader *in);
/* Of a list of elements that begin with the id, of this size. */
struct order_index order_index_list(const void *list, size_t count, size_t size);
void               order_index_fini(struct order_index *x);

/* NULL: the list lacks this id. Of two elements with one id the first counts. */
const struct reservation *order_index_row(const struct order_index *rows, const char *order_id);
const void               *order_index_find(const struct order_index *x, const char *order_id);

#endif
