/* balance.h - balances and quotas that a batch touches, and the lane's knowledge of them. */
#ifndef BALANCE_H
#define BALANCE_H

#include "engine/write/state.h"

enum { QUOTAS_MET_MS = 1000 };  /* so long after the guard refused a batch quotas are read before it */
enum which { WANTED, DOUBTED }; /* WANTED: balances wanted and not known; DOUBTED: balances in doubt */

void            balances_open(struct lane *l);
void            balances_close(struct lane *l);
void            balances_find(struct lane *l); /* makes the batch's balances, filled from hints, and its quotas */
void            balances_meet(struct lane *l); /* adds those of found reservations, after another look-up */
struct balance *balance_find(struct lane *l, uint32_t sku_id, uint32_t location_id); /* NULL: not in the batch */
/* Reads balances and quotas, on the lane's connection. */
enum db_result balances_load(struct lane *l, enum which which) MUST_CHECK;
void           balances_learn(struct lane *l);  /* updates the hints after the commit of the batch */
void           balances_forget(struct lane *l); /* drops the hints of the batch after a guard missed */
void           hints_forget(struct lane *l);    /* drops all hints */

#endif
