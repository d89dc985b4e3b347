/* totals.h - totals of skus, by code or page by page. Each function fills op->outcome and the query. */
#ifndef TOTALS_H
#define TOTALS_H

#include "engine/op.h"

/* Answers OP_TOTALS: the totals of all skus that these operations name, in one statement; they go into the catalogue as
 * well. */
enum db_result totals_answer(struct db *db, struct catalogue *c, struct op **ops, size_t count) MUST_CHECK;
enum db_result totals_page(struct db *db, struct catalogue *c, struct op *op) MUST_CHECK; /* OP_LIST_SKUS */
/* Enters the skus that these operations name into the catalogue, if they exist. */
enum db_result skus_find(struct db *db, struct catalogue *c, struct op **ops, size_t count) MUST_CHECK;

#endif
