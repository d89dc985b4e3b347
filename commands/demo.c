/* demo.c - the command `demo`. It makes a shop in the empty database of a service. Then it sends that shop's orders,
 * shipments and deliveries, minute after minute. It is a client of the service, as a shop is. */
#include "commands/demo.h"
#include "commands/demo/goods.h"
#include "commands/demo/opening.h"
#include "commands/demo/trade.h"
#include "commands/options.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "jobs/stop.h"

#include <stdio.h>
#include <string.h>

/* How long a service is waited for at the start, and while the shop lives. */
enum { START_MS = 60000, AWAY_MS = 15000, AGAIN_MS = 500 };

/* ---- the service */

static bool service_ready(struct caller *c)
{
	return caller_call(c, "GET", "/readyz", NULL) == 200;
}

/* Waits until the service is ready. False: it is not in so long, or the command is to end. */
static bool service_wait(struct caller *c, struct stop *stop, int64_t wait_ms)
{
	int64_t until_ms = clock_ms() + wait_ms;
	bool    ready = service_ready(c), told = false;

	while (!ready && clock_ms() < until_ms && !stop_wait(stop, AGAIN_MS)) {
		if (!told)
			say("waiting for a service at %s", caller_url(c));
		told = true;
		ready = service_ready(c);
	}
	return ready;
}

static const struct {
	const char *path, *noun, *id;
} lists[] = {
	{"/v1/skus?limit=1", "skus", "sku"},
	{"/v1/locations?limit=1", "locations", "location"},
	{"/v1/reservations?limit=1", "orders", "order_id"},
	{"/v1/webhooks?limit=1", "webhooks", "webhook_id"},
};

/* Adds "skus (MUG ..)" for each list that has an item. Returns an exit status. */
static int found_write(struct caller *c, struct text *found)
{
	for (size_t i = 0; i < LENGTH(lists); i++) {
		int         status = caller_call(c, "GET", lists[i].path, NULL);
		const void *items = status == 200 && caller_answer(c) ? json_member(caller_answer(c), "items") : NULL;

		if (!items)
			return say_status(status == 401 || status == 403 ? EXIT_CONFIG : EXIT_UNAVAILABLE, "GET %s: %s",
			                  lists[i].path, caller_why(c));
		if (!json_first(items))
			continue;
		text_format(found, "%s%s (", found->len ? ", " : "", lists[i].noun);
		caller_text(found, json_first(items), lists[i].id);
		text_add(found, " ..)");
	}
	return EXIT_DONE;
}

/* EXIT_DONE: the database is empty. */
static int service_empty(struct caller *c)
{
	struct text found = {0};
	int         status = found_write(c, &found);

	if (status == EXIT_DONE && found.len > 0)
		status = say_status(EXIT_TROUBLE,
		                    "the database behind %s is not empty, it has %s: the demo makes its shop in an "
		                    "empty one (holdfast serve --data NEW)",
		                    caller_url(c), found.data);
	text_fini(&found);
	return status;
}

/* ---- the shop */

static int shop_lives(struct shop *shop, struct stop *stop)
{
	struct trade trade = {.shop = shop};
	int64_t      began_ms = clock_ms();
	int64_t      until_ms = option_given(OPTION_for) ? began_ms + option_count(OPTION_for, 0) * 1000 : INT64_MAX;

	assert(!shop->failed);
	while (!shop->failed && clock_ms() < until_ms &&
	       !stop_wait(stop, began_ms + trade.moment * MOMENT_MS - clock_ms())) {
		trade_moment(&trade);
		if (shop->away && !service_wait(shop->caller, stop, AWAY_MS) && !stop_wait(stop, 0))
			return say_status(EXIT_UNAVAILABLE, "the service at %s is gone", caller_url(shop->caller));
	}
	trade_end(&trade);
	return shop->failed ? EXIT_TROUBLE : EXIT_DONE;
}

static void shop_tell(const struct shop *shop, int64_t took_ms)
{
	printf("%d skus at %d locations and %lld orders were made in %.1f s; %s/console/ shows them\n", GOODS, PLACES,
	       (long long)shop->orders, (double)took_ms / 1000, caller_url(shop->caller));
	if (!option_given(OPTION_for))
		printf("the shop lives until Ctrl-C\n");
	fflush(stdout);
}

static int shop_run(struct shop *shop, struct stop *stop)
{
	int64_t began_ms;
	int     status;

	if (!service_wait(shop->caller, stop, START_MS))
		return stop_wait(stop, 0) ? EXIT_DONE
		                          : say_status(EXIT_UNAVAILABLE, "no service at %s: %s",
		                                       caller_url(shop->caller), caller_why(shop->caller));
	status = service_empty(shop->caller);
	if (status != EXIT_DONE)
		return status;
	began_ms = clock_ms();
	if (!shop_opens(shop))
		return EXIT_TROUBLE;
	shop_tell(shop, clock_ms() - began_ms);
	return shop_lives(shop, stop);
}

int demo_run(void)
{
	const char  *url = option_text(OPTION_url);
	char         key[200] = "";
	struct shop  shop = {0};
	struct stop *stop;
	int          status;

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return say_status(EXIT_USAGE, "--url is http://HOST:PORT or https://HOST:PORT, not %s", url);
	if (option_text(OPTION_key_file) && !option_secret_line(OPTION_key_file, key, sizeof(key)))
		return EXIT_CONFIG;
	stop = stop_on_signals(NULL);
	shop.caller = caller_open(url, *key ? key : NULL);
	explicit_bzero(key, sizeof(key));
	status = shop_run(&shop, stop);
	caller_close(shop.caller);
	shop_fini(&shop);
	return status;
}
