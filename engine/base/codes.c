/* codes.c - see codes.h. */
#include "engine/base/codes.h"

#include <string.h>

bool code_valid(const char *code, size_t len, size_t max)
{
	if (len < 1 || len > max || code[0] == ' ' || code[len - 1] == ' ')
		return false;
	for (size_t i = 0; i < len; i++)
		if (code[i] < ' ' || code[i] > '~')
			return false;
	return !(code[0] == '.' && (len == 1 || (len == 2 && code[1] == '.')));
}

bool name_valid(const char *name)
{
	return name[strcspn(name, " /?#%")] == '\0' && code_valid(name, strlen(name), ID_MAX);
}

bool code_is_of_jobs(const char *movement_id)
{
	return strncmp(movement_id, OF_JOBS, strlen(OF_JOBS)) == 0;
}
