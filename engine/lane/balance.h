/* balance.h - the balances that a batch touches, and what is known of them. */
#ifndef BALANCE_H
#define BALANCE_H

#include "engine/lane/state.h"

enum which { WANTED, DOUBTED }; /* wanted and not known; in doubt */

void            balances_open(struct lane *l);
void            balances_close(struct lane *l);
void            balances_find(struct lane *l); /* the batch's balances, with what the hints know */
void            balances_meet(struct lane *l); /* adds what found reservations need, after another look-up */
struct balance *balance_find(struct lane *l, uint32_t sku_id, uint32_t location_id); /* NULL: not in the batch */
/* Reads balances, on the lane's connection. */
enum db_result balances_load(struct lane *l, enum which which) MUST_CHECK;
void           balances_learn(struct lane *l);  /* the batch is committed: the hints follow */
void           balances_forget(struct lane *l); /* a guard missed: the hints of the batch are void */
void           hints_forget(struct lane *l);    /* all of them */

#endif
