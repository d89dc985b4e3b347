/* opening.h - the made-up shop as it is on its first morning. */
#ifndef OPENING_H
#define OPENING_H

#include "commands/demo/shop.h"

/* Makes 300 skus at eight locations, and orders in all states, always the same. The database is empty. False: it could
 * not be made, and a message has said why. */
bool shop_opens(struct shop *s) MUST_CHECK;

#endif
