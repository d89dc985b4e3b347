/* keyring.c - see keyring.h. */
#include "engine/base/memory.h"
#include "tests/lang/keyring.h"

#include "api/keyfile.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void digest_write(FILE *to, const char *name)
{
	char    bearer[120];
	uint8_t digest[DIGEST_SIZE];

	snprintf(bearer, sizeof(bearer), BEARER, name);
	key_digest(digest, bearer, strlen(bearer));
	for (size_t i = 0; i < sizeof(digest); i++)
		fprintf(to, "%02x", digest[i]);
}

static void line_write(FILE *to, const char *words)
{
	char name[80], role[80], old[80];
	int  used = 0, begin = 0, end = 0;

	cr_assert(sscanf(words, " %79s %79s%n", name, role, &used) == 2, "no key: %s", words);
	words += used;
	fprintf(to, "%s %s ", name, role);
	digest_write(to, name);
	if (strstr(words, " old=") && sscanf(strstr(words, " old="), " old=%n%79s%n", &begin, old, &end) == 1) {
		const char *at = strstr(words, " old=");

		fprintf(to, "%.*s", (int)(at - words) + begin, words);
		digest_write(to, old);
		words = at + end;
	}
	fprintf(to, "%s\n", words);
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
