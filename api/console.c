/* console.c - see console.h. */
#include "api/console.h"
#include "api/request.h"
#include "engine/base/hash.h"

#include <stdio.h>

static const struct file {
	const char *name, *text;
} files[] = {
#include "console_files.h"
};

static const char *type_of(const char *name)
{
	static const struct {
		const char *end, *type;
	} types[] = {{".html", "text/html; charset=utf-8"},
	             {".js", "text/javascript; charset=utf-8"},
	             {".css", "text/css; charset=utf-8"}};
	const char *end = strrchr(name, '.');

	for (size_t i = 0; i < LENGTH(types); i++)
		if (strcmp(end, types[i].end) == 0)
			return types[i].type;
	return "text/plain; charset=utf-8";
}

/* The browser's own guards: a page loads nothing from elsewhere, sends no Referer, makes no HTML of a text, and stands
 * in no frame. */
static void reply_guards(struct request *r)
{
	static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
				     "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
				     "require-trusted-types-for 'script'; trusted-types 'none'";

	reply_header(r, "Content-Security-Policy", policy);
	reply_header(r, "Referrer-Policy", "no-referrer");
	reply_header(r, "Cross-Origin-Opener-Policy", "same-origin");
	reply_header(r, "Cross-Origin-Resource-Policy", "same-origin");
}

/* Answers with a file, or with 304 if the client has it already (RFC 9110, 13.1.2). A proxy that compresses makes the
 * tag weak, and a client may send a list of tags. */
static void reply_file(struct request *r, const char *name)
{
	const struct file *file = files;
	const char        *known = request_header(r, HEADER_IF_NONE_MATCH);
	char               tag[32];

	assert(r->route == ROUTE_get_console || r->route == ROUTE_get_console_page);
	if (!query_end(r))
		return;
	while (file < files + LENGTH(files) && strcmp(file->name, name) != 0)
		file++;
	if (file == files + LENGTH(files)) {
		reply_problem(r, 404, "not_found", NULL, "the console has no such file", NULL, NULL);
		return;
	}
	r->route = ROUTE_get_console;
	snprintf(tag, sizeof(tag), "\"%08x-%zx\"", hash_stable(file->text, strlen(file->text)), strlen(file->text));
	reply_header(r, "ETag", tag);
	reply_guards(r);
	if (known && (strcmp(known, "*") == 0 || strstr(known, tag)))
		reply_as(r, 304, NULL, NULL, 0);
	else
		reply_as(r, 200, type_of(name), file->text, strlen(file->text));
}

void get_console(struct request *r)
{
	reply_file(r, r->param[0]);
}

void get_console_page(struct request *r)
{
	reply_file(r, "index.html");
}

/* The path is relative, so that it leads here also if a proxy adds a prefix. */
static void reply_way(struct request *r, const char *to)
{
	if (!query_end(r))
		return;
	reply_header(r, "Location", to);
	reply_as(r, 303, "text/plain", NULL, 0);
}

void get_root(struct request *r)
{
	reply_way(r, "./console/");
}

void get_console_way(struct request *r)
{
	reply_way(r, "console/");
}
