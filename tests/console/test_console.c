/* test_console.c - the console: its files as the service answers them; the page itself in a real browser
 * (tests/console/console.py), where one is installed. */
#include "tests/lang/flow.h"
#include "tests/kit/drill.h"
#include "tests/kit/http.h"
#include "tests/kit/program.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(console, files)
{
	flow("raw GET /                       -> 303 Location:./console/",
	     "raw GET /console                -> 303 Location:console/",
	     "raw GET /console/               -> 200 'Content-Type:text/html; charset=utf-8' ETag:*",
	     "raw GET /console/main.js        -> 200 'Content-Type:text/javascript; charset=utf-8'",
	     "raw GET /console/main.js        -> 200 X-Content-Type-Options:nosniff Referrer-Policy:no-referrer",
	     "raw GET /console/main.js If-None-Match:* -> 304 ETag:*",
	     "raw GET /console/main.js If-None-Match:\"0\" -> 200",
	     "raw GET /console/console.css    -> 200 'Content-Type:text/css; charset=utf-8'",
	     "raw GET /console/uplot.LICENSE  -> 200 'Content-Type:text/plain; charset=utf-8'",
	     "raw GET /console/none.js        -> 404 not_found",
	     "raw GET /console/a/b            -> 404 not_found",
	     "raw GET /console/?key=1         -> 400 field=key",
	     "raw POST /console/              -> 405 Allow:GET");
}

/* A stranger gets the files, which say nothing of the data, and nothing else. */
Test(console, without_a_key)
{
	flow("keys boss admin",
	     "serve --lanes 1",
	     "raw GET /                 -> 303",
	     "raw GET /console/         -> 200",
	     "raw GET /console/main.js  -> 200",
	     "raw GET /console/none.js  -> 404",
	     "raw GET /console/a/b      -> 401",
	     "raw GET /openapi.yaml     -> 401",
	     "raw GET /v1/activity      -> 401",
	     "raw GET /v1/key           -> 401");
}

/* The quick part of it; `make check-long` runs all. Chromium takes most of the time. make check runs it on the plain
 * program: what the service does for it, other tests ask for under the sanitizers. */
Test(browser, quick_checks, DRILL)
{
	struct text said = {0};
	char        command[600], log[300];

	snprintf(log, sizeof(log), "%s/console.log", scratch_dir());
	snprintf(command, sizeof(command),
	         "/usr/bin/python3 tests/console/console.py --holdfast %s --folder %s >%s 2>&1", program_path(),
	         scratch_dir(), log);
	int status = system(command);

	program_log_all(log, &said);
	cr_assert_eq(status, 0, "%s", said.data);
	if (strstr(said.data, ": not run: "))
		fprintf(stderr, "%s", said.data);
	text_fini(&said);
}
