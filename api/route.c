/* route.c - which call is meant: by method and path, after the key was looked at. */
#include "api/http.h"
#include "engine/base/memory.h"

#include <stdio.h>
#include <string.h>

static const struct route_entry {
	const char *method, *path, *name;
	void (*handler)(struct request *r);
	enum callers callers;
} routes[] = {
#define X(method, path, handler, callers) {#method, path, #method " " path, handler, callers},
#include "api/routes.def"
#undef X
};

const char *route_name(enum route route)
{
	return route < ROUTE_NONE ? routes[route].name : "none";
}

static bool method_fits(const struct request *r, const char *method)
{
	return strcmp(r->asked->method, method) == 0 || (r->is_head && strcmp(method, "GET") == 0);
}

/* The code in the path, decoded once; what it is called stands in the route's pattern. */
static bool read_param(struct request *r, const char *param, size_t len)
{
	const char *brace = strchr(routes[r->route].path, '{');
	char        name[32], rule[100];

	if (!brace)
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(brace + 1, "}"), brace + 1);
	if (percent_decode(r->param, sizeof(r->param), param, len) && code_valid(r->param, strlen(r->param), ID_MAX))
		return true;
	snprintf(rule, sizeof(rule), CODE_RULE, (size_t)ID_MAX);
	reply_invalid(r, name, rule);
	return false;
}

static bool read_query(struct request *r, const char *query)
{
	const char *wrong;

	if (!query || !*query)
		return true;
	r->query = mem_try(sizeof(*r->query));
	if (!r->query) {
		reply_no_memory(r);
		return false;
	}
	if (query_parse(r->query, query, &wrong))
		return true;
	reply_invalid(r, wrong, "is not a readable query parameter");
	return false;
}

static void method_not_allowed(struct request *r, const char *path)
{
	char        allow[64] = "";
	const char *param;
	size_t      len;

	for (size_t i = 0; i < LENGTH(routes); i++)
		if (path_fits(routes[i].path, path, &param, &len) && !strstr(allow, routes[i].method)) {
			if (*allow)
				strcat(allow, ", ");
			strcat(allow, routes[i].method);
			if (strcmp(routes[i].method, "GET") == 0)
				strcat(allow, ", HEAD");
		}
	if (*allow == '\0') {
		reply_problem(r, 404, "not_found", NULL, "there is no such path", NULL, NULL);
		return;
	}
	reply_header(r, "Allow", allow);
	reply_problem(r, 405, "method_not_allowed", NULL, "the path is there, the method is not", NULL, NULL);
}

void route_dispatch(struct request *r)
{
	const char *param;
	char       *path, *query;
	size_t      len, i = 0;

	target_split(r->asked->target, &path, &query);
	while (i < LENGTH(routes) &&
	       !(method_fits(r, routes[i].method) && path_fits(routes[i].path, path, &param, &len)))
		i++;
	r->route = (enum route)i;
	if (!keys_admit(r, r->route == ROUTE_NONE ? READERS : routes[i].callers))
		return; /* what is not there is told to those who have a key */
	if (r->route == ROUTE_NONE)
		method_not_allowed(r, path);
	else if (read_param(r, param, len) && read_query(r, query))
		routes[i].handler(r);
}
