/* memory.h - what the test and the preloaded library share: a mapped file, zeroed at the start. */
#ifndef TESTS_FAULT_MEMORY_H
#define TESTS_FAULT_MEMORY_H

#define FAULT_FILE "HOLDFAST_FAULT"

struct fault {
	volatile int  armed;  /* count from now on; ends when it has struck */
	volatile int  struck; /* an allocation has failed */
	volatile long nth;    /* which, from 1 */
	volatile long count;  /* so many were asked for since it was armed */
};

#endif
