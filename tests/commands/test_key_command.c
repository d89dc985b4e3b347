/* test_key_command.c - the command key new: it adds a key to the file and prints the key once. */
#include "api/keyfile.h"
#include "tests/kit/program.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct key_list list;
static char            why[400];

static char file[400], said[400];

static void paths_make(void)
{
	snprintf(file, sizeof(file), "%s/made.%d.keys", scratch_dir(), getpid());
	snprintf(said, sizeof(said), "%s/made.%d.said", scratch_dir(), getpid());
}

static void paths_remove(void)
{
	unlink(file);
	unlink(said);
}

static int key_new(const char *words, struct text *out)
{
	char command[900];
	int  status;

	unlink(said);
	snprintf(command, sizeof(command), "key %s --keys %s", words, file);
	status = program_run(said, NULL, command);
	text_reset(out);
	program_log_all(said, out);
	return status;
}

TestSuite(key_command, .init = paths_make, .fini = paths_remove);

Test(key_command, prints_the_key_once_and_keeps_its_digest)
{
	struct text out = {0};
	struct stat st;
	uint8_t     digest[DIGEST_SIZE];

	cr_expect_eq(key_new("new shop order", &out), 0, "%s", out.data);
	cr_assert_eq(out.len, 65, "%s", out.data);
	cr_assert_eq(strspn(out.data, "0123456789abcdef"), 64, "%s", out.data);
	cr_assert_eq(stat(file, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0600);
	cr_assert(key_file_read(&list, file, why, sizeof(why)), "%s", why);
	key_digest(digest, out.data, 64);
	cr_assert_eq(list.count, 1);
	cr_expect_eq(memcmp(list.keys[0].digest, digest, DIGEST_SIZE), 0);
	cr_expect_eq(list.keys[0].roles, ROLE_ORDER);
	key_list_fini(&list);
	cr_expect_eq(key_new("new ops admin --json", &out), 0, "%s", out.data);
	cr_expect_eq(strncmp(out.data, "{\"name\":\"ops\",\"role\":\"admin\",\"key\":\"", 36), 0, "%s", out.data);
	cr_expect_eq(key_new("new till worker,order --json", &out), 0, "%s", out.data);
	cr_expect_not_null(strstr(out.data, "\"role\":\"order,worker\""), "%s", out.data);
	cr_expect_eq(key_new("new shop read", &out), 1);
	cr_expect_not_null(strstr(out.data, "shop"), "%s", out.data);
	cr_assert(key_file_read(&list, file, why, sizeof(why)), "%s", why);
	cr_expect_eq(list.count, 3);
	cr_expect_eq(list.keys[2].roles, ROLE_ORDER | ROLE_WORKER);
	key_list_fini(&list);
	text_fini(&out);
}

Test(key_command, begins_a_line_of_its_own)
{
	struct text out = {0};
	FILE       *to = fopen(file, "we");

	fputs("old worker " A " rps=5", to);
	fclose(to);
	cr_expect_eq(key_new("new shop order", &out), 0, "%s", out.data);
	cr_assert(key_file_read(&list, file, why, sizeof(why)), "%s", why);
	cr_expect_eq(list.count, 2);
	cr_expect_eq(list.keys[0].rps, 5);
	key_list_fini(&list);
	text_fini(&out);
}

Test(key_command, refuses)
{
	struct text out = {0};
	FILE       *to;

	cr_expect_eq(key_new("", &out), 64);
	cr_expect_eq(key_new("new", &out), 64);
	cr_expect_eq(key_new("new shop", &out), 64);
	cr_expect_eq(key_new("old shop order", &out), 64);
	cr_expect_eq(key_new("new shop boss", &out), 64);
	cr_expect_eq(key_new("new shop order,boss", &out), 64);
	cr_expect_eq(key_new("new sh/op order", &out), 64);
	cr_expect_eq(key_new("new shop order more", &out), 64);
	cr_expect_eq(access(file, F_OK), -1, "a refused call made the file");
	to = fopen(file, "we");
	fputs("\nshop order\n", to);
	fclose(to);
	cr_expect_eq(key_new("new ops admin", &out), 78);
	cr_expect_not_null(strstr(out.data, "line 2"), "%s", out.data);
	unlink(file);
	mkdir(file, 0700);
	cr_expect_eq(key_new("new ops admin", &out), 78, "%s", out.data);
	rmdir(file);
	text_fini(&out);
}

/* Twenty commands at once: each adds its key, and of twenty with one name one does. */
Test(key_command, at_the_same_time)
{
	char  command[900];
	pid_t pid[20];
	int   status, made = 0;

	for (size_t i = 0; i < LENGTH(pid); i++) {
		snprintf(command, sizeof(command), "key new k%zu order --keys %s", i / 2, file);
		pid[i] = program_begin(said, NULL, command);
	}
	for (size_t i = 0; i < LENGTH(pid); i++) {
		cr_assert(program_wait(pid[i], 30000, &status));
		made += status == 0;
	}
	cr_expect_eq(made, 10);
	cr_assert(key_file_read(&list, file, why, sizeof(why)), "%s", why);
	cr_expect_eq(list.count, 10);
	key_list_fini(&list);
}
