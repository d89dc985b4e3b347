/* uri.h - the path and the query of a request: taken apart, percent-decoded once, checked. Pure. */
#ifndef URI_H
#define URI_H

#include "engine/base/text.h"

/* True: `host`, the value of a Host (RFC 9110, 7.2) with its port if it has one, is an IP address, localhost or one of
 * `names`, which commas divide; NULL: no more. */
bool host_is_known(const char *host, const char *names);
/* Takes the target of a request apart, in place: *path begins with a slash unless it can be no path of ours, *query is
 * NULL without a query. A target may name a host, as proxies get it (RFC 9112, 3.2.2): the host does not matter. */
void target_split(char *target, const char **path, char **query);
enum { PATH_CODES = 2 }; /* number of codes that a path may name */
struct path_code {
	const char *at; /* in the path; NULL: the pattern has fewer codes */
	size_t      len;
};
/* True: `path` fits `pattern`, in which each {..} is one segment that is not empty: a code, as it stands there. */
bool path_fits(const char *pattern, const char *path, struct path_code codes[PATH_CODES]);
/* True: every % begins an escape, and there is no #: a client keeps the fragment to itself (RFC 9110, 7.1). */
bool percent_valid(const char *from, size_t len);
/* Decodes %XX, once, into `to` (NUL-terminated; may be `from`). false: not valid, a NUL, or too long for `size`. */
bool percent_decode(char *to, size_t size, const char *from, size_t len) MUST_CHECK;
/* Adds `from` with every byte outside of the unreserved set (RFC 3986, 2.3) as %XX. */
void percent_encode(struct text *to, const char *from);

enum { QUERY_MAX = 8 };
struct query_string {
	size_t      count;
	const char *name[QUERY_MAX], *value[QUERY_MAX];
	bool        used[QUERY_MAX];
};
/* Takes a query apart, in place. false: too many parameters, a bad escape, or a name that occurs twice; *wrong: the
 * name at fault, or "". */
bool query_parse(struct query_string *q, char *query, const char **wrong) MUST_CHECK;

#endif
