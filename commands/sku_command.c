/* sku_command.c - see sku_command.h. */
#include "commands/sku_command.h"
#include "commands/database.h"
#include "commands/options.h"
#include "commands/terminal/terminal.h"
#include "engine/base/log.h"
#include "engine/base/utf8.h"
#include "engine/db/retry.h"
#include "engine/catalogue/past.h"
#include "jobs/sales.h"

#include <stdio.h>

struct act {
	struct sales_wish wish;
	struct sales_sku  sku;
};

static void state_json(const struct act *a)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	json_put_string(&w, "sku", a->sku.code);
	json_put_bool(&w, "for_sale", a->wish.for_sale);
	if (*a->wish.reason)
		json_put_string(&w, "reason", a->wish.reason);
	json_close_object(&w);
	puts(out.data);
	text_fini(&out);
}

static void state_print(const struct act *a)
{
	struct text line = {0};

	terminal_text(&line, a->sku.code);
	text_add(&line, a->wish.for_sale ? " is for sale" : " is not for sale");
	if (*a->wish.reason) {
		text_add(&line, ": ");
		terminal_text(&line, a->wish.reason);
	}
	puts(line.data);
	text_fini(&line);
}

static int sku_act(struct db *db, void *arg)
{
	struct act       *a = arg;
	struct catalogue *c = catalogue_new();
	struct retry      retry = {.results = RETRY_LOCKS, .tries_max = RETRY_TRIES};
	enum db_result    result;

	past_watch(db_source(db), c);
	do
		result = sales_of_skus(db, &a->wish, &a->sku, 1);
	while (retry_again(&retry, result));
	past_watch(db_source(db), NULL);
	catalogue_free(c);
	if (result != DB_OK)
		return EXIT_UNAVAILABLE;
	if (!a->sku.sku_id)
		return say_status(EXIT_TROUBLE, "there is no such sku");
	if (option_given(OPTION_json))
		state_json(a);
	else
		state_print(a);
	return EXIT_DONE;
}

int sku_run(void)
{
	const char *code = operand(0), *reason = option_text(OPTION_stop);
	struct act  a = {.wish.for_sale = option_given(OPTION_start)};

	if (!code || !reason == !a.wish.for_sale)
		return say_status(EXIT_USAGE, "sku SKU --stop REASON, or sku SKU --start; try `holdfast sku --help`");
	if (!code_valid(code, strlen(code), SKU_MAX))
		return say_status(EXIT_TROUBLE, "there is no such sku");
	if (reason && strlen(reason) > NOTE_MAX)
		return say_status(EXIT_USAGE, "--stop may have at most 500 bytes");
	if (reason && !utf8_valid(reason))
		return say_status(EXIT_USAGE, "--stop is not UTF-8");
	strcpy(a.sku.code, code);
	if (reason)
		strcpy(a.wish.reason, reason);
	return database_run(EMBEDDED_FIND, false, sku_act, &a);
}
