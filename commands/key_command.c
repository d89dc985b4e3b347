/* key_command.c - see key_command.h. The key itself is printed once and kept nowhere. */
#include "commands/key_command.h"
#include "api/keyfile.h"
#include "commands/options.h"
#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { KEY_BYTES = 32 };

static bool folder_sync(const char *file)
{
	char *path = mem_copy(file);
	int   fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool  ok = fd >= 0 && fsync(fd) == 0;

	if (fd >= 0)
		close(fd);
	free(path);
	return ok;
}

/* Adds the line at the end of the file, on a line of its own, and on disk. On a failure the file is as before. */
static bool line_append(int fd, const char *file, const char *line)
{
	struct text add = {0};
	off_t       size = lseek(fd, 0, SEEK_END);
	char        last = '\n';
	bool        ok = size >= 0 && (size == 0 || pread(fd, &last, 1, size - 1) == 1);

	text_format(&add, "%s%s\n", last == '\n' ? "" : "\n", line);
	ok = ok && write(fd, add.data, add.len) == (ssize_t)add.len && fsync(fd) == 0 && folder_sync(file);
	text_fini(&add);
	if (ok)
		return true;
	say("cannot write %s: %s", file, strerror(errno));
	if (size >= 0 && ftruncate(fd, size) != 0)
		say("its last line is not whole: remove it");
	return false;
}

/* Makes a key: its hex digits, and the line for the file. */
static void key_make(const char *name, unsigned roles, struct text *key, struct text *line)
{
	uint8_t random[KEY_BYTES], digest[DIGEST_SIZE];

	random_bytes(random, sizeof(random));
	text_hex(key, random, sizeof(random));
	assert(key->len == 2 * KEY_BYTES);
	key_digest(digest, key->data, key->len);
	text_format(line, "%s ", name);
	roles_write(line, roles);
	text_char(line, ' ');
	text_hex(line, digest, sizeof(digest));
}

static int key_print(const char *name, unsigned roles, const struct text *key)
{
	struct text        out = {0}, role = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	json_put_string(&w, "name", name);
	roles_write(&role, roles);
	json_put_string(&w, "role", role.data);
	json_put_string(&w, "key", key->data);
	json_close_object(&w);
	printf("%s\n", option_given(OPTION_json) ? out.data : key->data);
	text_fini(&out);
	text_fini(&role);
	if (fflush(stdout) == 0)
		return EXIT_DONE;
	return say_status(EXIT_TROUBLE, "the key could not be printed: remove the line of %s", name);
}

/* The file is locked meanwhile, so that two commands do not take one name. */
static int key_add(int fd, const char *file, const char *name, unsigned roles)
{
	struct key_list list;
	struct text     key = {0}, line = {0};
	char            why[400];
	int             status = EXIT_TROUBLE;

	if (flock(fd, LOCK_EX) != 0)
		return say_status(EXIT_CONFIG, "cannot lock %s: %s", file, strerror(errno));
	if (!key_list_read_fd(&list, fd, file, why, sizeof(why)))
		return say_status(EXIT_CONFIG, "%s", why);
	key_make(name, roles, &key, &line);
	if (key_list_find(&list, name))
		say("%s has a key called %s already, line %d", file, name, key_list_find(&list, name)->number);
	else if (list.count == KEYS_MAX)
		say("%s has %d keys, more there may not be", file, KEYS_MAX);
	else if (line_append(fd, file, line.data))
		status = key_print(name, roles, &key);
	key_list_fini(&list);
	text_fini(&key);
	text_fini(&line);
	return status;
}

int key_run(void)
{
	static const char *const verbs[] = {"new"};

	const char *verb = operand(0), *file = option_text(OPTION_keys);
	bool        known = verb && strcmp(verb, "new") == 0;
	unsigned    roles;
	int         fd, status;

	if (!known || !operand(2) || !file)
		return operand_wrong(known ? NULL : verb, verbs, LENGTH(verbs),
		                     "key new NAME ROLE --keys FILE; try `holdfast key --help`");
	if (!name_valid(operand(1)))
		return say_status(EXIT_USAGE, "NAME " NAME_RULE, (size_t)ID_MAX);
	if (!roles_read(&roles, operand(2)))
		return say_status(EXIT_USAGE, "ROLE " ROLES_RULE);
	fd = open(file, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
	if (fd < 0)
		return say_status(EXIT_CONFIG, "cannot open %s: %s", file, strerror(errno));
	status = key_add(fd, file, operand(1), roles);
	close(fd);
	return status;
}
