/* race.c - see race.h. */
#include "engine/base/memory.h"
#include "tests/lang/race.h"

#include "tests/lang/expect.h"
#include "tests/lang/verb.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 8, PORTS_MAX = 2, ALTERNATIVES_MAX = 8, EVERY = -1 };

struct racer {
	struct race *race;
	pthread_t    thread;
	int          index;
};

struct race {
	int               threads, each;
	int               port[PORTS_MAX], ports;
	const char       *bearer;
	char             *text, *step[STEPS_MAX]; /* step[] points into text */
	int               steps;
	pthread_barrier_t start;
	struct racer     *racer;
	struct call      *call; /* one for each number; written by its thread alone */
	struct answer    *answer;
};

static void *racer_run(void *arg)
{
	struct racer *me = arg;
	struct race  *r = me->race;
	struct client client;
	struct step   step;

	client_open(&client, r->port[me->index % r->ports]);
	client.bearer = r->bearer;
	if (!client_connect(&client))
		client_close(&client); /* the call tries again, and says if it fails */
	pthread_barrier_wait(&r->start);
	for (int i = 0; i < r->each; i++) {
		int number = me->index * r->each + i;

		step_read(&step, r->step[number % r->steps], number);
		if (verb_write(&step, &r->call[number]))
			client_call(&client, &r->call[number], &r->answer[number]);
		step_fini(&step);
	}
	client_close(&client);
	return NULL;
}

static bool steps_are_requests(struct race *r)
{
	bool good = r->steps > 0;

	for (int i = 0; good && i < r->steps; i++) {
		struct step step;
		struct call call = {0};

		step_read(&step, r->step[i], 0);
		good = verb_write(&step, &call);
		call_fini(&call);
		step_fini(&step);
	}
	return good;
}

static void steps_cut(struct race *r)
{
	for (char *at = r->text; at && r->steps < STEPS_MAX;) {
		char *next = strstr(at, "||");

		if (next)
			*next = '\0';
		r->step[r->steps++] = at;
		at = next ? next + 2 : NULL;
	}
}

struct race *race_start(const int *port, int ports, const char *bearer, const char *shape, const char *steps)
{
	struct race   *r = mem_alloc(sizeof(*r));
	pthread_attr_t attr;
	int            calls;

	r->each = 1;
	r->ports = ports;
	r->bearer = bearer;
	memcpy(r->port, port, (size_t)ports * sizeof(*port));
	r->text = mem_copy(steps);
	steps_cut(r);
	if (sscanf(shape, "%d*%d", &r->threads, &r->each) < 1 || r->threads < 1 || !steps_are_requests(r)) {
		race_free(r);
		return NULL;
	}
	calls = r->threads * r->each;
	r->racer = mem_alloc((size_t)r->threads * sizeof(*r->racer));
	r->call = mem_alloc((size_t)calls * sizeof(*r->call));
	r->answer = mem_alloc((size_t)calls * sizeof(*r->answer));
	pthread_barrier_init(&r->start, NULL, (unsigned)r->threads);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 * 1024);
	for (int i = 0; i < r->threads; i++) {
		r->racer[i] = (struct racer){.race = r, .index = i};
		if (pthread_create(&r->racer[i].thread, &attr, racer_run, &r->racer[i]) != 0)
			abort(); /* the other threads would wait at the barrier for ever */
	}
	pthread_attr_destroy(&attr);
	return r;
}

const struct answer *race_finish(struct race *r, int *count)
{
	for (int i = 0; i < r->threads; i++)
		pthread_join(r->racer[i].thread, NULL);
	pthread_barrier_destroy(&r->start);
	if (count)
		*count = r->threads * r->each;
	return r->answer;
}

void race_free(struct race *r)
{
	for (int i = 0; r->answer && i < r->threads * r->each; i++) {
		answer_fini(&r->answer[i]);
		call_fini(&r->call[i]);
	}
	free(r->racer);
	free(r->call);
	free(r->answer);
	free(r->text);
	free(r);
}

/* ---- judging */

struct alternative {
	int   want; /* EVERY: any number */
	int   got;
	char *words;
};

static int alternatives_cut(char *text, struct alternative *to)
{
	char *part;
	int   n = 0;

	for (; n < ALTERNATIVES_MAX && (part = strsep(&text, "|")); n++) {
		char *cross = strchr(part, 'x');

		if (!cross)
			return 0;
		part += strspn(part, " ");
		to[n] = (struct alternative){.want = *part == '*' ? EVERY : atoi(part), .words = cross + 1};
	}
	return n;
}

/* Counts the answer for the first alternative it meets. */
static bool answer_count(const struct answer *a, struct alternative *of, int n)
{
	struct text why = {0};
	bool        met = false;

	for (int i = 0; !met && i < n; i++) {
		met = expect_words(of[i].words, false, a, &why);
		of[i].got += met;
	}
	text_fini(&why);
	return met;
}

static void answer_tell(const struct answer *a, const char *what, struct text *why)
{
	text_format(why, "%s: %d %.600s\n", what, a->status, a->body.data ? a->body.data : "");
}

bool race_meets(const struct race *r, const char *expectation, struct text *why)
{
	char              *text = mem_copy(expectation);
	struct alternative of[ALTERNATIVES_MAX];
	int                n = alternatives_cut(text, of), strays = 0;
	bool               good = n > 0;

	for (int i = 0; i < r->threads * r->each; i++) {
		if (!expect_form(&r->call[i], &r->answer[i], why)) {
			answer_tell(&r->answer[i], ", the form of", why);
			good = false;
			break;
		}
		if (!answer_count(&r->answer[i], of, n) && strays++ < 3)
			answer_tell(&r->answer[i], "unexpected", why);
	}
	for (int i = 0; i < n; i++) {
		good = good && (of[i].want == EVERY || of[i].want == of[i].got);
		text_format(why, "%d x%s\n", of[i].got, of[i].words);
	}
	text_format(why, "%d others\n", strays);
	free(text);
	return good && strays == 0;
}
