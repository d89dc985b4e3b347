/* webhooks.h - calls about webhooks: make, read, list, delete, enable, rotate. */
#ifndef WEBHOOKS_H
#define WEBHOOKS_H

struct request;

void post_webhook(struct request *r);
void get_webhook(struct request *r);
void get_webhooks(struct request *r);
void delete_webhook(struct request *r);
void post_webhook_enable(struct request *r);
void post_webhook_rotate(struct request *r);

#endif
