/* ledger.c - see ledger.h. */
#include "engine/base/memory.h"
#include "ledger.h"
#include "load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_CALL = 1000, KEPT_US = 1500000 };

struct ledger ledger_hot = {.prefix = "HOT", .count = 1, .received = HOT_QTY};
struct ledger ledger_shop = {.prefix = "SHOP", .count = SHOP_SKUS, .received = HOT_QTY};

void ledger_code(const struct ledger *l, int sku, char code[CODE_SIZE])
{
	if (l->codes)
		memcpy(code, l->codes[sku], CODE_SIZE);
	else
		snprintf(code, CODE_SIZE, "%s-%04d", l->prefix, sku);
}

/* ---- received */

void ledger_open(struct ledger *l)
{
	size_t size = (size_t)l->count * sizeof(int64_t);

	ledger_fini(l);
	l->asked = mem_alloc(size);
	l->sold = mem_alloc(size);
	l->sold_before = mem_alloc(size);
	l->sold_recently = mem_alloc(size);
	l->recently_us = 0;
}

void ledger_fini(struct ledger *l)
{
	free(l->asked);
	free(l->sold);
	free(l->sold_before);
	free(l->sold_recently);
	l->asked = l->sold = l->sold_before = l->sold_recently = NULL;
}

bool ledger_receive(struct bench *b, struct ledger *l)
{
	struct text body = {0}, answer = {0};
	char        code[CODE_SIZE];
	int         status = 201;

	if (l->turn == b->turn)
		return true;
	ledger_open(l);
	for (int first = 0; first < l->count && status == 201; first += PER_CALL) {
		text_reset(&body);
		text_reset(&answer);
		text_format(&body, "{\"movement_id\":\"%s.%d.%d\",\"kind\":\"receipt\",\"lines\":[", l->prefix, b->turn,
		            first);
		for (int i = first; i < l->count && i < first + PER_CALL; i++) {
			ledger_code(l, i, code);
			text_format(&body, "%s{\"sku\":\"%s\",\"qty\":%" PRId64 "}", i > first ? "," : "", code,
			            l->received);
		}
		text_add(&body, "]}");
		status = load_once(b->port, "POST", "/v1/movements", &body, &answer);
	}
	if (status == 201)
		l->turn = b->turn;
	else
		bench_wrong("the receipt of %s was answered %d %.300s", l->prefix, status,
		            answer.data ? answer.data : "");
	text_fini(&body);
	text_fini(&answer);
	return status == 201;
}

/* ---- checked */

static bool item_right(const struct ledger *l, int sku, struct span item)
{
	static const char *const names[] = {"sku", "available", "reserved", "on_hand"};
	struct span              values[4];
	char                     code[CODE_SIZE];

	ledger_code(l, sku, code);
	if (answer_members(item, names, values, 4) && answer_is(values[0], code, strlen(code)) &&
	    answer_int(values[1]) == l->received - l->sold[sku] && answer_int(values[2]) == l->sold[sku] &&
	    answer_int(values[3]) == l->received)
		return true;
	bench_wrong("%" PRId64 " of %s were acknowledged, the service says %.*s", l->sold[sku], code, (int)item.len,
	            item.at);
	return false;
}

/* One call for the skus from `first` on. */
static bool availability_check(struct bench *b, const struct ledger *l, int first)
{
	static const char *const names[] = {"items"};
	struct text              body = {0}, answer = {0};
	struct span              items = {0}, item;
	bool                     right = true;
	size_t                   at = 0;
	int                      end = first + PER_CALL < l->count ? first + PER_CALL : l->count, sku = first;
	char                     code[CODE_SIZE];

	text_add(&body, "{\"skus\":[");
	for (int i = first; i < end; i++) {
		ledger_code(l, i, code);
		text_format(&body, "%s\"%s\"", i > first ? "," : "", code);
	}
	text_add(&body, "]}");
	if (load_once(b->port, "POST", "/v1/availability", &body, &answer) == 200 &&
	    answer_members((struct span){answer.data, answer.len}, names, &items, 1))
		while (sku < end && right && answer_item(items, &at, &item)) {
			right = item_right(l, sku, item);
			sku++;
		}
	if (sku < end && right)
		bench_wrong("the stock of %s reads %.300s", l->prefix, answer.data ? answer.data : "nothing");
	text_fini(&body);
	text_fini(&answer);
	return right && sku == end;
}

bool ledger_check(struct bench *b, const struct ledger *l, int64_t *units)
{
	bool right = true;

	*units = 0;
	for (int first = 0; first < l->count; first += PER_CALL)
		right = availability_check(b, l, first) && right;
	for (int i = 0; i < l->count; i++)
		*units += l->sold[i];
	return right;
}

bool ledger_reading_right(struct ledger *l, int sku, int64_t reserved, int64_t now_us)
{
	size_t size = (size_t)l->count * sizeof(int64_t);

	/* sold_before is a copy from KEPT_US ago at least, which leaves an answer half a second to come in. */
	if (now_us - l->recently_us > KEPT_US) {
		memcpy(l->sold_before, l->sold_recently, size);
		memcpy(l->sold_recently, l->sold, size);
		l->recently_us = now_us;
	}
	return reserved >= l->sold_before[sku] && reserved <= l->asked[sku];
}

/* ---- demand */

int zipf_sku(uint64_t chance)
{
	static double sums[SHOP_SKUS]; /* of 1/1, 1/2, .. */
	double        wanted;
	int           low = 0, high = SHOP_SKUS - 1;

	if (sums[0] == 0)
		for (int i = 0; i < SHOP_SKUS; i++)
			sums[i] = (i ? sums[i - 1] : 0) + 1.0 / (i + 1);
	wanted = (double)(chance >> 11) / (double)(UINT64_C(1) << 53) * sums[SHOP_SKUS - 1];
	while (low < high) {
		int middle = (low + high) / 2;

		if (sums[middle] > wanted)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* `count` lines of different skus; the same again for the same number. */
static int lines_draw(uint64_t number, int count, struct line *to)
{
	int have = 0;

	for (uint64_t draw = 1; have < count; draw++) {
		uint64_t chance = number_spread(number * 64 + draw);
		int      sku = zipf_sku(chance), i = 0;

		while (i < have && to[i].sku != sku)
			i++;
		if (i == have)
			to[have++] = (struct line){sku, order_qty(number + draw)};
	}
	return count;
}

int lines_one(const struct ledger *l, uint64_t number, struct line *to)
{
	(void)l;
	to[0] = (struct line){0, order_qty(number)};
	return 1;
}

int lines_single(const struct ledger *l, uint64_t number, struct line *to)
{
	(void)l, (void)number;
	to[0] = (struct line){0, 1};
	return 1;
}

int lines_basket(const struct ledger *l, uint64_t number, struct line *to)
{
	(void)l;
	return lines_draw(number, 1 + (int)(number_spread(number) % BASKET_MAX), to);
}

int lines_three(const struct ledger *l, uint64_t number, struct line *to)
{
	(void)l;
	return lines_draw(number, 3, to);
}

int lines_any(const struct ledger *l, uint64_t number, struct line *to)
{
	to[0] = (struct line){(int)(number_spread(~number) % (uint64_t)l->count), order_qty(number)};
	return 1;
}
