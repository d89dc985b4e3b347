/* uri.c - see uri.h. */
#include "api/http/uri.h"

#include <arpa/inet.h>
#include <ctype.h>

static bool is_address(const char *host, size_t len)
{
	unsigned char bytes[16];
	char          text[64];
	bool          is_6 = len > 1 && host[0] == '[' && host[len - 1] == ']';

	if (len >= sizeof(text))
		return false;
	len -= 2 * is_6;
	memcpy(text, host + is_6, len);
	text[len] = '\0';
	return inet_pton(is_6 ? AF_INET6 : AF_INET, text, bytes) == 1;
}

static bool is_listed(const char *host, size_t len, const char *names)
{
	for (size_t n; *names; names += n + (names[n] == ',')) {
		n = strcspn(names, ",");
		if (n > 0 && n == len && strncasecmp(host, names, n) == 0)
			return true;
	}
	return false;
}

bool host_is_known(const char *host, const char *names)
{
	size_t      len = strcspn(host, *host == '[' ? "]" : ":");
	const char *port;

	len += host[len] == ']';
	port = host + len;
	if (*port && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1)))
		return false;
	return is_address(host, len) || is_listed(host, len, "localhost") || (names && is_listed(host, len, names));
}

void target_split(char *target, const char **path, char **query)
{
	static const char *const schemes[] = {"http://", "https://"};

	for (size_t i = 0; i < LENGTH(schemes); i++)
		if (strncasecmp(target, schemes[i], strlen(schemes[i])) == 0) {
			target += strlen(schemes[i]);
			target += strcspn(target, "/?");
			break;
		}
	*query = strchr(target, '?');
	if (*query)
		*(*query)++ = '\0';
	*path = *target ? target : "/";
}

bool path_fits(const char *pattern, const char *path, struct path_code codes[PATH_CODES])
{
	size_t n = 0;

	memset(codes, 0, PATH_CODES * sizeof(*codes));
	while (*pattern) {
		if (*pattern == '{') {
			assert(n < PATH_CODES);
			codes[n] = (struct path_code){path, strcspn(path, "/")};
			if (codes[n].len == 0)
				return false;
			path += codes[n++].len;
			pattern = strchr(pattern, '}') + 1;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return *path == '\0';
}

bool percent_valid(const char *from, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (from[i] == '#')
			return false;
		if (from[i] != '%')
			continue;
		if (i + 2 >= len || hex_digit(from[i + 1]) < 0 || hex_digit(from[i + 2]) < 0)
			return false;
		i += 2;
	}
	return true;
}

bool percent_decode(char *to, size_t size, const char *from, size_t len)
{
	size_t n = 0;

	if (size == 0 || !percent_valid(from, len))
		return false;
	for (size_t i = 0; i < len; i++) {
		int c = (unsigned char)from[i];

		if (c == '%') {
			c = hex_digit(from[i + 1]) * 16 + hex_digit(from[i + 2]);
			i += 2;
		}
		if (c == 0 || n + 1 >= size)
			return false;
		to[n++] = (char)c;
	}
	to[n] = '\0';
	return true;
}

void percent_encode(struct text *to, const char *from)
{
	size_t len = strlen(from), n = 0;
	char  *at = text_room(to, 3 * len);

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)from[i];

		if (isalnum(c) || strchr("-._~", c)) {
			at[n++] = (char)c;
		} else {
			at[n++] = '%';
			at[n++] = "0123456789ABCDEF"[c >> 4];
			at[n++] = "0123456789ABCDEF"[c & 15];
		}
	}
	at[n] = '\0';
	to->len += n;
}

bool query_parse(struct query_string *q, char *query, const char **wrong)
{
	*wrong = "";
	q->count = 0;
	for (char *next; query && *query; query = next) {
		size_t len = strcspn(query, "&"), name_len = strcspn(query, "=&");
		char  *value = query + (name_len < len ? name_len + 1 : len);
		size_t value_len = (size_t)(query + len - value);

		next = query + len + (query[len] == '&');
		if (len == 0)
			continue;
		if (q->count == QUERY_MAX || !percent_decode(query, name_len + 1, query, name_len))
			return false;
		*wrong = query;
		if (!percent_decode(value, value_len + 1, value, value_len))
			return false;
		for (size_t i = 0; i < q->count; i++)
			if (strcmp(q->name[i], query) == 0)
				return false;
		*wrong = "";
		q->name[q->count] = query;
		q->value[q->count] = value;
		q->used[q->count++] = false;
	}
	return true;
}
