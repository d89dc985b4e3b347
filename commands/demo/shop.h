/* shop.h - the calls by which the made-up shop is made and lives. A call that fails is reported and ends the demo:
 * further calls do nothing. One thread. */
#ifndef SHOP_H
#define SHOP_H

#include "commands/demo/basket.h"
#include "commands/demo/caller.h"

struct shop {
	struct caller     *caller;
	struct text        body; /* of the next call, as `w` writes it */
	struct json_writer w;
	int64_t            orders; /* orders that were sent: the number of the next one */
	bool               strict; /* a refusal is a failure; otherwise it is a part of life */
	bool               failed; /* a message has said why */
	bool               away;   /* the last call had no answer, or 503; only while it is not strict */
};
void shop_fini(struct shop *s);

/* Begins a body, an object. */
struct json_writer *shop_body(struct shop *s);
/* Makes the call, with the body that was begun. Returns the status of the answer; 0: there is none. */
int shop_call(struct shop *s, const char *method, const char *path, ...) PRINTF(3, 4);

/* A movement: begun, a line each, sent. Its id is NAME-NUMBER. `reason` NULL: none. */
void shop_movement(struct shop *s, const char *kind, const char *name, int64_t number, const char *reason);
void shop_line(struct shop *s, int good, const char *location, int qty);
void shop_line_between(struct shop *s, int good, const char *from, const char *to, int qty);
void shop_move(struct shop *s);

/* A unit of the first line of a settled order comes back. False: it is refused, as the line was of a scarce good. */
bool shop_comes_back(struct shop *s, int64_t number);

/* A batch of orders: begun, each by the next number, sent. */
struct terms {
	enum way way;
	int      ttl_s; /* 0: as usual */
	bool     confirm;
	int      ship_after_s; /* from now on; 0: at once */
	int      qty;          /* of its first line; 0: as the basket has it */
};
void shop_orders(struct shop *s);
void shop_order(struct shop *s, const struct terms *t);
void shop_sell(struct shop *s);

/* The workers claim up to so many orders. Returns the task, or 0; the answer has its orders. */
int64_t shop_claim(struct shop *s, const char *worker, int orders);

/* The lorry is loaded with scarce goods, and comes in LORRY_S seconds. Then it is unloaded. */
enum { LORRY_S = 60 };
void shop_lorry_loads(struct shop *s, int64_t number);
void shop_lorry_comes(struct shop *s, int64_t number);

#endif
