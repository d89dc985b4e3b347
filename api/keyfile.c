/* keyfile.c - see keyfile.h. */
#include "api/keyfile.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20, LINE_MAX_BYTES = 512, WORDS_MAX = 8, WORDS_MIN = 3 };

#define RPS_MAX INT64_C(1000000)

static const struct {
	enum role   role;
	const char *name;
} roles[] = {{ROLE_ORDER, "order"}, {ROLE_WORKER, "worker"}, {ROLE_READ, "read"}, {ROLE_ADMIN, "admin"}};

/* The role of these letters; 0: there is none. */
static unsigned role_find(const char *name, size_t len)
{
	for (size_t i = 0; i < LENGTH(roles); i++)
		if (strlen(roles[i].name) == len && memcmp(roles[i].name, name, len) == 0)
			return roles[i].role;
	return 0;
}

bool roles_read(unsigned *to, const char *list)
{
	for (*to = 0;; list++) {
		size_t   len = strcspn(list, ",");
		unsigned role = role_find(list, len);

		if (!role || *to & role)
			return false;
		*to |= role;
		list += len;
		if (!*list)
			return true;
	}
}

void roles_write(struct text *to, unsigned of)
{
	for (size_t i = 0; i < LENGTH(roles); i++)
		if (of & roles[i].role) {
			text_add(to, roles[i].name);
			of &= ~(unsigned)roles[i].role;
			text_add(to, of ? "," : "");
		}
}

void key_digest(uint8_t to[DIGEST_SIZE], const char *key, size_t len)
{
	sha256(key, len, to);
}

/* The number of a name needs no counter and is equal in every process for ever: the first four bytes of the
 * name's digest. */
static uint32_t key_number(const char *name)
{
	uint8_t  digest[DIGEST_SIZE];
	uint32_t n;

	key_digest(digest, name, strlen(name));
	n = (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 | digest[3];
	return n ? n : 1;
}

/* ---- a line */

static bool digest_read(uint8_t to[DIGEST_SIZE], const char *hex)
{
	if (strlen(hex) != 2 * DIGEST_SIZE || strspn(hex, "0123456789abcdefABCDEF") != 2 * DIGEST_SIZE)
		return false;
	for (int i = 0; i < DIGEST_SIZE; i++)
		to[i] = (uint8_t)(hex_digit(hex[2 * i]) * 16 + hex_digit(hex[2 * i + 1]));
	return true;
}

/* `name=N`, from 1 to max, once. */
static bool limit_read(int64_t *to, const char *word, const char *name, int64_t max)
{
	size_t      len = strlen(name);
	const char *digits = word + len;

	if (strncmp(word, name, len) != 0 || *to || !*digits || strlen(digits) > 16 ||
	    strspn(digits, "0123456789") != strlen(digits))
		return false;
	*to = strtoll(digits, NULL, 10);
	return *to >= 1 && *to <= max;
}

/* Cut at spaces and tabs; a carriage return at the end belongs to the line's end. */
static size_t words_cut(char *line, char *word[WORDS_MAX + 1])
{
	size_t n = 0;
	char  *rest = line;

	if (*line && line[strlen(line) - 1] == '\r')
		line[strlen(line) - 1] = '\0';
	while (n <= WORDS_MAX && (word[n] = strsep(&rest, " \t")))
		n += *word[n] != '\0';
	return n;
}

/* `name=TIME`, once. */
static bool until_read(int64_t *to, const char *word, const char *name)
{
	size_t  len = strlen(name);
	int64_t us;

	if (strncmp(word, name, len) != 0 || *to != TIME_NONE || !time_read(word + len, &us))
		return false;
	*to = us / 1000;
	return true;
}

/* `old=SHA256`, once. */
static bool old_read(struct key_line *to, bool *has_old, const char *word)
{
	if (strncmp(word, "old=", 4) != 0 || *has_old || !digest_read(to->old, word + 4))
		return false;
	*has_old = true;
	return true;
}

static bool extras_read(struct key_line *to, char *word[], size_t words)
{
	bool has_old = false;

	for (size_t i = WORDS_MIN; i < words; i++)
		if (!limit_read(&to->rps, word[i], "rps=", RPS_MAX) &&
		    !limit_read(&to->held, word[i], "held=", QTY_MAX) &&
		    !until_read(&to->expires, word[i], "expires=") &&
		    !until_read(&to->old_until, word[i], "old_until=") && !old_read(to, &has_old, word[i]))
			return false;
	return has_old == (to->old_until != TIME_NONE);
}

static bool line_read(struct key_line *to, char *word[], size_t words, char *why, size_t why_size)
{
	if (words < WORDS_MIN || words > WORDS_MAX)
		return why_write(why, why_size, "a key is NAME ROLE[,ROLE] SHA256 [rps=N] [held=N] [expires=TIME]");
	if (!name_valid(word[0]))
		return why_write(why, why_size, "NAME " NAME_RULE, (size_t)ID_MAX);
	if (!roles_read(&to->roles, word[1]))
		return why_write(why, why_size, "ROLE " ROLES_RULE);
	if (!digest_read(to->digest, word[2]))
		return why_write(why, why_size, "SHA256 is the digest of the key, 64 hex digits");
	if (!extras_read(to, word, words))
		return why_write(why, why_size,
		                 "behind SHA256 may stand rps=1 to 1000000, held=1 to %lld, expires=TIME, and "
		                 "old=SHA256 with old_until=TIME, each once",
		                 (long long)QTY_MAX);
	strcpy(to->name, word[0]);
	to->key_id = key_number(to->name);
	return true;
}

/* Two lines, or one line and itself, have a secret in common. */
static bool lines_share(const struct key_line *a, const struct key_line *b)
{
	bool a_old = a->old_until != TIME_NONE, b_old = b->old_until != TIME_NONE;

	return (a != b && memcmp(a->digest, b->digest, DIGEST_SIZE) == 0) ||
	       (a_old && memcmp(a->old, b->digest, DIGEST_SIZE) == 0) ||
	       (b_old && memcmp(a->digest, b->old, DIGEST_SIZE) == 0) ||
	       (a != b && a_old && b_old && memcmp(a->old, b->old, DIGEST_SIZE) == 0);
}

static void until_write(struct text *to, const char *name, int64_t ms)
{
	struct text time = {0};

	time_write(&time, ms);
	text_format(to, " %s=%.*sZ", name, (int)strcspn(time.data, "."), time.data);
	text_fini(&time);
}

void key_line_write(struct text *to, const struct key_line *line)
{
	text_format(to, "%s ", line->name);
	roles_write(to, line->roles);
	text_char(to, ' ');
	text_hex(to, line->digest, DIGEST_SIZE);
	if (line->rps)
		text_format(to, " rps=%lld", (long long)line->rps);
	if (line->held)
		text_format(to, " held=%lld", (long long)line->held);
	if (line->expires != TIME_NONE)
		until_write(to, "expires", line->expires);
	if (line->old_until == TIME_NONE)
		return;
	text_add(to, " old=");
	text_hex(to, line->old, DIGEST_SIZE);
	until_write(to, "old_until", line->old_until);
}

/* ---- a text */

/* No two lines have one name, one secret or one number. Two names share a number once in 4 * 10^9. */
static bool line_is_new(const struct key_list *list, const struct key_line *line, char *why, size_t why_size)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct key_line *k = &list->keys[i];

		if (strcmp(k->name, line->name) == 0)
			return why_write(why, why_size, "line %d has the same name", k->number);
		if (lines_share(k, line))
			return why_write(why, why_size, "line %d has the same key", k->number);
		if (k->key_id == line->key_id)
			return why_write(why, why_size,
			                 "the name gives the same number as that of line %d: choose another",
			                 k->number);
	}
	if (lines_share(line, line))
		return why_write(why, why_size, "the old key is the new one");
	return true;
}

static bool line_add(struct key_list *to, int number, const char *text, size_t len, char *why, size_t why_size)
{
	char            line[LINE_MAX_BYTES + 1], *word[WORDS_MAX + 1], what[200];
	struct key_line key = {.number = number, .expires = TIME_NONE, .old_until = TIME_NONE};
	size_t          words;

	if (len > LINE_MAX_BYTES || memchr(text, '\0', len))
		return why_write(why, why_size, "line %d: it is longer than %d bytes or has a NUL", number,
		                 LINE_MAX_BYTES);
	memcpy(line, text, len);
	line[len] = '\0';
	words = words_cut(line, word);
	if (words == 0 || word[0][0] == '#')
		return true;
	if (!line_read(&key, word, words, what, sizeof(what)) || !line_is_new(to, &key, what, sizeof(what)))
		return why_write(why, why_size, "line %d: %s", number, what);
	if (to->count == KEYS_MAX)
		return why_write(why, why_size, "line %d: there may be %d keys", number, KEYS_MAX);
	assert(to->count < KEYS_MAX);
	to->keys[to->count++] = key;
	return true;
}

bool key_list_read(struct key_list *to, const char *text, size_t len, char *why, size_t why_size)
{
	const char *end = text + len;

	*to = (struct key_list){.keys = mem_alloc(KEYS_MAX * sizeof(*to->keys))};
	for (int number = 1; text < end; number++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text)), *stop = newline ? newline : end;

		if (!line_add(to, number, text, (size_t)(stop - text), why, why_size)) {
			key_list_fini(to);
			return false;
		}
		text = newline ? newline + 1 : end;
	}
	return true;
}

/* ---- a file */

char *key_text_read(int fd, size_t *len, const char *name, char *why, size_t why_size)
{
	struct stat st;
	char       *text = mem_alloc(FILE_MAX + 1);
	ssize_t     n = 0;

	*len = 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		while (*len <= FILE_MAX && (n = pread(fd, text + *len, FILE_MAX + 1 - *len, (off_t)*len)) > 0)
			*len += (size_t)n;
	else
		n = -1;
	if (n >= 0 && *len <= FILE_MAX)
		return text;
	free(text);
	(void)!why_write(why, why_size, "%s: it cannot be read, is no file, or is longer than %d bytes", name,
	                 FILE_MAX);
	return NULL;
}

static bool list_read_fd(struct key_list *to, int fd, const char *name, char *why, size_t why_size)
{
	size_t len;
	char  *text = key_text_read(fd, &len, name, why, why_size), what[200];
	bool   ok;

	if (!text)
		return false;
	ok = key_list_read(to, text, len, what, sizeof(what));
	free(text);
	return ok ? true : why_write(why, why_size, "%s: %s", name, what);
}

bool key_file_read(struct key_list *to, const char *name, char *why, size_t why_size)
{
	int  fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool ok;

	if (fd < 0)
		return why_write(why, why_size, "cannot read %s: %s", name, strerror(errno));
	ok = list_read_fd(to, fd, name, why, why_size);
	close(fd);
	if (!ok || to->count > 0)
		return ok;
	key_list_fini(to);
	return why_write(why, why_size, "%s has no key; `holdfast key new` makes one", name);
}

void key_list_fini(struct key_list *list)
{
	free(list->keys);
	*list = (struct key_list){0};
}

const struct key_line *key_list_find(const struct key_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->keys[i].name, name) == 0)
			return &list->keys[i];
	return NULL;
}
