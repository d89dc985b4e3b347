/* files.c - see files.h. */
#include "schema/files.h"

static const struct schema_file list[] = {
#include "schema.h"
};

const struct schema_files schema_files = {list, LENGTH(list)};

int schema_step(const struct schema_file *file)
{
	return atoi(file->name);
}

int schema_files_latest(const struct schema_files *files)
{
	int latest = SCHEMA_BASELINE;

	for (size_t i = 0; i < files->count; i++) {
		int step = schema_step(&files->list[i]);

		assert(step == 0 || step > latest);
		latest = step ? step : latest;
	}
	return latest;
}

bool schema_statement(const char **text, struct text *statement)
{
	const char *end;
	size_t      len;

	*text += strspn(*text, "; \t\r\n");
	end = strstr(*text, ";\n\n");
	len = end ? (size_t)(end - *text) : strlen(*text);
	text_reset(statement);
	text_bytes(statement, *text, len);
	*text += end ? len + strlen(";\n\n") : len;
	while (statement->len && strchr("; \t\r\n", statement->data[statement->len - 1]))
		statement->data[--statement->len] = '\0';
	return statement->len > 0;
}

const char *schema_statement_of(const char *statement, const char *words, char table[SCHEMA_NAME_MAX + 1])
{
	const char *at = statement;
	size_t      len;

	while (strncmp(at, "--", 2) == 0) {
		at += strcspn(at, "\n");
		at += strspn(at, "\n");
	}
	if (strncmp(at, words, strlen(words)) != 0)
		return NULL;
	at += strlen(words);
	len = strcspn(at, " (");
	assert(len <= SCHEMA_NAME_MAX);
	memcpy(table, at, len);
	table[len] = '\0';
	return at + len;
}
