/* test_key_command.c - the command key: it makes, lists, rotates and revokes keys of a file, prints a secret once, and
 * leaves all else in the file as it is, however it ends. */
#include "api/keyfile.h"
#include "engine/base/clock.h"
#include "tests/kit/program.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define C "abababababababababababababababababababababababababababababababab"
#define D "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
#define E "efefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefef"

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

static int key(const char *words, struct text *out)
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

	cr_expect_eq(key("new shop order", &out), 0, "%s", out.data);
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
	cr_expect_eq(key("new ops admin --json", &out), 0, "%s", out.data);
	cr_expect_eq(strncmp(out.data, "{\"name\":\"ops\",\"role\":\"admin\",\"key\":\"", 36), 0, "%s", out.data);
	cr_expect_eq(key("new till worker,order --json", &out), 0, "%s", out.data);
	cr_expect_not_null(strstr(out.data, "\"role\":\"order,worker\""), "%s", out.data);
	cr_expect_eq(key("new shop read", &out), 1);
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
	cr_expect_eq(key("new shop order", &out), 0, "%s", out.data);
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

	cr_expect_eq(key("", &out), 64);
	cr_expect_eq(key("new", &out), 64);
	cr_expect_eq(key("new shop", &out), 64);
	cr_expect_eq(key("old shop order", &out), 64);
	cr_expect_eq(key("new shop boss", &out), 64);
	cr_expect_eq(key("new shop order,boss", &out), 64);
	cr_expect_eq(key("new sh/op order", &out), 64);
	cr_expect_eq(key("new shop order more", &out), 64);
	cr_expect_eq(key("new shop order --overlap 1h", &out), 64);
	cr_expect_eq(key("new shop order --old", &out), 64);
	cr_expect_eq(key("new shop order --expires 2020-01-01T00:00:00Z", &out), 64);
	cr_expect_eq(key("new shop order --expires 0", &out), 64);
	cr_expect_eq(key("new shop order --expires soon", &out), 64);
	cr_expect_eq(key("new shop order --expires 90", &out), 64);
	cr_expect_eq(key("new shop order --expires 4000d", &out), 64);
	cr_expect_eq(key("rotate", &out), 64);
	cr_expect_eq(key("rotate shop order", &out), 64);
	cr_expect_eq(key("rotate shop --overlap -1h", &out), 64);
	cr_expect_eq(key("revoke shop --expires 1d", &out), 64);
	cr_expect_eq(key("list shop", &out), 64);
	cr_expect_eq(key("list --overlap 1h", &out), 64);
	cr_expect_eq(key("rotate shop", &out), 78, "%s", out.data);
	cr_expect_eq(key("revoke shop", &out), 78, "%s", out.data);
	cr_expect_eq(key("list", &out), 78, "%s", out.data);
	cr_expect_eq(access(file, F_OK), -1, "a refused call made the file");
	to = fopen(file, "we");
	fputs("\nshop order\n", to);
	fclose(to);
	cr_expect_eq(key("new ops admin", &out), 78);
	cr_expect_not_null(strstr(out.data, "line 2"), "%s", out.data);
	unlink(file);
	mkdir(file, 0700);
	cr_expect_eq(key("new ops admin", &out), 78, "%s", out.data);
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

/* ---- rotate and revoke */

static void file_write(const char *text)
{
	FILE *to = fopen(file, "we");

	cr_assert(to);
	fputs(text, to);
	fclose(to);
}

static bool begins(const struct text *text, const char *with)
{
	return strncmp(text->data, with, strlen(with)) == 0;
}

static void file_text(struct text *to)
{
	text_reset(to);
	program_log_all(file, to);
}

/* The key of this name, as the file has it now. */
static struct key_line line_of(const char *name)
{
	struct key_line line;

	cr_assert(key_file_read(&list, file, why, sizeof(why)), "%s", why);
	cr_assert(key_list_find(&list, name), "%s is not there", name);
	line = *key_list_find(&list, name);
	key_list_fini(&list);
	return line;
}

static bool is_secret_of(const char *secret, const uint8_t digest[DIGEST_SIZE])
{
	uint8_t own[DIGEST_SIZE];

	key_digest(own, secret, 64);
	return memcmp(own, digest, DIGEST_SIZE) == 0;
}

Test(key_command, rotates_beside_all_else)
{
	struct text     out = {0}, text = {0};
	struct key_line was, now;
	struct stat     st;
	int64_t         from = clock_wall_ms();

	file_write("# mine\r\n\nops admin " A "\n\tshop  order,worker " B " held=7  rps=5\r\n# end");
	chmod(file, 0640);
	was = line_of("shop");
	cr_expect_eq(key("rotate shop --overlap 2h", &out), 0, "%s", out.data);
	cr_expect_not_null(strstr(out.data, "the old secret of shop is valid until 20"), "%s", out.data);
	now = line_of("shop");
	cr_expect(is_secret_of(strstr(out.data, "\n") == out.data + 64 ? out.data : strchr(out.data, '\n') + 1,
	                       now.digest));
	cr_expect_eq(memcmp(now.old, was.digest, DIGEST_SIZE), 0);
	cr_expect_geq(now.old_until, from + 7200000);
	cr_expect_leq(now.old_until, clock_wall_ms() + 7201000);
	cr_expect(now.rps == 5 && now.held == 7 && now.roles == was.roles && now.key_id == was.key_id);
	cr_expect_eq(now.number, 4);
	cr_assert_eq(stat(file, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0640);
	file_text(&text);
	cr_expect(begins(&text, "# mine\r\n\nops admin " A "\nshop order,worker "), "%s", text.data);
	cr_expect_not_null(strstr(text.data, "Z\r\n# end"), "%s", text.data);
	/* a third secret is refused; --overlap 0 is for an emergency */
	cr_expect_eq(key("rotate shop", &out), 1);
	cr_expect_not_null(strstr(out.data, "two secrets"), "%s", out.data);
	cr_expect_eq(memcmp(line_of("shop").digest, now.digest, DIGEST_SIZE), 0);
	cr_expect_eq(key("rotate shop --overlap 0", &out), 0, "%s", out.data);
	cr_expect_eq(out.len, 65, "%s", out.data);
	cr_expect_eq(line_of("shop").old_until, TIME_NONE);
	cr_expect(is_secret_of(out.data, line_of("shop").digest));
	cr_expect_eq(key("rotate nobody", &out), 1);
	text_fini(&out);
	text_fini(&text);
}

Test(key_command, rotates_a_key_that_expires)
{
	struct text out = {0};
	int64_t     from = clock_wall_ms();

	file_write("late order " A " expires=2020-01-01T00:00:00Z\nsoon read " B " expires=2098-01-01T00:00:00Z\n");
	cr_expect_eq(key("rotate late", &out), 1);
	cr_expect_not_null(strstr(out.data, "late expired at 2020-01-01T00:00:00.000Z"), "%s", out.data);
	cr_expect_eq(key("rotate late --expires 30d", &out), 0, "%s", out.data);
	cr_expect_eq(line_of("late").old_until, TIME_NONE, "a secret that was over is valid again");
	cr_expect_geq(line_of("late").expires, from + INT64_C(30) * 86400000);
	/* the old secret is valid no longer than it was, and the new one as long if nothing else is said */
	cr_expect_eq(key("rotate soon --overlap 3660d", &out), 0, "%s", out.data);
	cr_expect_eq(line_of("soon").expires, INT64_C(4039372800000));
	cr_expect_eq(key("new brief order --expires 1h", &out), 0, "%s", out.data);
	cr_expect_eq(key("rotate brief --overlap 2d --expires never --json", &out), 0, "%s", out.data);
	cr_expect_not_null(strstr(out.data, "\"old_until\":\""), "%s", out.data);
	cr_expect_eq(line_of("brief").expires, TIME_NONE);
	cr_expect_leq(line_of("brief").old_until, clock_wall_ms() + 3601000);
	text_fini(&out);
}

Test(key_command, revokes)
{
	struct text out = {0}, text = {0};

	file_write("# one\nops admin " A "\n# two\nshop order " B " old=" C " old_until=2098-01-01T00:00:00Z");
	cr_expect_eq(key("revoke nobody", &out), 1);
	cr_expect_eq(key("revoke ops --old", &out), 1);
	cr_expect_eq(key("revoke shop --old --json", &out), 0, "%s", out.data);
	cr_expect_str_eq(out.data, "{\"name\":\"shop\",\"revoked\":\"the old secret\"}\n");
	file_text(&text);
	cr_expect_str_eq(text.data, "# one\nops admin " A "\n# two\nshop order " B);
	cr_expect_eq(key("revoke ops", &out), 0, "%s", out.data);
	file_text(&text);
	cr_expect_str_eq(text.data, "# one\n# two\nshop order " B);
	/* a file without keys would be refused by a service, which would go on with the key that was revoked */
	cr_expect_eq(key("revoke shop", &out), 1);
	cr_expect_not_null(strstr(out.data, "only key"), "%s", out.data);
	file_text(&text);
	cr_expect_str_eq(text.data, "# one\n# two\nshop order " B);
	text_fini(&out);
	text_fini(&text);
}

Test(key_command, lists_without_secrets)
{
	struct text out = {0};

	file_write("shop order " A " rps=500 held=10000 expires=2098-01-01T00:00:00Z\n"
	           "ops admin,order " B " old=" C " old_until=2099-01-01T00:00:00Z\n"
	           "late read " D " expires=2020-01-01T00:00:00Z old=" E " old_until=2019-01-01T00:00:00Z\n");
	cr_expect_eq(key("list", &out), 0, "%s", out.data);
	cr_expect(
		begins(&out, "name  role         rps   held  last_used  state\nshop  order        500  10000  -     "),
		"%s", out.data);
	cr_expect_not_null(strstr(out.data, "active, expires in 2"), "%s", out.data);
	cr_expect_not_null(strstr(out.data, "active, old secret until 2099-01-01T00:00:00.000Z\n"), "%s", out.data);
	cr_expect_not_null(strstr(out.data, "expired\n"), "%s", out.data);
	for (int i = 0; i < 5; i++)
		cr_expect_null(strstr(out.data, ((const char *const[]){A, B, C, D, E})[i]), "%s", out.data);
	cr_expect_eq(key("list --json", &out), 0, "%s", out.data);
	cr_expect(begins(&out, "{\"items\":[{\"name\":\"shop\",\"role\":\"order\",\"rps\":500,\"held\":10000,"
	                       "\"state\":\"active\",\"expires_at\":\"2098-01-01T00:00:00.000Z\",\"old_until\":null},"),
	          "%s", out.data);
	cr_expect_null(strstr(out.data, A));
	text_fini(&out);
}

/* ---- however it ends */

/* The secret is told, or the file is as before: a full disk behind stdout. */
Test(key_command, a_secret_that_cannot_be_printed)
{
	struct text text = {0};
	char        command[900];

	file_write("ops admin " A "\nshop order " B "\n");
	snprintf(command, sizeof(command), "\"$HOLDFAST\" key rotate shop --keys %s > /dev/full 2> %s", file, said);
	setenv("HOLDFAST", program_path(), 1);
	cr_expect_eq(WEXITSTATUS(system(command)), 1);
	file_text(&text);
	cr_expect_str_eq(text.data, "ops admin " A "\nshop order " B "\n");
	text_fini(&text);
}

/* A link stays one, and leads to the new file. */
Test(key_command, behind_a_link)
{
	struct text out = {0};
	char        link[500];
	struct stat st;

	snprintf(link, sizeof(link), "%s.link", file);
	file_write("ops admin " A "\nshop order " B "\n");
	unlink(link);
	cr_assert_eq(symlink(file, link), 0);
	snprintf(said, sizeof(said), "%s/made.%d.said", scratch_dir(), getpid());
	{
		char command[1200];

		snprintf(command, sizeof(command), "key revoke ops --keys %s", link);
		cr_expect_eq(program_run(said, NULL, command), 0);
	}
	cr_expect(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
	file_text(&out);
	cr_expect_str_eq(out.data, "shop order " B "\n");
	unlink(link);
	text_fini(&out);
}

enum { ROTATIONS = 12 };

static void rotate_at_once(const char *overlap, int made_wanted)
{
	char        command[900], one[ROTATIONS][500];
	pid_t       pid[ROTATIONS];
	int         status, made = 0, valid = 0;
	struct text out = {0};

	file_write("# mine\nops admin " A "\nshop order " B "\n");
	for (size_t i = 0; i < ROTATIONS; i++) {
		snprintf(one[i], sizeof(one[i]), "%s.%zu", said, i);
		unlink(one[i]);
		snprintf(command, sizeof(command), "key rotate shop --overlap %s --keys %s", overlap, file);
		pid[i] = program_begin(one[i], NULL, command);
	}
	for (size_t i = 0; i < ROTATIONS; i++) {
		cr_assert(program_wait(pid[i], 30000, &status));
		made += status == 0;
		program_log_all(one[i], &out);
		unlink(one[i]);
	}
	for (char *at = out.data; *at; at = strchr(at, '\n') + 1)
		valid += strspn(at, "0123456789abcdef") == 64 && is_secret_of(at, line_of("shop").digest);
	cr_expect_eq(made, made_wanted, "%d rotated:\n%s", made, out.data);
	cr_expect_eq(valid, 1, "%d secrets are that of the file:\n%s", valid, out.data);
	text_fini(&out);
}

/* Of many rotations at once without an overlap each gives another secret, and the last one is that of the file; with an
 * overlap one of them rotates, and the others are refused. */
Test(key_command, rotations_at_the_same_time)
{
	rotate_at_once("0", ROTATIONS);
	rotate_at_once("1h", 1);
}

/* Killed at any moment of an edit, a command leaves the old file or the new one, and the next command works. */
Test(key_command, killed_during_an_edit)
{
	struct text out = {0}, before = {0};
	char        command[900];
	int         status, old = 0, new = 0;

	file_write("# mine\nops admin " A "\nshop order " B "\n# end\n");
	snprintf(command, sizeof(command), "key rotate shop --overlap 0 --keys %s", file);
	for (int i = 0; i < 60; i++) {
		pid_t pid;

		file_text(&before);
		pid = program_begin(said, NULL, command);
		usleep((useconds_t)(i * 150));
		kill(pid, SIGKILL);
		cr_assert(program_wait(pid, 30000, &status));
		file_text(&out);
		if (strcmp(out.data, before.data) == 0)
			old++;
		else
			new ++;
		cr_assert_eq(out.len, before.len, "%s", out.data);
		cr_assert(begins(&out, "# mine\nops admin " A "\nshop order "), "%s", out.data);
		cr_assert_str_eq(out.data + out.len - 7, "\n# end\n");
	}
	cr_expect_eq(key("revoke ops", &out), 0, "%s after %d old and %d new", out.data, old, new);
	cr_expect_eq(line_of("shop").number, 2);
	text_fini(&out);
	text_fini(&before);
}
