/* nearest.c - see nearest.h. The distance is that of Damerau and Levenshtein: a letter more, less, another one, or two
 * neighbours that changed places. */
#include "engine/base/nearest.h"

enum { LETTERS_MAX = 64, BEGINNING_MIN = 3 };

static bool same(char a, char b)
{
	return a == b || (a == '-' && b == '_') || (a == '_' && b == '-');
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Both have LETTERS_MAX letters at most. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t d[LETTERS_MAX + 1][LETTERS_MAX + 1] UNZEROED;

	assert(a_len <= LETTERS_MAX && b_len <= LETTERS_MAX);
	for (size_t i = 0; i <= a_len; i++)
		for (size_t k = 0; k <= b_len; k++) {
			if (i == 0 || k == 0) {
				d[i][k] = i + k;
				continue;
			}
			d[i][k] = least(d[i - 1][k], d[i][k - 1]) + 1;
			d[i][k] = least(d[i][k], d[i - 1][k - 1] + !same(a[i - 1], b[k - 1]));
			if (i > 1 && k > 1 && same(a[i - 1], b[k - 2]) && same(a[i - 2], b[k - 1]))
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
		}
	return d[a_len][b_len];
}

const char *nearest(const char *word, size_t len, size_t count, const char *(*name)(const void *arg, size_t i),
                    const void *arg)
{
	const char *best = NULL;
	size_t      best_d = len / 4 + 2;

	for (size_t i = 0; i < count && len <= LETTERS_MAX; i++) {
		const char *n = name(arg, i);
		size_t      n_len = n ? strlen(n) : 0, apart = n_len > len ? n_len - len : len - n_len, d = best_d;

		if (n && len >= BEGINNING_MIN && n_len > len && strncmp(n, word, len) == 0)
			d = 1;
		else if (n && n_len <= LETTERS_MAX && apart < best_d)
			d = distance(word, len, n, n_len);
		if (d < best_d) {
			best = n;
			best_d = d;
		}
	}
	return best;
}
