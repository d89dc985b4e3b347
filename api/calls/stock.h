/* stock.h - the calls about skus and movements. */
#ifndef API_STOCK_H
#define API_STOCK_H

struct request;

void post_movement(struct request *r);
void get_movement(struct request *r);
void get_sku(struct request *r);
void get_skus(struct request *r);
void get_sku_movements(struct request *r);
void get_customer(struct request *r);
void put_sku(struct request *r);

#endif
