/* trips.c - counts how often a program waits for its database: for LD_PRELOAD.
 *
 * The program's database is whatever it connects to by a Unix socket. What it sends there before it receives anything
 * is one trip, however many statements that is. The counter is in the file named by BENCH_TRIPS. */
#include "tests/bench/trips.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKETS = 65536 };
enum state { OTHER, LISTENS, ASKS };

static struct trips *trips;
static atomic_uchar  states[SOCKETS]; /* a connection belongs to one thread; a number goes from one to the next */

static int (*real_connect)(int fd, const struct sockaddr *to, socklen_t len);
static int (*real_close)(int fd);
static ssize_t (*real_send)(int fd, const void *data, size_t len, int flags);
static ssize_t (*real_recv)(int fd, void *data, size_t len, int flags);

/* The private server that the program starts is not to count. */
__attribute__((constructor)) static void trips_open(void)
{
	const char *path = getenv(TRIPS_FILE);
	int         fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *shared = fd >= 0 ? mmap(NULL, sizeof(*trips), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

	unsetenv("LD_PRELOAD");
	*(void **)&real_connect = dlsym(RTLD_NEXT, "connect");
	*(void **)&real_close = dlsym(RTLD_NEXT, "close");
	*(void **)&real_send = dlsym(RTLD_NEXT, "send");
	*(void **)&real_recv = dlsym(RTLD_NEXT, "recv");
	if (fd >= 0)
		real_close(fd);
	if (shared == MAP_FAILED)
		abort(); /* a count of nothing would be believed */
	trips = shared;
}

static enum state state_of(int fd)
{
	return fd >= 0 && fd < SOCKETS ? atomic_load_explicit(&states[fd], memory_order_relaxed) : OTHER;
}

static void state_set(int fd, enum state state)
{
	atomic_store_explicit(&states[fd], (unsigned char)state, memory_order_relaxed);
}

int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	if (fd >= 0 && fd < SOCKETS && to->sa_family == AF_UNIX)
		state_set(fd, LISTENS);
	return real_connect(fd, to, len);
}

int close(int fd)
{
	if (state_of(fd) != OTHER)
		state_set(fd, OTHER);
	return real_close(fd);
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
	if (state_of(fd) == LISTENS) {
		state_set(fd, ASKS);
		atomic_fetch_add_explicit(&trips->count, 1, memory_order_relaxed);
	}
	return real_send(fd, data, len, flags);
}

ssize_t recv(int fd, void *data, size_t len, int flags)
{
	ssize_t n = real_recv(fd, data, len, flags);

	if (n > 0 && state_of(fd) == ASKS)
		state_set(fd, LISTENS);
	return n;
}
