/* stock_call.h - the calls about skus and movements. */
#ifndef API_STOCK_H
#define API_STOCK_H

#include "engine/base/json.h"
#include "engine/op.h"

struct request;

void post_movement(struct request *r);
void get_movement(struct request *r);
void get_sku(struct request *r);
void get_skus(struct request *r);
void get_sku_movements(struct request *r);
void get_customer(struct request *r);
void put_sku(struct request *r);

/* A movement of this kind with room for `count` lines, and for `more` bytes of text. */
struct op *movement_new(enum movement_kind kind, size_t count, size_t more) MUST_CHECK;
/* True: the movement was refused for its line `i`, or for transfer `i` if the ends of a transfer are wrong. */
bool movement_faulty(const struct op *op, size_t i);
/* Writes the members of that line or transfer in the answer. */
void movement_fault_write(struct json_writer *w, const struct op *op, size_t i);

#endif
