/* memory.c - lets one allocation on the loop of the service fail: for LD_PRELOAD.
 *
 * The file named by HOLDFAST_FAULT is shared with the test. The loop runs on the main thread; the others are left
 * alone. */
#include "tests/fault/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static struct fault *fault;

__attribute__((constructor)) static void fault_open(void)
{
	const char *path = getenv(FAULT_FILE);
	int         fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *shared = fd >= 0 ? mmap(NULL, sizeof(*fault), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (shared != MAP_FAILED)
		fault = shared;
	if (fd >= 0)
		close(fd);
}

static int is_due(void)
{
	long n;

	if (!fault || !fault->armed || gettid() != getpid())
		return 0;
	n = ++fault->count;
	if (n != fault->nth)
		return 0;
	fault->armed = 0;
	fault->struck = 1;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return is_due() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return is_due() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return is_due() ? NULL : __libc_realloc(old, size);
}
