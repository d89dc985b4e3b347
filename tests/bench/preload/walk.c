/* walk.c - records which function calls which: for LD_PRELOAD of a program that was built with -finstrument-functions.
 *
 * The record is a ring of calls in the file named by WALK_FILE, which tests/walk.py makes and reads. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOT_RECORDED __attribute__((no_instrument_function))

enum { CALLS = 1 << 18, DEPTH = 256 };

static struct walk {
	_Atomic uint64_t count; /* calls so far; the last CALLS of them stand in the ring */
	struct call {
		uint32_t depth, thread;
		uint64_t caller, callee; /* addresses; caller 0: no function of the program */
	} calls[CALLS];
} * walk;
static _Atomic uint32_t  threads;
static __thread uint32_t thread, depth;
static __thread uint64_t functions[DEPTH]; /* the functions that the thread is in */

/* The private server that the program starts is not recorded. */
NOT_RECORDED __attribute__((constructor)) static void walk_open(void)
{
	const char *path = getenv("WALK_FILE");
	int         fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *shared = fd >= 0 ? mmap(NULL, sizeof(*walk), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

	unsetenv("LD_PRELOAD");
	if (shared == MAP_FAILED)
		abort(); /* a record of nothing would be believed */
	close(fd);
	walk = shared;
}

NOT_RECORDED void __cyg_profile_func_enter(void *function, void *from)
{
	uint64_t at = atomic_fetch_add(&walk->count, 1) % CALLS;

	(void)from;
	if (depth == DEPTH)
		abort();
	if (thread == 0)
		thread = atomic_fetch_add(&threads, 1) + 1;
	functions[depth] = (uint64_t)function;
	walk->calls[at] = (struct call){depth, thread, depth > 0 ? functions[depth - 1] : 0, functions[depth]};
	depth++;
}

NOT_RECORDED void __cyg_profile_func_exit(void *function, void *from)
{
	(void)function;
	(void)from;
	depth--;
}
