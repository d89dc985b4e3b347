/* service.h - the whole service inside a fuzz target: the real engine on a real MariaDB, and a unix socket,
 * in threads beside the fuzzer's. Its database is the private one of the folder FUZZ_DATA (environment), which
 * tests/fuzz/run.sh makes, audits and stops. */
#ifndef FUZZ_SERVICE_H
#define FUZZ_SERVICE_H

#include "engine/base/text.h"
#include "engine/base/base.h"

/* Starts it and fills it: 1,000,000 units of A, orders in every state, an open task and a closed one. Ends the process
 * with one line if that does not work. */
void service_start(void);
/* Sends the bytes over a connection of their own and adds what comes back until the service closes, which it has to do
 * within 70 s (a silent connection is closed after 75). `ends`: tells the service that nothing follows. */
void service_exchange(const void *bytes, size_t len, bool ends, struct text *answer);
/* Every status line in it is one that the service may give. */
void service_check_statuses(const struct text *answer);

#endif
