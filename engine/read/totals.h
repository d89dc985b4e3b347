/* totals.h - totals of skus by code, or of one customer. Functions that answer fill op->outcome and the answer. */
#ifndef TOTALS_H
#define TOTALS_H

#include "engine/op.h"

/* Answers OP_TOTALS: the totals of all skus that these operations name, in one statement; they go into the catalogue as
 * well. */
enum db_result totals_answer(struct db *db, struct op **ops, size_t count) MUST_CHECK;
/* Answers OP_STOCK: the totals and details of its lines' skus at its places, from one statement. Memory learns nothing
 * of it: it may be a part. */
enum db_result totals_by_place(struct db *db, struct op *op) MUST_CHECK;
/* Answers OP_GET_CUSTOMER: what one customer has of the sku of the first line. */
enum db_result totals_of_customer(struct db *db, struct op *op) MUST_CHECK;
/* Reads the totals and the details of these skus into the catalogue. Their numbers are those of `past`. */
enum db_result totals_read(struct db *db, unsigned past, const struct values *ids, bool detailed,
                           struct sku_details *details) MUST_CHECK;
/* Adds the totals of a sku that the catalogue has behind the `used` totals of a query, which has room for *max. Returns
 * their number. */
size_t totals_append(struct catalogue *c, struct query *q, struct sku *sku, size_t used, size_t *max);
/* Enters the skus that these operations name into the catalogue, if they exist. */
enum db_result skus_find(struct db *db, struct op **ops, size_t count) MUST_CHECK;

#endif
