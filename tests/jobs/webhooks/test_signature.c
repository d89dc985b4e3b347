/* test_signature.c - secrets, and signatures held against those of foreign implementations: a corpus that npm's
 * standardwebhooks has made (tests/contract/signatures.mjs), and Python's own HMAC over signatures made now. */
#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "jobs/webhooks/signature.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define A28 "AAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define A32 A28 "AAAA"

static const char *prefixed(const char *text)
{
	static char said[200];

	snprintf(said, sizeof(said), "whsec_%s", text);
	return said;
}

/* Something is signed with it. */
static bool secret_valid(const char *secret)
{
	const char *const secrets[SECRETS] = {secret};
	struct text       to = {0};
	bool              valid = signature_write(&to, secrets, "msg_1", 1, "{}", 2);

	text_fini(&to);
	return valid;
}

Test(signature, secrets_are_read_strictly)
{
	static const struct {
		const char *text; /* behind whsec_ */
		bool        valid;
	} rows[] = {
		{A32, true},                                         /* 24 bytes */
		{A28, false},                                        /* 21 bytes */
		{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", false},         /* 23 bytes */
		{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==", true},      /* 25 bytes */
		{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB==", false},     /* bits set behind the last byte */
		{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", true},      /* 26 bytes */
		{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=", false},     /* bits set behind the last byte */
		{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", false},       /* no padding */
		{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA===", false},     /* too much of it */
		{"AAAA====AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", false}, /* in the middle */
		{"A==AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", false},     /* in the middle */
		{"+/+/AAAAAAAAAAAAAAAAAAAAAAAAAAAA", true},          /* the standard alphabet .. */
		{"-_-_AAAAAAAAAAAAAAAAAAAAAAAAAAAA", false},         /* .. and that of URLs */
		{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", false},       /* white space */
		{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n\n\n\n", false},
		{"    AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", false},
		{"AAAAAAAAAAAAAAAA    AAAAAAAAAAAAAAAA", false},
		{"AAAAAAAAAAAAAAAA\r\nAAAAAAAAAAAAAAAA\r\n", false},
		{"", false},
		{"A", false},
		{"====", false},
		{"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAA", false},
	};
	unsigned char key[65] = {0}, text[92];

	for (size_t i = 0; i < LENGTH(rows); i++)
		cr_expect_eq(secret_valid(prefixed(rows[i].text)), rows[i].valid, "row %zu: %s", i, rows[i].text);
	for (int n = 1; n <= 65; n++) {
		EVP_EncodeBlock(text, key, n);
		cr_expect_eq(secret_valid(prefixed((char *)text)), n >= 24 && n <= 64, "%d bytes", n);
	}
	for (size_t n = 0; n < 6; n++)
		cr_expect_not(secret_valid(prefixed(A32) + 6 - n), "only a part of whsec_");
	cr_expect_not(secret_valid("WHSEC_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
}

Test(signature, new_secrets_are_good_and_differ)
{
	char one[SECRET_SIZE], two[SECRET_SIZE];

	for (int i = 0; i < 100; i++) {
		secret_make(one);
		secret_make(two);
		cr_expect(secret_valid(one) && strlen(one) == strlen("whsec_") + 44, "%s", one);
		cr_expect_str_neq(one, two);
	}
}

/* Takes the next part of a line, up to the next tab. */
static char *part(char **line)
{
	return strsep(line, "\t");
}

Test(signature, is_that_of_standardwebhooks)
{
	FILE       *file = fopen("tests/contract/signatures.tsv", "re");
	char       *line = NULL;
	size_t      room = 0, rows = 0;
	ssize_t     len;
	struct text said = {0};

	cr_assert(file, "the corpus is missing");
	while ((len = getline(&line, &room, file)) > 0) {
		char       *rest = line, *secret = part(&rest), *id = part(&rest), *time = part(&rest);
		char       *signature = part(&rest);
		const char *secrets[SECRETS] = {strsep(&secret, ","), secret};

		line[len - 1] = '\0';
		text_reset(&said);
		cr_assert(signature_write(&said, secrets, id, strtoll(time, NULL, 10), rest, strlen(rest)), "%s", id);
		cr_expect_str_eq(said.data, signature, "%s of %s", id, time);
		rows++;
	}
	cr_expect_eq(rows, 34);
	fclose(file);
	free(line);
	text_fini(&said);
}

/* Adds a line for signatures.py: a signature by one or two new secrets, of a body of any size. */
static void line_write(FILE *to, int n)
{
	char        first[SECRET_SIZE], second[SECRET_SIZE], body[3000];
	const char *secrets[SECRETS] = {first, n % 2 ? second : NULL};
	struct text said = {0};
	uint16_t    chance;

	secret_make(first);
	secret_make(second);
	random_bytes(&chance, sizeof(chance));
	memset(body, 'x', sizeof(body));
	body[chance % sizeof(body)] = '\0';
	cr_assert(signature_write(&said, secrets, "7-63f1-2", 1795334400 + n, body, strlen(body)));
	fprintf(to, "%s%s%s\t7-63f1-2\t%d\t%s\t%s\n", first, n % 2 ? "," : "", n % 2 ? second : "", 1795334400 + n,
	        said.data, body);
	text_fini(&said);
}

Test(signature, is_verified_by_python)
{
	char  path[300], command[700], said[100] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/signatures.%d", scratch_dir(), getpid());
	file = fopen(path, "we");
	cr_assert(file);
	for (int n = 0; n < 100; n++)
		line_write(file, n);
	cr_assert(fclose(file) == 0);
	snprintf(command, sizeof(command), "python3 tests/contract/signatures.py %s 2>&1", path);
	file = popen(command, "re");
	cr_assert(file);
	cr_expect(fgets(said, sizeof(said), file) && strcmp(said, "150 signatures are good\n") == 0, "%s", said);
	cr_expect(pclose(file) == 0);
	unlink(path);
}

Test(signature, needs_a_secret)
{
	struct text said = {0};
	const char *good = "whsec_"
			   "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

	text_add(&said, "before");
	cr_expect_not(signature_write(&said, (const char *const[SECRETS]){NULL, NULL}, "1-1-1", 1, "{}", 2));
	cr_expect_not(signature_write(&said, (const char *const[SECRETS]){good, "whsec_"}, "1-1-1", 1, "{}", 2));
	cr_expect_not(signature_write(&said, (const char *const[SECRETS]){"none", good}, "1-1-1", 1, "{}", 2));
	cr_expect_str_eq(said.data, "before");
	cr_expect(signature_write(&said, (const char *const[SECRETS]){NULL, good}, "1-1-1", 1, "{}", 2));
	cr_expect_eq(said.len, strlen("before") + strlen("v1,") + 44);
	text_fini(&said);
}
