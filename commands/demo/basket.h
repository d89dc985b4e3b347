/* basket.h - the customer and the lines of an order of the made-up shop. A number always gives the same order. Pure. */
#ifndef BASKET_H
#define BASKET_H

#include "engine/base/json.h"

enum { BASKET_LINES = 4 };

struct basket {
	char id[24], customer[24]; /* of the order */
	int  lines;
	struct {
		int good, qty; /* the first line has two units at least */
	} line[BASKET_LINES];
};

/* Where the units of an order come from. */
enum way { FROM_MAIN, FROM_STORE, BACKORDER, PREORDER };

/* BACKORDER and PREORDER are for one scarce good. */
struct basket basket_fill(int64_t number, enum way way);
/* Adds the members order_id, customer and lines of a reservation. */
void basket_write(struct json_writer *w, const struct basket *b, enum way way);
void order_id_write(char *to, size_t size, int64_t number);
/* The number of the order with this id; -1: the demo makes no id of this form. */
int64_t order_number(const char *id);

#endif
