/* thread.h - threads, and the descriptors that wake them. Where the system gives none, the process ends with one line
 * in the log, as it does without memory (memory.h): EXIT_CONFIG where its own limit of open files is reached, otherwise
 * EXIT_UNAVAILABLE. Acknowledged work is in the database by then. Any thread. */
#ifndef THREAD_H
#define THREAD_H

#include "engine/base/base.h"

#include <pthread.h>

void thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);
int  wake_open(int flags); /* an eventfd of 0, closed on exec; flags: EFD_NONBLOCK, or 0 */
/* For a library that was refused a descriptor: `said` are its words, `error` an errno. */
_Noreturn void descriptor_end(int error, const char *said);

#endif
