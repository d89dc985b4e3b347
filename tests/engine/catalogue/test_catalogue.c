/* test_catalogue.c - totals in memory and how old they are said to be. */
#include "engine/base/clock.h"
#include "engine/catalogue/catalogue.h"

#include <criterion/criterion.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* For how long the machine was suspended: that clock goes on, the monotonic one stands still. All code of this program
 * asks here, and not the library. */
static time_t suspended_s;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	long result = syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_BOOTTIME)
		now->tv_sec += suspended_s;
	return (int)result;
}

Test(catalogue, totals_grow_old_while_the_machine_is_suspended)
{
	struct catalogue *c = catalogue_new();
	struct total      total = {.available = 7, .reserved = 3}, found;
	struct sku       *sku = catalogue_sku_enter(c, 1, "A", 1);
	int64_t           apart_ms = clock_boot_ms() - clock_ms(), age_ms;
	size_t            count;

	catalogue_locations_enter(c, catalogue_locations_ask(c), 1,
	                          &(struct location){.location_id = 1, .kind = LOCATION_STOCK, .code = "main"}, 1);
	total.location = catalogue_location(c, "main");
	cr_expect(!catalogue_totals_get(c, sku, INT64_MAX - 1, &found, 1, &count, &age_ms), "never read");
	catalogue_totals_put(c, sku, clock_boot_ms(), &total, 1);
	cr_expect(catalogue_totals_get(c, sku, 5000, &found, 1, &count, &age_ms) && age_ms >= 0 && age_ms < 5000);
	cr_expect(count == 1 && found.available == 7);
	suspended_s = 20;
	cr_expect(!catalogue_totals_get(c, sku, 5000, &found, 1, &count, &age_ms), "an age of %lld ms",
	          (long long)age_ms);
	cr_expect_geq(age_ms, 20000);
	cr_expect(catalogue_totals_get(c, sku, 60000, &found, 1, &count, &age_ms));
	cr_expect_geq(clock_boot_ms() - clock_ms() - apart_ms, 15000, "time-outs grew old, too");
	suspended_s = 0;
	catalogue_free(c);
}

/* Two look for the locations at the same time, and what was found first is entered last. */
Test(catalogue, locations_that_were_found_earlier_are_not_entered_later)
{
	struct catalogue *c = catalogue_new();
	struct location   was = {.location_id = 1, .kind = LOCATION_STOCK, .code = "x"},
			is = {.location_id = 1, .kind = LOCATION_ASIDE, .code = "x"};
	int64_t asked[] = {catalogue_locations_ask(c), catalogue_locations_ask(c), catalogue_locations_ask(c)};

	catalogue_locations_enter(c, asked[0], 9, &is, 1);
	cr_expect(catalogue_locations_same(c, asked[2], 9));
	cr_expect(!catalogue_locations_same(c, asked[1], 8));
	catalogue_locations_enter(c, asked[1], 8, &was, 1);
	cr_expect_eq(location_kind(catalogue_location(c, "x")), LOCATION_ASIDE);
	cr_expect(catalogue_locations_same(c, catalogue_locations_ask(c), 9));
	catalogue_free(c);
}
