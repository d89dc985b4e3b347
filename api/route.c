/* route.c - see route.h. The key is checked before anything else of the request, and before its body has come. */
#include "api/route.h"
#include "api/activity.h"
#include "api/order/amend_call.h"
#include "api/stock/availability.h"
#include "api/calls/buried.h"
#include "api/calls/events_call.h"
#include "api/order/find.h"
#include "api/order/history_call.h"
#include "api/calls/jobs_call.h"
#include "api/order/on_hold_call.h"
#include "api/stock/locations_call.h"
#include "api/order/reservation_list.h"
#include "api/order/reservations.h"
#include "api/order/split_call.h"
#include "api/stock/stock_bulk.h"
#include "api/stock/stock_call.h"
#include "api/calls/tasks.h"
#include "api/stock/sales_call.h"
#include "api/stock/thresholds.h"
#include "api/stock/waiting_call.h"
#include "api/calls/webhooks.h"
#include "api/console.h"
#include "api/health.h"
#include "api/http/uri.h"
#include "api/keys.h"
#include "api/request.h"
#include "engine/base/nearest.h"

#include <stdio.h>

static const struct {
	const char *method, *path;
	void (*handler)(struct request *r);
	const struct job_kind *job; /* instead of a handler */
	enum callers           callers;
} routes[] = {
#define X(method, path, handler, callers) {#method, path, handler, NULL, callers},
#define JOB(method, path, job, callers)   {#method, path, NULL, &job, callers},
#include "api/routes.def"
#undef X
};

/* A call that needs no key has no body. If one comes, up to this many bytes are taken and ignored. */
enum { STRANGERS_BODY_MAX = 4096 };

/* ---- 401, 403, 429 */

/* True: a page of another origin than this service, shown by a browser, made the request. The browser says so itself
 * (Fetch Metadata), and names the page's origin (RFC 6454). Behind a unix socket a proxy may have changed the Host. */
static bool from_another_origin(const struct asked *asked)
{
	const char              *site = asked->headers[HEADER_SEC_FETCH_SITE], *origin = asked->headers[HEADER_ORIGIN];
	const char              *host = asked->headers[HEADER_HOST];
	static const char *const schemes[] = {"http://", "https://"}; /* TLS may end at a proxy */
	bool                     ours = !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;

	if (!ours || !origin || (site && !asked->tcp))
		return !ours;
	for (size_t i = 0; i < LENGTH(schemes); i++)
		if (strncasecmp(origin, schemes[i], strlen(schemes[i])) == 0)
			return !host || strcasecmp(origin + strlen(schemes[i]), host) != 0;
	return true;
}

/* Judges a caller without keys. Every client that reaches the service may call, but no page may change data through a
 * person's browser, nor read by TCP: a page under a name of its own that leads to this machine (DNS rebinding) is
 * recognized by the Host, which a browser always sends. NULL: the caller may; otherwise the reason why not. */
static const char *stranger_refused(const struct common *common, const struct asked *asked, bool changes)
{
	const char *host = asked->headers[HEADER_HOST], *site = asked->headers[HEADER_SEC_FETCH_SITE];

	if (asked->tcp && host && !host_is_known(host, common->public_hosts))
		return "the Host is no address, localhost or name of --public-host";
	if (changes && from_another_origin(asked))
		return "a page of another origin changes nothing here";
	if (asked->tcp && site && strcmp(site, "cross-site") == 0)
		return "a page of another site reads nothing here";
	return NULL;
}

static bool call_changes(enum callers callers)
{
	return callers != ANY_CALLER && callers != READERS;
}

/* Judges the caller by the head of the request. *secret, *roles: as in keys_verdict. */
static enum outcome verdict(const struct common *common, const struct asked *asked, enum callers callers,
                            struct secret **secret, unsigned *roles, const char **detail)
{
	enum outcome verdict = OUTCOME_OK;

	*detail = NULL;
	if (common->keys)
		verdict = keys_verdict(common->keys, asked->headers[HEADER_AUTHORIZATION], callers, secret, roles);
	else if (callers != ANY_CALLER && (*detail = stranger_refused(common, asked, call_changes(callers))))
		return FORBIDDEN;
	if (verdict != OUTCOME_OK)
		*detail = outcome_detail(verdict);
	return verdict;
}

/* Judges the caller; false: already answered. */
static bool admit(struct request *r, enum callers callers)
{
	struct common *common = r->all->common;
	struct secret *secret = r->asked->known;
	const char    *detail;
	enum outcome   outcome = verdict(common, r->asked, callers, &secret, &r->roles, &detail);

	r->key = secret ? secret->key : NULL;
	if (outcome == OUTCOME_OK && r->key && !key_takes_turn(common->keys, r->key))
		outcome = TOO_FAST, detail = outcome_detail(TOO_FAST);
	if (outcome == OUTCOME_OK) {
		r->audited = call_changes(callers) && r->key && r->roles & ROLE_ADMIN &&
		             strcmp(r->asked->method, "GET") != 0 && !r->is_head;
		return true;
	}
	metrics_refused(&r->all->metrics, outcome);
	if (outcome_status(outcome) == 401)
		reply_header(r, "WWW-Authenticate", "Bearer");
	return reply_outcome(r, outcome, NULL, detail, NULL, NULL);
}

/* ---- 400, 404, 405, 413 */

/* Decodes the codes in the path, each once, after the path was cut at its slashes; the route's pattern has their
 * names. */
static bool read_codes(struct request *r, const struct path_code codes[PATH_CODES])
{
	const char *brace = routes[r->route].path;
	char        name[32], rule[CODE_RULE_SIZE];

	for (size_t i = 0; i < PATH_CODES && codes[i].at; i++) {
		const struct path_code *code = &codes[i];
		size_t                  max, len;
		bool                    is_sku, is_id;

		brace = strchr(brace, '{') + 1;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(brace, "}"), brace);
		is_sku = strcmp(name, "sku") == 0;
		is_id = !is_sku && strcmp(name, "location") != 0;
		max = is_id ? ID_MAX : is_sku ? SKU_MAX : LOCATION_MAX;
		if (percent_decode(r->param[i], sizeof(r->param[i]), code->at, code->len) &&
		    (len = strlen(r->param[i]), (is_id ? id_valid : code_valid)(r->param[i], len, max)))
			continue;
		snprintf(rule, sizeof(rule), is_id ? ID_RULE : CODE_RULE, max);
		return reply_invalid(r, name, percent_valid(code->at, code->len) ? rule : "is not percent-encoded");
	}
	return true;
}

/* Writes the route's path with the caller's parts in the place of its codes; empty if `path` has another number of
 * parts. */
static void path_of_route(const char *route, const char *path, char *to, size_t size)
{
	size_t len = 0;

	*to = '\0';
	while (*route == '/' && *path == '/') {
		size_t own = strcspn(++route, "/"), asked = strcspn(++path, "/");
		bool   is_code = *route == '{';

		len += (size_t)snprintf(to + len, size - len, "/%.*s", (int)(is_code ? asked : own),
		                        is_code ? path : route);
		if (len >= size)
			break;
		route += own;
		path += asked;
	}
	if (*route || *path || len >= size)
		*to = '\0';
}

enum { PATH_NEAR = 65 }; /* bytes of a path for which another one is looked for, and a NUL */

static const char *path_nth(const void *arg, size_t i)
{
	const char *path = ((const char(*)[PATH_NEAR])arg)[i];

	return *path ? path : NULL;
}

static void no_such_path(struct request *r, const char *path)
{
	char        near[LENGTH(routes)][PATH_NEAR], detail[120];
	const char *meant;

	for (size_t i = 0; i < LENGTH(routes); i++)
		path_of_route(routes[i].path, path, near[i], sizeof(near[i]));
	meant = nearest(path, strlen(path), LENGTH(routes), path_nth, near);
	snprintf(detail, sizeof(detail), "there is no such path%s%s%s", meant ? "; did you mean " : "",
	         meant ? meant : "", meant ? "?" : "");
	reply_problem(r, 404, "not_found", NULL, detail, NULL, NULL);
}

static void no_such_call(struct request *r, const char *path)
{
	char             allow[64] = "";
	struct path_code codes[PATH_CODES];

	for (size_t i = 0; i < LENGTH(routes); i++)
		if (path_fits(routes[i].path, path, codes) && !strstr(allow, routes[i].method)) {
			if (*allow)
				strcat(allow, ", ");
			strcat(allow, routes[i].method);
			if (strcmp(routes[i].method, "GET") == 0)
				strcat(allow, ", HEAD");
		}
	if (*allow == '\0') {
		no_such_path(r, path);
		return;
	}
	reply_header(r, "Allow", allow);
	reply_problem(r, 405, "method_not_allowed", NULL, "the path is there, the method is not", NULL, NULL);
}

static bool method_fits(const struct asked *asked, const char *method)
{
	return strcmp(asked->method, method) == 0 || (strcmp(asked->method, "HEAD") == 0 && strcmp(method, "GET") == 0);
}

static enum route route_find(const struct asked *asked, const char *path, struct path_code codes[PATH_CODES])
{
	size_t i = 0;

	_Static_assert(LENGTH(routes) == ROUTE_NONE, "the routes are numbered as they stand");
	while (i < LENGTH(routes) && !(method_fits(asked, routes[i].method) && path_fits(routes[i].path, path, codes)))
		i++;
	return (enum route)i;
}

/* The answer that a path is unknown goes to callers with a key only. */
static enum callers route_callers(enum route route)
{
	return route == ROUTE_NONE ? READERS : routes[route].callers;
}

static size_t body_max(const struct common *common, enum route route)
{
	return route_callers(route) == ANY_CALLER ? STRANGERS_BODY_MAX : common->body_max;
}

uint64_t route_takes(const struct common *common, struct asked *asked)
{
	struct path_code codes[PATH_CODES];
	struct secret   *secret = NULL;
	unsigned         roles;
	const char      *path, *detail;
	char            *query;
	enum route       route;

	target_split(asked->target, &path, &query);
	route = route_find(asked, path, codes);
	if (query)
		query[-1] = '?'; /* the target is split again when the whole request has come */
	if (verdict(common, asked, route_callers(route), &secret, &roles, &detail) != OUTCOME_OK ||
	    route == ROUTE_NONE || asked->length > body_max(common, route))
		return 0;
	asked->known = secret;
	return body_max(common, route) * 2;
}

/* The body of a call that is made; false: already answered. The reader of the body measures what came in chunks. */
static bool body_fits(struct request *r)
{
	char detail[80];

	if (r->asked->length <= body_max(r->all->common, r->route))
		return true;
	snprintf(detail, sizeof(detail), BODY_RULE, body_max(r->all->common, r->route));
	return reply_problem(r, 413, "too_large", NULL, detail, NULL, NULL);
}

void route_dispatch(struct request *r)
{
	struct path_code codes[PATH_CODES];
	const char      *path, *wrong;
	char            *query;

	target_split(r->asked->target, &path, &query);
	r->route = route_find(r->asked, path, codes);
	if (!admit(r, route_callers(r->route)))
		return;
	if (r->route == ROUTE_NONE) {
		no_such_call(r, path);
		return;
	}
	if (!body_fits(r))
		return;
	assert(r->asked->whole);
	if (!read_codes(r, codes))
		return; /* answered */
	if (!query_parse(&r->query, query, &wrong))
		reply_invalid(r, wrong, "is not a readable query parameter");
	else if (routes[r->route].job)
		job_handle(r, routes[r->route].job);
	else
		routes[r->route].handler(r);
}
