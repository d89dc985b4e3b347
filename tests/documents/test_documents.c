/* test_documents.c - every command that the documents show is run as a reader would run it, and what they show of its
 * output is compared (tests/documents/documents.py). */
#include "tests/kit/program.h"
#include "tests/kit/scratch.h"
#include "tests/kit/server.h"

#include <criterion/criterion.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs a document; returns the exit status, and what was said. */
static int document(const char *path, const char *socket, struct text *said)
{
	char command[900], log[300], name[100];

	snprintf(name, sizeof(name), "%s", path);
	snprintf(log, sizeof(log), "%s/document-%s.log", scratch_dir(), basename(name));
	snprintf(command, sizeof(command),
	         "python3 tests/documents/documents.py --holdfast %s --folder %s --socket '%s' %s >%s 2>&1",
	         program_path(), scratch_dir(), socket, path, log);
	int status = system(command);

	program_log_all(log, said);
	return status;
}

/* A block that was not run is told, with its reason. */
static void document_is_true(const char *path, const char *socket)
{
	struct text said = {0};
	int         status = document(path, socket, &said);

	cr_assert_eq(status, 0, "%s", said.data);
	for (char *rest = said.data, *row; (row = strsep(&rest, "\n"));)
		if (strstr(row, ": not run: "))
			fprintf(stderr, "%s\n", row);
	text_fini(&said);
}

Test(documents, readme)
{
	document_is_true("README.md", "");
}

Test(documents, orders)
{
	document_is_true("docs/orders.md", "");
}

Test(documents, stock)
{
	document_is_true("docs/stock.md", "");
}

Test(documents, events)
{
	document_is_true("docs/events.md", "");
}

/* These two have links, commands and flags, and nothing that is run. */
Test(documents, reference)
{
	document_is_true("docs/reference.md", "");
}

Test(documents, cluster)
{
	document_is_true("docs/cluster.md", "");
}

/* The database of the operator's own, where the document has the socket of Debian's MariaDB. */
static struct server server;

static void server_end(void)
{
	server_remove(&server);
}

Test(documents, operator, .fini = server_end)
{
	struct db *db;

	server_make(&server, NULL);
	server_start(&server, (const char *const[]){NULL});
	db = server_connect(&server, "holdfast");
	cr_assert(db_text(db, "DROP DATABASE holdfast", NULL, NULL) == DB_OK); /* the document makes it */
	db_free(db);
	document_is_true("docs/operator.md", server.socket);
}

Test(documents, developer)
{
	document_is_true("docs/developer.md", "");
}

/* Documents that are wrong in one place, and how that is told. */
Test(documents, wrong)
{
#define SH(commands)  "```sh\n" commands "\n```\n"
#define TEXT(shown)   "\n```text\n" shown "\n```\n"
#define JSON(shown)   "\n```json\n" shown "\n```\n"
#define VERSION_IS(n) SH("build/holdfast version") TEXT("holdfast " n)
	static const struct {
		const char *document, *told;
	} rows[] = {
		{VERSION_IS(HOLDFAST_VERSION " (...)") SH("echo '{\"at\":\"2026-11-22T10:00:00.000Z\",\"id\":\"a-7\"}'")
	                 JSON("{\"at\": \"2001-01-01T00:00:00.000Z\",\n \"id\": \"a-...\"}"),
	         ": 2 blocks, 0 not run, 0 wrong"},
		{VERSION_IS("1.0 (...)"), ":1: it prints\nholdfast " HOLDFAST_VERSION " ("},
		{SH("build/holdfast nonsense 2>/dev/null\ntrue"), ":1: it ends with 64, not with 0"},
		{SH("true") "<!-- test: exits 1 -->\n" SH("true"), ":5: it ends with 0, not with 1"},
		{SH("echo '{\"status\":409,\"code\":\"short\"}'"), ":1: a refusal that the document does not show"},
		{SH("echo '{\"n\":1}'") JSON("{\"n\":2}"), ":1: it prints\n{\"n\":1}\n"},
		{"Say `holdfast stats --frequently`.\n", ":1: holdfast stats has no --frequently"},
		{"Say `holdfast sell`.\n", ":1: holdfast has no command sell\n"},
		{"Say\n`make money`.\n", ":2: the Makefile has no target money"},
		{"See [that](nowhere.md).\n", ":1: the link nowhere.md leads nowhere"},
		{"See [that](wrong.md#there).\n", ":1: the link wrong.md#there leads nowhere"},
		{"<!-- test: tour engine/lane -->\n| | |\n|---|---|\n| `sale.c` | the sale |\n",
	         ":1: sale.c is not in engine/lane\n"},
		{"<!-- test: skip on Sundays -->\n" SH("sudo holdfast sell"), ":2: not run: on Sundays\n"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		char        path[300];
		struct text said = {0};
		FILE       *file;
		int         status;

		snprintf(path, sizeof(path), "%s/wrong.md", scratch_dir());
		file = fopen(path, "we");
		cr_assert(file && fputs(rows[i].document, file) >= 0 && fclose(file) == 0);
		status = document(path, "", &said);
		cr_expect_eq(status != 0, i > 0, "row %zu: %s", i, said.data);
		cr_expect(strstr(said.data, rows[i].told), "row %zu: %s", i, said.data);
		text_fini(&said);
	}
}
