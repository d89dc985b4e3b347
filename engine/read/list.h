/* list.h - lists and totals, read on the reader's connection. Each fills op->outcome and what op->kind answers with;
 * the result says whether the database answered. Lists take one operation at a time: count is 1. */
#ifndef LIST_H
#define LIST_H

#include "engine/base/base.h"
#include "engine/catalogue.h"
#include "engine/db/db.h"
#include "engine/engine.h"

void op_forget(struct op *op); /* op.c: what a list read so far, before it is tried again */

/* Reservations by their order_id. */
enum db_result list_found(struct db *db, struct catalogue *c, struct op **ops, size_t count) MUST_CHECK;
/* The totals of all skus that these operations name, in one statement; they go into the catalogue as well. */
enum db_result list_totals(struct db *db, struct catalogue *c, struct op **ops, size_t count) MUST_CHECK;
enum db_result list_skus(struct db *db, struct catalogue *c, struct op **ops, size_t count) MUST_CHECK;
enum db_result list_movements(struct db *db, struct catalogue *c, struct op **ops, size_t count) MUST_CHECK;
enum db_result list_reservations(struct db *db, struct catalogue *c, struct op **ops, size_t count) MUST_CHECK;

/* ---- between list.c and totals.c */
struct op *the_one(struct op **ops, size_t count);
/* Enters the skus that these operations name into the catalogue, those that exist. */
enum db_result skus_find(struct db *db, struct catalogue *c, struct op **ops, size_t count) MUST_CHECK;

#endif
