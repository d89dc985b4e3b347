/* patience.c - see patience.h.
 *
 * Three things make a machine slow. More threads want to run than there are cores (`queue`, of /proc/loadavg). A piece
 * of work takes longer by the clock than it takes of the processor, because others have the core (`stolen`). The piece
 * takes more of the processor than on the machine where PATIENCE_MS was chosen (`cores`). The factor is the larger one
 * of the first two, times the third.
 *
 * Half of the piece is arithmetic. Half is memory that the kernel hands out page by page, as it does when a program
 * starts: in a virtual machine inside a virtual machine the arithmetic is as fast, and a page takes six times as long.
 */
#include "tests/kit/patience.h"
#include "tests/kit/scratch.h"
#include "engine/base/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_US = 100000, MEAN_LOOKS = 10, WORK_LOOKS = 5 };
enum { WORK_STEPS = 500000, WORK_PAGES = 400, PAGE_BYTES = 4096, WORK_US = 1300 };
enum { PAUSE_LEAST_MS = 10, PAUSE_MOST_MS = 200 };

#define FALLS 0.98
#define MOST  30 /* a machine that is slower fails tests rather than let them wait for hours */

typedef _Atomic double shared_factor;

static shared_factor *page_map(const char *path, int flags)
{
	int   fd = open(path, flags | O_CLOEXEC, 0644);
	void *page = MAP_FAILED;

	if (fd >= 0 && (!(flags & O_CREAT) || ftruncate(fd, sizeof(shared_factor)) == 0))
		page = mmap(NULL, sizeof(shared_factor), flags & O_CREAT ? PROT_READ | PROT_WRITE : PROT_READ,
		            MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return page == MAP_FAILED ? NULL : page;
}

/* ---- measuring */

static int64_t time_us(clockid_t clock)
{
	struct timespec at;

	clock_gettime(clock, &at);
	return at.tv_sec * 1000000LL + at.tv_nsec / 1000;
}

/* The threads that run or could run, but this one, for each core. */
static double queue_measure(void)
{
	FILE *file = fopen("/proc/loadavg", "re");
	int   running = 1;

	if (file) {
		if (fscanf(file, "%*s %*s %*s %d/", &running) != 1)
			running = 1;
		fclose(file);
	}
	return (double)(running - 1) / (double)sysconf(_SC_NPROCESSORS_ONLN);
}

static void pages_touch(void)
{
	const size_t   bytes = (size_t)WORK_PAGES * PAGE_BYTES;
	volatile char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return;
	madvise((void *)pages, bytes, MADV_NOHUGEPAGE);
	for (int i = 0; i < WORK_PAGES; i++)
		pages[(size_t)i * PAGE_BYTES] = 1;
	munmap((void *)pages, bytes);
}

/* Does some work; says how many times longer it took than it should, by the clock and by the processor. */
static void work_measure(double *stolen, double *cores)
{
	int64_t  clock_from = time_us(CLOCK_MONOTONIC), processor_from = time_us(CLOCK_THREAD_CPUTIME_ID), clock_us;
	int64_t  processor_us;
	uint64_t n = (uint64_t)clock_from;

	for (int i = 0; i < WORK_STEPS; i++)
		n = n * 6364136223846793005u + 1442695040888963407u;
	pages_touch();
	processor_us =
		time_us(CLOCK_THREAD_CPUTIME_ID) - processor_from + 1 + (n == 0); /* n is used, so it is computed */
	clock_us = time_us(CLOCK_MONOTONIC) - clock_from + 1;
	*stolen = (double)clock_us / (double)processor_us;
	*cores = (double)processor_us / WORK_US;
}

/* Measures until the end: the mean of about a second. The shown value goes up at once, and down by half in three
 * seconds. */
static void *measure(void *arg)
{
	shared_factor *page = arg;
	double         mean = 1, shown = 1, stolen = 1, cores = 1, queue;

	for (unsigned look = 0;; look++) {
		if (look % WORK_LOOKS == 0)
			work_measure(&stolen, &cores);
		queue = queue_measure();
		mean += ((queue > stolen ? queue : stolen) * (cores > 1 ? cores : 1) - mean) / MEAN_LOOKS;
		shown = mean > shown * FALLS ? mean : shown * FALLS;
		shown = shown > MOST ? MOST : shown;
		atomic_store(page, shown > 1 ? shown : 1);
		usleep(LOOK_US);
	}
	return NULL;
}

bool patience_measure(const char *path)
{
	shared_factor *page = page_map(path, O_RDWR | O_CREAT);
	pthread_t      thread;

	return page && pthread_create(&thread, NULL, measure, page) == 0 && pthread_detach(thread) == 0;
}

/* ---- asking */

double patience_factor(void)
{
	static _Atomic(shared_factor *) page;
	shared_factor                  *known = atomic_load(&page);
	char                            path[300];

	if (!known && getenv(SCRATCH_DIR)) {
		snprintf(path, sizeof(path), "%s/" PATIENCE_FILE, getenv(SCRATCH_DIR));
		known = page_map(path, O_RDONLY);
		atomic_store(&page, known);
	}
	return known ? atomic_load(known) : 1;
}

int patience_ms(int ms)
{
	return (int)(ms * patience_factor());
}

bool patience_is_over(int64_t from_ms, int ms)
{
	return clock_ms() - from_ms > patience_ms(ms);
}

void patience_pause(int64_t from_ms)
{
	int64_t ms = (clock_ms() - from_ms) / 8;

	usleep((useconds_t)(ms < PAUSE_LEAST_MS ? PAUSE_LEAST_MS : ms > PAUSE_MOST_MS ? PAUSE_MOST_MS : ms) * 1000);
}
