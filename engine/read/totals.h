/* totals.h - totals of skus, by code or page by page, or of one customer. Each function fills op->outcome and the
 * answer. */
#ifndef TOTALS_H
#define TOTALS_H

#include "engine/op.h"

/* Answers OP_TOTALS: the totals of all skus that these operations name, in one statement; they go into the catalogue as
 * well. */
enum db_result totals_answer(struct db *db, struct op **ops, size_t count) MUST_CHECK;
/* Answers OP_STOCK: the totals and details of its lines' skus at its places, from one statement. Memory learns nothing
 * of it: it may be a part. */
enum db_result totals_by_place(struct db *db, struct op *op) MUST_CHECK;
enum db_result totals_page(struct db *db, struct op *op) MUST_CHECK; /* OP_LIST_SKUS */
/* Answers OP_GET_CUSTOMER: what one customer has of the sku of the first line. */
enum db_result totals_of_customer(struct db *db, struct op *op) MUST_CHECK;
/* Enters the skus that these operations name into the catalogue, if they exist. */
enum db_result skus_find(struct db *db, struct op **ops, size_t count) MUST_CHECK;

#endif
