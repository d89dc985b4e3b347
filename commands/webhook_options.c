/* webhook_options.c - see webhook_options.h. */
#include "commands/webhook_options.h"
#include "commands/options.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "jobs/webhooks/address.h"

static bool keys_read(struct vault *v, const char *list, char *why, size_t why_size)
{
	char *files = mem_copy(list), *rest = files;
	bool  ok = true;

	for (char *file = strsep(&rest, ","); ok && file; file = strsep(&rest, ",")) {
		ok = vault_read(v, file, why, why_size);
		if (ok)
			option_secret_read(OPTION_webhooks_key, file);
	}
	free(files);
	return ok;
}

int webhook_options_read(struct webhook_options *o)
{
	struct address_ranges ranges = {0};
	char                  why[400] = "";
	const char           *allow = option_text(OPTION_webhooks_allow);
	bool                  ok;

	*o = (struct webhook_options){.sender = {.allow = allow}};
	if (!keys_read(&o->vault, option_text(OPTION_webhooks_key), why, sizeof(why))) {
		say("--webhooks-key: %s", why);
		return EXIT_CONFIG;
	}
	ok = !allow || address_ranges_add(&ranges, allow, why, sizeof(why));
	address_ranges_fini(&ranges);
	if (!ok)
		say("--webhooks-allow: %s", why);
	return ok ? EXIT_DONE : EXIT_CONFIG;
}
