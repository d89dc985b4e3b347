/* webhook_options.h - the options of commands that deliver to webhooks, or take calls about them. */
#ifndef WEBHOOK_OPTIONS_H
#define WEBHOOK_OPTIONS_H

#include "jobs/webhooks/deliver.h"

/* --webhooks-key and --webhooks-allow. EXIT_DONE, or EXIT_CONFIG after saying why. */
int webhook_options_read(struct webhook_options *o) MUST_CHECK;

#endif
