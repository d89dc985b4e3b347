/* stock_bulk.h - the stock of many skus, by location, in one answer. */
#ifndef STOCK_BULK_H
#define STOCK_BULK_H

struct request;
void post_stock(struct request *r);

#endif
