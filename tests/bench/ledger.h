/* ledger.h - skus that a load sells, and what must be left of them: what was acknowledged is written down for each, and
 * after every round the service must say the same. One thread. */
#ifndef LEDGER_H
#define LEDGER_H

#include "engine/base/codes.h"
#include "bench.h"

enum { LINES_MAX = 1000, BASKET_MAX = 8, SHOP_SKUS = 4000, CODE_SIZE = SKU_MAX + 1 };

struct ledger {
	const char *prefix;       /* of the codes, then a number; */
	char (*codes)[CODE_SIZE]; /* unless they are listed here, in their order: owned */
	int      count;
	int64_t  received;      /* units of each */
	int      turn;          /* in which they were received last */
	int64_t *asked, *sold;  /* of each: units that a request named, and those that were acknowledged */
	int64_t *sold_before;   /* some time longer than AGE_MAX_MS ago: no reading may know less */
	int64_t *sold_recently; /* becomes sold_before next */
	int64_t  recently_us;   /* when that was copied */
};

struct line {
	int     sku; /* its number in the ledger */
	int64_t qty;
};

extern struct ledger ledger_hot, ledger_shop, ledger_sales;

/* Nothing asked, nothing sold. ledger_receive does it, too. */
void ledger_open(struct ledger *l);
/* Receives the stock, once a turn. */
bool ledger_receive(struct bench *b, struct ledger *l);
void ledger_fini(struct ledger *l);
void ledger_code(const struct ledger *l, int sku, char code[CODE_SIZE]);
/* Reads every sku. False, and said: one of them is not what it must be. `units` were sold in all. */
bool ledger_check(struct bench *b, const struct ledger *l, int64_t *units);
/* A reading at most AGE_MAX_MS old: it knows what was sold before that, and nothing that no request asked for. */
enum { AGE_MAX_MS = 1000 };
bool ledger_reading_right(struct ledger *l, int sku, int64_t reserved, int64_t now_us);

/* What an order wants: always the same for the same number. Up to LINES_MAX lines, each of another sku. */
int lines_one(const struct ledger *l, uint64_t number, struct line *to);    /* 1 to 3 of the first sku */
int lines_single(const struct ledger *l, uint64_t number, struct line *to); /* one of the first sku */
int lines_basket(const struct ledger *l, uint64_t number,
                 struct line *to);                                         /* 1 to 8 of SHOP_SKUS skus, by Zipf's law */
int lines_three(const struct ledger *l, uint64_t number, struct line *to); /* 3 of them */
int lines_any(const struct ledger *l, uint64_t number, struct line *to);   /* 1 to 3 of one sku, each as likely */
int lines_sold(const struct ledger *l, uint64_t number, struct line *to);  /* an order of sales.c */
int zipf_sku(uint64_t chance); /* one of SHOP_SKUS; the n-th is wanted 1/n times as often */

/* ---- sales.c: the orders of a shop, read from FILE (columns InvoiceNo, StockCode, Quantity; RFC 4180), or made up in
 * the same shape where it is NULL. Fills in the ledger's codes and count; false: the file cannot be read, and it was
 * said. */
bool sales_open(struct ledger *l, const char *file) MUST_CHECK;
void sales_close(struct ledger *l);

#endif
