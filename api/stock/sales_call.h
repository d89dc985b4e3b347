/* sales_call.h - sales that are stopped or go on: the call for many skus, and the members of other calls and answers.
 */
#ifndef API_SALES_H
#define API_SALES_H

#include "api/calls/job.h"
#include "jobs/sales.h"

extern const struct job_kind post_skus_for_sale;

/* Takes the members `for_sale` and `reason`. Returns whether for_sale is there. */
bool sales_take(struct json_reader *in, enum json_need need, struct sales_wish *wish);

#endif
