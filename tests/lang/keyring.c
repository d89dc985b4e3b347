/* keyring.c - see keyring.h. */
#include "engine/base/memory.h"
#include "tests/lang/keyring.h"

#include "api/keyfile.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void line_write(FILE *to, const char *words)
{
	char    name[80], role[80], bearer[120];
	int     used = 0;
	uint8_t digest[DIGEST_SIZE];

	cr_assert(sscanf(words, " %79s %79s%n", name, role, &used) == 2, "no key: %s", words);
	snprintf(bearer, sizeof(bearer), BEARER, name);
	key_digest(digest, bearer, strlen(bearer));
	fprintf(to, "%s %s ", name, role);
	for (size_t i = 0; i < sizeof(digest); i++)
		fprintf(to, "%02x", digest[i]);
	fprintf(to, "%s\n", words + used);
}

void keyring_write(const char *file, const char *words)
{
	char *text = mem_copy(words), *rest = text, *line;
	FILE *to = fopen(file, "we");

	cr_assert(to, "cannot write %s", file);
	while ((line = strsep(&rest, "|")))
		line_write(to, line);
	fclose(to);
	free(text);
}
