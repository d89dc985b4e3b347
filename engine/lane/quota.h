/* quota.h - the units of a sku with a limit that a customer may have, as far as a batch knows. Pure, as decide.h. */
#ifndef QUOTA_H
#define QUOTA_H

#include "engine/op.h"

/* The quota of one customer in one sku. All in units. */
struct quota {
	char     customer[ID_MAX + 1]; /* empty: of orders that name none */
	uint32_t sku_id;
	int64_t  limit;    /* of the sku; 0: none any more, or not read yet */
	int64_t  has;      /* units that the customer has */
	unsigned read_seq; /* read_seq of the batch when limit and has were read; 0: not yet */
	bool     agreed;   /* the last read gave what the one before it gave */
	bool     swept;    /* expired holds of the sku were looked for in this batch */
	bool     doubted;  /* an uncertain refusal rests on it */
	/* ---- decide() */
	int64_t left; /* units more that the customer may have; below 0: the limit is below what he has */
	int64_t room; /* units that the order under way may have yet */
	int64_t mark; /* `left` at the last quotas_mark */
};

/* Of a batch, sorted by customer and sku. */
struct quotas {
	struct quota *list;
	size_t        count, max;
};

/* The customer for which units are asked; of an amended order the customer of the order. NULL: none was named. */
const char *quota_customer(const struct op *op);
/* Of a customer (NULL: none was named) in a sku; NULL: no limit is known. */
struct quota *quota_find(const struct quotas *q, const char *customer, uint32_t sku_id);
/* Adds it unread where there is none, at the end; quotas_sort follows before anything is looked for. */
void quota_enter(struct quotas *q, const char *customer, uint32_t sku_id);
void quotas_sort(struct quotas *q);

void quotas_begin(struct quotas *q); /* decide() begins */
/* May this customer have so many units? Refuses a new order that names none, and one of all or nothing that is beyond
 * the limit. What the same customer has in a replaced order counts for the new one. */
enum outcome quotas_judge(struct quotas *q, struct op *op);
/* A best effort gets no more than the limit leaves: of its plain lines, in the order sent, .. */
void quotas_cap(struct quotas *q, struct op *op);
/* .. and of a choice the units that it may have, which is counted when it has been decided. */
int64_t quota_wanted(struct quotas *q, const struct op *op, const struct choice *choice);
void    quota_counted(struct quotas *q, const struct op *op, struct choice *choice);
/* True: the limit alone left a best effort with nothing; its lines say so, as those of quotas_judge do. */
bool quotas_left_nothing(struct quotas *q, struct op *op);
/* The order gets what its lines were granted. */
void quotas_take(struct quotas *q, const struct op *op);
/* The same for an expired order that is acquired again; units that were not swept yet are taken already. */
enum outcome quotas_judge_again(struct quotas *q, struct reservation *r);
void         quotas_take_again(struct quotas *q, const struct reservation *r);
/* These lines of the order are promised no longer. */
void quotas_give(struct quotas *q, const struct reservation *of, const struct line *lines, size_t count);
/* What is left now, and is left again when the items of an atomic call are given up. */
void quotas_mark(struct quotas *q);
void quotas_give_up(struct quotas *q);
/* Calls `each` for each quota that the operation is refused for, in whole or in part. */
void quotas_at_fault(const struct quotas *q, const struct op *op, void (*each)(struct quota *quota, void *arg),
                     void *arg);

#endif
