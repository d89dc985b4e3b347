/* pages.c - what two open pages of the console send, beside a load: each the activity every 2 s, of which it has what
 * came before, and a list of orders every 5 s. A page is a thread; a page is closed when its call has ended. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/base/text.h"
#include "holdfast.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PAGES = 2, ACTIVITY_MS = 2000, LIST_MS = 5000, LOOK_US = 20000 };

static struct {
	pthread_t           threads[PAGES];
	atomic_bool         closing;
	const struct bench *bench;
} pages;

/* False: the answer was wrong. The value of its member `now` goes to `now`, if that is not NULL. */
static bool page_ask(const char *path, char now[40])
{
	struct text answer = {0};
	int         status = load_once(pages.bench->port, "GET", path, NULL, &answer);
	const char *at = status == 200 && now ? strstr(answer.data, "\"now\":\"") : NULL;

	if (at)
		sscanf(at, "\"now\":\"%30[^\"]\"", now);
	if (status != 200 || (now && !at))
		bench_wrong("a page asked for %s: %d", path, status);
	text_fini(&answer);
	return status == 200;
}

static void *page_main(void *arg)
{
	int64_t activity_ms = clock_ms(), list_ms = clock_ms();
	char    path[100] = "/v1/activity", now[40] = "";
	bool    right = true;

	(void)arg;
	while (right && !atomic_load(&pages.closing)) {
		if (clock_due(&activity_ms, ACTIVITY_MS)) {
			right = page_ask(path, now);
			snprintf(path, sizeof(path), "/v1/activity?since=%s", now);
		}
		if (right && clock_due(&list_ms, LIST_MS))
			right = page_ask("/v1/reservations?limit=100", NULL);
		usleep(LOOK_US);
	}
	return NULL;
}

void pages_open(const struct bench *b)
{
	int error = 0;

	pages.bench = b;
	atomic_store(&pages.closing, false);
	for (int i = 0; i < PAGES; i++)
		error |= pthread_create(&pages.threads[i], NULL, page_main, NULL);
	if (error)
		mem_end();
}

void pages_close(void)
{
	atomic_store(&pages.closing, true);
	for (int i = 0; i < PAGES; i++)
		pthread_join(pages.threads[i], NULL);
}
