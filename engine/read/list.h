/* list.h - reservations and movements: by id, or page by page. Each fills op->outcome and its answer; the result says
 * whether the database answered. */
#ifndef LIST_H
#define LIST_H

#include "engine/op.h"

/* Answers OP_GET: reservations by their order_id, those of all `ops` in one statement, and their kin (kin.h). */
enum db_result list_found(struct db *db, struct op **ops, size_t count) MUST_CHECK;
/* Answers OP_FIND: the orders of its ids, in their order. */
enum db_result list_by_ids(struct db *db, struct op *op) MUST_CHECK;
enum db_result list_movement(struct db *db, struct op *op) MUST_CHECK;  /* one, by its id */
enum db_result list_movements(struct db *db, struct op *op) MUST_CHECK; /* movements of a sku */
/* Reservations: all, or those in a state; where the op has a line those that hold its sku (location_code NULL:
 * anywhere), which are held, confirmed or buried. */
enum db_result list_reservations(struct db *db, struct op *op) MUST_CHECK;

#endif
