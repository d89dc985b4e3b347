/* main.c - the table of commands, nothing else. */
#include "api/options.h"

#include <stdio.h>
#include <string.h>

#ifndef VERSION
#define VERSION "0.1.0"
#endif

const struct command commands[] = {
	{"serve", SERVE, "", "the service",
         "  holdfast serve --jobs=expire\n"
         "  holdfast serve --db 'mariadb://shop@localhost/holdfast?socket=/run/mysqld/mysqld.sock' --listen "
         "unix:/run/holdfast.sock\n"
         "  holdfast serve --tls-cert /etc/holdfast/cert.pem --tls-key /etc/holdfast/key.pem\n",
         serve_run},
	{"migrate", MIGRATE, "", "brings the schema up to date",
         "  holdfast migrate --db 'mariadb://admin@10.0.0.5:3306/holdfast?tls=verify&tls_ca=/etc/holdfast/ca.pem' "
         "--db-password-file /etc/holdfast/password\n"
         "  holdfast migrate --check\n",
         migrate_run},
	{"import", IMPORT, "FILE.csv", "receives stock from a CSV file with columns sku, qty and optionally location",
         "  holdfast import delivery.csv\n"
         "  holdfast import delivery.csv --id monday --skip-bad\n",
         import_run},
	{"audit", AUDIT, "", "checks every invariant; 1 and the rows that break it if one does not hold",
         "  holdfast audit\n"
         "  holdfast audit --sku 85123A --json\n",
         audit_run},
	{"stats", STATS, "", "stock, reservations by state, tasks, oldest waiting, slots",
         "  holdfast stats\n"
         "  holdfast stats --json\n",
         stats_run},
	{"work", WORK, "settle|expire", "claims due reservations and completes them",
         "  holdfast work settle --workers 4\n"
         "  holdfast work settle --once --exec ./settle.py\n"
         "  holdfast work expire --every 1\n"
         "--once ends when nothing is ready: 0, or 1 if the database would not have some order completed.\n",
         work_run},
	{"reap", REAP, "", "frees the orders of workers that went silent",
         "  holdfast reap --dry-run --json\n"
         "  holdfast reap --every 10\n",
         reap_run},
	{"kick", KICK, "ORDER_ID | --all", "brings buried reservations back",
         "  holdfast kick R1\n"
         "  holdfast kick --all --json\n",
         kick_run},
	{"purge", PURGE, "", "removes reservations and tasks that ended long ago; their ids may be used anew",
         "  holdfast purge --keep 90\n"
         "  holdfast purge --keep 90 --json\n",
         purge_run},
	{"tune", TUNE, "", "tries 1, 2, 4 and 8 slots on a scratch sku: what each is worth here",
         "  holdfast tune\n"
         "  holdfast tune --seconds 10 --json --db mariadb://shop@10.0.0.5:3306/holdfast\n",
         tune_run},
	{"key", KEY, "new NAME ROLE", "makes a key, adds its line to the file, prints it once",
         "  holdfast key new shop order --keys /etc/holdfast/keys\n"
         "  holdfast key new packers worker --keys /etc/holdfast/keys --json\n"
         "Roles: order (reservations and reads), worker (tasks and reads), read, admin (all). Limits are written "
         "behind the\n"
         "line: rps=N requests a second, held=N units held open. A running service reads the file again at SIGHUP.\n",
         key_run},
	{0},
};

static int help(FILE *to, int status)
{
	fprintf(to, "holdfast " VERSION " - reserves stock, never twice\n\n");
	for (const struct command *c = commands; c->name; c++)
		fprintf(to, "  holdfast %-8s %-10s %s\n", c->name, c->operands, c->summary);
	fprintf(to, "\n`holdfast COMMAND --help` shows its flags and examples.\n");
	return status;
}

int main(int argc, char **argv)
{
	const struct command *command = argc > 1 ? command_find(argv[1]) : NULL;

	if (command)
		return command->run(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		puts("holdfast " VERSION);
		return EXIT_DONE;
	}
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return help(stdout, EXIT_DONE);
	if (argc > 1)
		say("there is no command %s", argv[1]);
	return help(stderr, EXIT_USAGE);
}
