/* goods.c - see goods.h. 20 things in ten colours make 200 goods; 5 garments in four of them and five sizes make 100.
 */
#include "commands/demo/goods.h"

#include <stdio.h>

struct word {
	const char *code, *name;
};

static const struct word things[] = {
	{"MUG", "Mug"},
	{"PLATE", "Plate"},
	{"BOWL", "Bowl"},
	{"TEATOWEL", "Tea towel"},
	{"CANDLE", "Candle"},
	{"CUSHION", "Cushion"},
	{"APRON", "Apron"},
	{"VASE", "Vase"},
	{"TRAY", "Tray"},
	{"JUG", "Jug"},
	{"LUNCHBOX", "Lunch box"},
	{"TEAPOT", "Teapot"},
	{"THROW", "Throw"},
	{"UMBRELLA", "Umbrella"},
	{"DOORMAT", "Doormat"},
	{"CLOCK", "Wall clock"},
	{"LAMP", "Table lamp"},
	{"CAKESTAND", "Cake stand"},
	{"WATERINGCAN", "Watering can"},
	{"STOOL", "Stool"},
};

static const struct word garments[] = {
	{"SHIRT", "Linen shirt"}, {"JUMPER", "Wool jumper"}, {"SOCKS", "Walking socks"},
	{"COAT", "Rain coat"},    {"PYJAMAS", "Pyjamas"},
};

static const struct word colours[] = {
	{"SAGE", "sage"}, {"SLATE", "slate"}, {"CREAM", "cream"}, {"RUST", "rust"}, {"OCHRE", "ochre"},
	{"MOSS", "moss"}, {"CLAY", "clay"},   {"INK", "ink"},     {"PLUM", "plum"}, {"SNOW", "snow"},
};

static const char *const sizes[] = {"XS", "S", "M", "L", "XL"};

enum { THINGS = LENGTH(things) * LENGTH(colours), SIZES = LENGTH(sizes), GARMENT_COLOURS = 4 };
static_assert(THINGS + LENGTH(garments) * GARMENT_COLOURS * SIZES == GOODS, "the tables make all goods");

static void names_write(struct good *g, int n)
{
	const struct word *thing = &things[n / LENGTH(colours) % LENGTH(things)],
			  *colour = &colours[n % LENGTH(colours)];
	const char *size = sizes[n % SIZES];

	if (n < THINGS) {
		snprintf(g->sku, sizeof(g->sku), "%s-%s", thing->code, colour->code);
		snprintf(g->name, sizeof(g->name), "%s, %s", thing->name, colour->name);
		return;
	}
	n -= THINGS;
	colour = &colours[n / SIZES % GARMENT_COLOURS];
	thing = &garments[n / SIZES / GARMENT_COLOURS];
	snprintf(g->sku, sizeof(g->sku), "%s-%s-%s", thing->code, colour->code, size);
	snprintf(g->name, sizeof(g->name), "%s, %s, %s", thing->name, colour->name, size);
}

/* The last digit makes the sum a multiple of ten, in which every second digit counts three times. */
static void barcode_write(struct good *g, int n)
{
	int sum = 0, len = snprintf(g->barcode, sizeof(g->barcode), "204711%06d", n + 1);

	for (int i = 0; i < len; i++)
		sum += (g->barcode[i] - '0') * (i % 2 ? 3 : 1);
	snprintf(g->barcode + len, sizeof(g->barcode) - (size_t)len, "%d", (10 - sum % 10) % 10);
}

struct good good_make(int n)
{
	struct good g;

	assert(n >= 0 && n < GOODS);
	names_write(&g, n);
	barcode_write(&g, n);
	return g;
}

enum { SCARCE_EVERY = GOODS / SCARCE };

int good_scarce(int64_t n)
{
	return (int)(n % SCARCE) * SCARCE_EVERY + SCARCE_EVERY / 2;
}

bool good_is_scarce(int good)
{
	return good % SCARCE_EVERY == SCARCE_EVERY / 2;
}

int good_any(struct chance *c)
{
	int a = chance_below(c, GOODS), b = chance_below(c, GOODS), n = a < b ? a : b;

	return good_is_scarce(n) ? n + 1 : n;
}
