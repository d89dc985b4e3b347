/* uri.c - see uri.h. */
#include "api/http/uri.h"

#include <stdlib.h>
#include <string.h>

void target_split(char *target, char **path, char **query)
{
	static const char *const schemes[] = {"http://", "https://"};
	static char              root[] = "/";

	for (size_t i = 0; i < LENGTH(schemes); i++)
		if (strncasecmp(target, schemes[i], strlen(schemes[i])) == 0) {
			target += strlen(schemes[i]);
			target += strcspn(target, "/?");
			break;
		}
	*query = strchr(target, '?');
	if (*query)
		*(*query)++ = '\0';
	*path = *target ? target : root;
}

bool path_fits(const char *pattern, const char *path, const char **param, size_t *param_len)
{
	*param = NULL;
	*param_len = 0;
	while (*pattern) {
		if (*pattern == '{') {
			*param = path;
			*param_len = strcspn(path, "/");
			path += *param_len;
			pattern = strchr(pattern, '}') + 1;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return *path == '\0' && (!*param || *param_len > 0);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 32) >= 'a' && (c | 32) <= 'f')
		return (c | 32) - 'a' + 10;
	return -1;
}

bool percent_decode(char *to, size_t size, const char *from, size_t len)
{
	size_t n = 0;

	if (size == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		int c = (unsigned char)from[i];

		if (c == '%') {
			int high = i + 2 < len ? hex_digit(from[i + 1]) : -1;

			c = high < 0 || hex_digit(from[i + 2]) < 0 ? 0 : high * 16 + hex_digit(from[i + 2]);
			i += 2;
		}
		if (c == 0 || n + 1 >= size)
			return false;
		to[n++] = (char)c;
	}
	to[n] = '\0';
	return true;
}

bool query_parse(struct query_string *q, const char *query, const char **wrong)
{
	char  *to = q->text, *end = q->text + sizeof(q->text);
	size_t len;

	*wrong = "";
	q->count = 0;
	for (; query && *query; query += len + (query[len] == '&')) {
		size_t name_len = strcspn(query, "=&");
		size_t value_at;

		len = strcspn(query, "&");
		if (len == 0)
			continue;
		if (q->count == QUERY_MAX || !percent_decode(to, (size_t)(end - to), query, name_len))
			return false;
		q->name[q->count] = to;
		to += strlen(to) + 1;
		value_at = name_len < len ? name_len + 1 : len;
		if (to >= end || !percent_decode(to, (size_t)(end - to), query + value_at, len - value_at)) {
			*wrong = q->name[q->count];
			return false;
		}
		q->value[q->count] = to;
		to += strlen(to) + 1;
		q->used[q->count] = false;
		for (size_t i = 0; i < q->count; i++)
			if (strcmp(q->name[i], q->name[q->count]) == 0) {
				*wrong = q->name[i];
				return false;
			}
		q->count++;
	}
	return true;
}
