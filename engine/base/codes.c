/* codes.c - see codes.h. */
#include "engine/base/codes.h"
#include "engine/base/utf8.h"

static bool is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

static bool is_dots(const char *code, size_t len)
{
	return code[0] == '.' && (len == 1 || (len == 2 && code[1] == '.'));
}

/* Every character shows. *space: there is one at an end. len is not 0. */
static bool shows(const char *code, size_t len, bool *space)
{
	uint32_t c = 0;
	size_t   bytes;

	*space = false;
	for (size_t i = 0; i < len; i += bytes) {
		c = utf8_read(code + i, &bytes);
		if (bytes == 0 || character_hides(c))
			return false;
		*space |= i == 0 && character_is_space(c);
	}
	*space |= character_is_space(c);
	return true;
}

bool code_begins(const char *code, size_t len, size_t max)
{
	bool space;

	return len >= 1 && len <= max && (is_ascii(code, len) || shows(code, len, &space));
}

bool code_valid(const char *code, size_t len, size_t max)
{
	bool space;

	if (len < 1 || len > max || code[0] == ' ' || code[len - 1] == ' ')
		return false;
	return is_ascii(code, len) ? !is_dots(code, len) : shows(code, len, &space) && !space;
}

bool id_valid(const char *id, size_t len, size_t max)
{
	return code_valid(id, len, max) && is_ascii(id, len);
}

bool id_begins(const char *id, size_t len, size_t max)
{
	return len >= 1 && len <= max && is_ascii(id, len);
}

bool name_valid(const char *name)
{
	return name[strcspn(name, " /?#%")] == '\0' && id_valid(name, strlen(name), ID_MAX);
}

bool code_is_of_jobs(const char *movement_id)
{
	return strncmp(movement_id, OF_JOBS, strlen(OF_JOBS)) == 0;
}
