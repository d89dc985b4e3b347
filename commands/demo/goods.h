/* goods.h - the skus of the made-up shop, and its locations. Pure. */
#ifndef GOODS_H
#define GOODS_H

#include "commands/demo/chance.h"

enum { GOODS = 300, SCARCE = 12 };

struct good {
	char sku[32], name[48];
	char barcode[16]; /* EAN-13, of the numbers that every shop may use inside its house */
};
struct good good_make(int n); /* 0 to GOODS - 1 */

/* Scarce goods are sold out in the house and come by lorry: orders wait for them. */
int  good_scarce(int64_t n); /* scarce good n, counted round and round */
bool good_is_scarce(int good);
/* A good that is not scarce. Low numbers come more often, as some goods sell better than others. */
int good_any(struct chance *c);

enum { PLACES = 8 };
#define MAIN     "main"
#define ANNEX    "annex"
#define HARBOUR  "store-harbour"
#define STATION  "store-station"
#define RETURNS  "returns"
#define DAMAGED  "damaged"
#define LORRY    "lorry"
#define SUPPLIER "supplier"

#endif
