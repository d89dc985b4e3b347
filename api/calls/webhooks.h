/* webhooks.h - calls about webhooks: make, read, list, delete, enable, rotate, ping, attempts. */
#ifndef WEBHOOKS_H
#define WEBHOOKS_H

#include "api/calls/job.h"

extern const struct job_kind post_webhook, get_webhook, get_webhooks, delete_webhook;
extern const struct job_kind post_webhook_enable, post_webhook_rotate, post_webhook_ping, get_webhook_attempts;

#endif
