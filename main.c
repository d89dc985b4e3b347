/* main.c - the table of commands, nothing else. */
#include "commands/audit.h"
#include "commands/backup.h"
#include "commands/restore.h"
#include "commands/commands.h"
#include "commands/demo.h"
#include "commands/events.h"
#include "commands/export.h"
#include "commands/import.h"
#include "commands/jobs_command.h"
#include "commands/key_command.h"
#include "commands/manual.h"
#include "commands/options.h"
#include "commands/serve.h"
#include "commands/show.h"
#include "commands/sku_command.h"
#include "commands/stats.h"
#include "commands/tune.h"
#include "commit.h"
#include "engine/base/log.h"
#include "engine/base/nearest.h"

#include <stdio.h>
#include <string.h>

static int help_run(void);
static int pages_run(void);
static int version_run(void);

/* Ends with an empty name. */
const struct command commands[] = {
	{"serve", SERVE, "", 0, "the service",
         "  holdfast serve --jobs=expire\n"
         "  holdfast serve --db 'mariadb://shop@localhost/holdfast?socket=/run/mysqld/mysqld.sock' --listen "
         "unix:/run/holdfast.sock\n"
         "  holdfast serve --tls-cert /etc/holdfast/cert.pem --tls-key /etc/holdfast/key.pem\n",
         serve_run},
	{"migrate", MIGRATE, "", 0, "brings the schema up to date",
         "  holdfast migrate --db 'mariadb://admin@10.0.0.5:3306/holdfast?tls=verify&tls_ca=/etc/holdfast/ca.pem' "
         "--db-password-file /etc/holdfast/password\n"
         "  holdfast migrate --check\n",
         migrate_run},
	{"import", IMPORT, "FILE.csv", 1,
         "loads stock from a CSV file with columns sku, qty and optionally location, or those of --kind",
         "  holdfast import delivery.csv\n"
         "  holdfast import delivery.csv --id monday --bad bad.csv\n"
         "  holdfast import stock.csv --kind count --as-of 2026-11-20T22:00:00Z\n"
         "  holdfast import inventory_export.csv --from shopify --new-skus --dry-run\n"
         "  holdfast import list.csv --columns 'sku=Variant SKU,qty=Available,location=Store'\n"
         "  holdfast import orders.csv --kind reservation\n"
         "A count has columns sku, counted and optionally location, expected, as_of; a transfer sku, qty, from, to;\n"
         "open orders order_id, sku, qty and optionally location, customer, state, waits_since, ship_after.\n"
         "Separators are commas, semicolons or tabs; the text is UTF-8 or UTF-16.\n",
         import_run},
	{"export", EXPORT, "stock|movements|reservations", 1, "prints CSV, on a live service, in little memory",
         "  holdfast export stock > stock.csv\n"
         "  holdfast export reservations --raw | gzip > orders.csv.gz\n"
         "A page is read at a time, so what changes meanwhile may be of two moments. A cell that a spreadsheet would\n"
         "run as a formula begins with an apostrophe, unless --raw is given.\n",
         export_run},
	{"audit", AUDIT, "", 0, "checks every invariant; exits with 1 and prints the rows that break one",
         "  holdfast audit\n"
         "  holdfast audit --sku 85123A --json\n",
         audit_run},
	{"stats", STATS, "", 1, "stock, reservations by state, tasks, oldest waiting, slots",
         "  holdfast stats\n"
         "  holdfast stats --json\n"
         "  holdfast stats --watch 5\n",
         stats_run},
	{"show", SHOW, "sku SKU | skus TEXT | order ORDER_ID | task ID | buried", 2, "one of them, for people",
         "  holdfast show sku MUG\n"
         "  holdfast show skus shirt\n"
         "  holdfast show order R1\n"
         "  holdfast show order R1 --json\n"
         "  holdfast show buried\n"
         "  holdfast show buried --error 'carrier down'\n"
         "Exits with 1 where there is none.\n",
         show_run},
	{"sku", SKU, "SKU", 1, "stops the sale of a sku, at once and in every process, and lets it go on",
         "  holdfast sku MUG --stop 'recall of lot 17'\n"
         "  holdfast sku MUG --start\n"
         "Orders keep the units that they have. Exits with 1 where there is no such sku.\n",
         sku_run},
	{"events", EVENTS, "", 0, "what happened, a line of JSON each; the cursor to go on from on stderr at the end",
         "  holdfast events > events.jsonl 2> cursor\n"
         "  holdfast events --after \"$(tail -n 1 cursor)\" --types reservation.settled,stock.out --follow\n"
         "  holdfast events --after 2026-11-22T08:00:00Z\n"
         "--after takes a cursor, a time, or now; without it the oldest event that is kept comes first. Exits with 1\n"
         "where the cursor is none, or of events that are no longer kept, or where no events are kept.\n",
         events_run},
	{"work", WORK, "settle|expire|deliver", 1,
         "claims due reservations and completes them; brings events to webhooks",
         "  holdfast work settle --workers 4\n"
         "  holdfast work settle --once --exec ./settle.py\n"
         "  holdfast work expire --every 1\n"
         "  holdfast work deliver --webhooks-allow 10.0.0.0/8\n"
         "--once ends when nothing is ready: with 0, or with 1 if the database refused to complete an order.\n",
         work_run},
	{"jobs", JOBS, "[pause|resume settle|expire|deliver]", 2, "lists the jobs, pauses and resumes them",
         "  holdfast jobs\n"
         "  holdfast jobs pause settle --reason 'the carrier is down'\n"
         "  holdfast jobs resume settle\n",
         jobs_run},
	{"reap", REAP, "", 0, "frees the orders of workers that went silent",
         "  holdfast reap --dry-run --json\n"
         "  holdfast reap --every 10\n",
         reap_run},
	{"kick", KICK, "ORDER_ID | --all", 1, "brings buried reservations back",
         "  holdfast kick R1\n"
         "  holdfast kick --all --json\n",
         kick_run},
	{"purge", PURGE, "", 0, "removes reservations and tasks that ended long ago; their ids may be used again",
         "  holdfast purge --keep 90\n"
         "  holdfast purge --keep 90 --json\n"
         "Events older than `serve --events-keep` says go, too, whatever --keep is.\n"
         "Exits with 1 while the clocks of the database and of this machine are more than 5 minutes apart: by a wrong\n"
         "clock a young row may look old.\n",
         purge_run},
	{"backup", BACKUP, "DIR", 1, "copies the database into a new folder below DIR, while the service runs",
         "  holdfast backup /var/backups/holdfast --keep 7\n"
         "  holdfast backup /var/backups/holdfast --verify --json\n"
         "  holdfast backup /var/backups/holdfast/2026-11-29T085000Z --verify\n"
         "Needs the package mariadb-backup. The folder is named by its time in UTC. One that ends in .unfinished is\n"
         "no back-up; the next run removes it.\n",
         backup_run},
	{"restore", RESTORE, "DIR", 1, "makes a back-up the private database of --data; of a folder of them the newest",
         "  holdfast restore /var/backups/holdfast --data var\n"
         "  holdfast restore /var/backups/holdfast/2026-11-29T085000Z --data var --aside\n"
         "Exits with 1 while the database is in use, or where one is there and --aside is not given.\n",
         restore_run},
	{"tune", TUNE, "", 0, "tries 1, 2, 4 and 8 slots in a database of its own: what each is worth here",
         "  holdfast tune\n"
         "  holdfast tune --seconds 10 --json --db mariadb://shop@10.0.0.5:3306/holdfast\n"
         "The database is NAME_tune beside NAME. An account that may make it makes it and removes it at the end:\n"
         "its comment is `made by holdfast tune`. Otherwise the exit is 78 with the SQL by which an administrator\n"
         "makes it. Tune fills one that is empty and removes the tables at the end; other tables in it: 78.\n",
         tune_run},
	{"key", KEY, "new NAME ROLE | list | rotate NAME | revoke NAME", 3,
         "makes, lists, rotates and revokes the keys of a file; a secret is printed once",
         "  holdfast key new shop order --keys /etc/holdfast/keys\n"
         "  holdfast key new packers worker --keys /etc/holdfast/keys --expires 90d --json\n"
         "  holdfast key list --config /etc/holdfast/holdfast.conf\n"
         "  holdfast key rotate shop --overlap 24h --keys /etc/holdfast/keys\n"
         "  holdfast key revoke packers --keys /etc/holdfast/keys\n"
         "Roles: order (reservations and reads), worker (tasks and reads), read, admin (all). Limits stand at the\n"
         "end of the line: rps=N requests a second, held=N units held open. A running service sees the new file\n"
         "within a second. The list knows when a key was used last if --data or --db names the service's database.\n",
         key_run},
	{"demo", DEMO, "", 0, "opens a made-up shop on a service whose database is empty, and plays its customers",
         "  holdfast serve --data shop --jobs & holdfast demo\n"
         "  holdfast demo --for 0 --url https://holdfast.example --key-file admin.key\n"
         "The shop is the same each time: 300 skus at eight locations, orders in all states, a queue, and a webhook\n"
         "that fails. Then customers order, workers ship, and goods come in. Exits with 1 where the database is not\n"
         "empty.\n",
         demo_run},
	{"manual", 0, "man|bash|zsh|conf", 1,
         "prints the manual page, a shell's completion, or a file of options for the service",
         "  holdfast manual man | man -l -\n"
         "  holdfast manual bash > ~/.local/share/bash-completion/completions/holdfast\n"
         "  holdfast manual conf > holdfast.conf\n",
         pages_run},
	{"help", 0, "[COMMAND]", 1, "this, or the flags and examples of a command", "  holdfast help serve\n",
         help_run},
	{"version", 0, "", 0, "the version of this program", "  holdfast version\n", version_run},
	{0},
};

static const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/* The width of the longest command. */
static int usage_width(void)
{
	size_t width = 0;

	for (const struct command *c = commands; c->name; c++) {
		size_t len = strlen(c->name) + 1 + strlen(c->operands);

		width = len > width ? len : width;
	}
	return (int)width;
}

static int overview(FILE *to, int status)
{
	int width = usage_width();

	fprintf(to, "holdfast " HOLDFAST_VERSION " - reserves stock, never twice\n\n");
	for (const struct command *c = commands; c->name; c++)
		fprintf(to, "  holdfast %s %-*s  %s\n", c->name, width - (int)strlen(c->name) - 1, c->operands,
		        c->summary);
	fprintf(to, "\n`holdfast COMMAND --help` shows its flags and examples.\n");
	return status;
}

static const char *command_name(const void *arg, size_t i)
{
	(void)arg;
	return commands[i].name;
}

static int no_command(const char *name)
{
	const char *meant = nearest(name, strlen(name), LENGTH(commands) - 1, command_name, NULL);

	if (meant)
		return say_status(EXIT_USAGE, "there is no command %s; did you mean %s?", name, meant);
	say("there is no command %s", name);
	return overview(stderr, EXIT_USAGE);
}

static int help_run(void)
{
	if (!operand(0))
		return overview(stdout, EXIT_DONE);
	if (!command_find(operand(0)))
		return no_command(operand(0));
	options_help(command_find(operand(0)));
	return EXIT_DONE;
}

static int pages_run(void)
{
	return manual_run(commands);
}

static int version_run(void)
{
	puts("holdfast " HOLDFAST_VERSION " (" HOLDFAST_COMMIT ", " HOLDFAST_COMMITTED ")");
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *flag, *command;
	} flags[] = {{"--help", "help"}, {"-h", "help"}, {"--version", "version"}, {"-V", "version"}};
	const char           *name = argc > 1 ? argv[1] : NULL;
	const struct command *command;
	int                   status;

	if (!name)
		return overview(stderr, EXIT_USAGE);
	for (size_t i = 0; i < LENGTH(flags); i++)
		if (strcmp(name, flags[i].flag) == 0)
			name = flags[i].command;
	command = command_find(name);
	if (!command)
		return no_command(name);
	status = options_read(command, argc - 1, argv + 1);
	return status == EXIT_DONE ? command->run() : status;
}
