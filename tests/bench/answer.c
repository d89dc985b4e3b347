/* answer.c - reads JSON answers without building anything: a value is the bytes it stands in. The whole of an answer
 * is walked once, so a member is found by its depth and not by chance. */
#include "load.h"

#include <string.h>

static const char *space_skip(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

/* p is at the opening quote; the answer is after the closing one. */
static const char *string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : end;
}

static const char *value_end(const char *p, const char *end)
{
	int depth = 0;

	if (p < end && *p == '"')
		return string_end(p, end);
	while (p < end) {
		if (*p == '"') {
			p = string_end(p, end);
			continue;
		}
		if (*p == '{' || *p == '[') {
			depth++;
		} else if (*p == '}' || *p == ']') {
			if (depth == 0)
				return p; /* of the value around this one */
			if (--depth == 0)
				return p + 1;
		} else if (depth == 0 && (*p == ',' || *p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) {
			return p;
		}
		p++;
	}
	return end;
}

bool answer_members(struct span object, const char *const *names, struct span *values, int count)
{
	const char *end = object.at + object.len, *p = space_skip(object.at, end);

	for (int i = 0; i < count; i++)
		values[i] = (struct span){0};
	if (p >= end || *p != '{')
		return false;
	for (p = space_skip(p + 1, end); p < end && *p == '"'; p = space_skip(p, end)) {
		const char *name = p, *name_end = string_end(p, end), *value;

		p = space_skip(name_end, end);
		if (p >= end || *p != ':')
			return false;
		value = space_skip(p + 1, end);
		p = value_end(value, end);
		for (int i = 0; i < count; i++)
			if (answer_is((struct span){name, (size_t)(name_end - name)}, names[i], strlen(names[i])))
				values[i] = (struct span){value, (size_t)(p - value)};
		p = space_skip(p, end);
		if (p < end && *p == ',')
			p++;
	}
	return p < end && *p == '}';
}

bool answer_item(struct span array, size_t *at, struct span *item)
{
	const char *end = array.at + array.len, *p = array.at + *at;

	if (array.len == 0 || array.at[0] != '[')
		return false;
	p = space_skip(*at == 0 ? p + 1 : p, end);
	if (p < end && *p == ',')
		p = space_skip(p + 1, end);
	if (p >= end || *p == ']')
		return false;
	item->at = p;
	p = value_end(p, end);
	item->len = (size_t)(p - item->at);
	*at = (size_t)(p - array.at);
	return item->len > 0;
}

bool answer_is(struct span value, const char *string, size_t len)
{
	return value.len == len + 2 && value.at[0] == '"' && memcmp(value.at + 1, string, len) == 0;
}

int64_t answer_int(struct span value)
{
	int64_t n = 0;

	if (value.len == 0 || value.len > 16)
		return -1;
	for (size_t i = 0; i < value.len; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return -1;
		n = n * 10 + (value.at[i] - '0');
	}
	return n;
}
