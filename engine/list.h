/* list.h - lists and totals, read on the desk's connection. Each fills op->outcome and what op->kind answers with; the
 * result says whether the database answered. */
#ifndef LIST_H
#define LIST_H

#include "lane.h"

void op_forget(struct op *op); /* op.c: what a list read so far, before it is tried again */

/* The totals of all skus that these operations name, in one statement; they go into the catalogue as well. */
enum db_result list_totals(struct db *db, struct catalogue *c, struct op **ops, size_t count) MUST_CHECK;
enum db_result list_skus(struct db *db, struct catalogue *c, struct op *op) MUST_CHECK;
enum db_result list_movements(struct db *db, struct catalogue *c, struct op *op) MUST_CHECK;
enum db_result list_reservations(struct db *db, struct catalogue *c, struct op *op) MUST_CHECK;
enum db_result list_counts(struct db *db, struct catalogue *c, struct op *op) MUST_CHECK;

#endif
