/* process.h - the kernel's figures of this process, for /metrics. */
#ifndef PROCESS_H
#define PROCESS_H

#include "engine/base/base.h"

struct process_figures {
	double  cpu_s;     /* user and system */
	double  started_s; /* since 1970 */
	int64_t resident_bytes, virtual_bytes;
	int64_t threads;
	int64_t fds, fds_max; /* open descriptors, and their limit */
};
/* Reads /proc; a figure that cannot be read is 0. */
void process_read(struct process_figures *out);

#endif
