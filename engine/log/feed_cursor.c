/* feed_cursor.c - see feed_cursor.h. A text that was read is written again and must come out the same, so that there is
 * one text for each place. */
#include "engine/log/feed_cursor.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "engine/base/text.h"

enum { CHECK_BYTES = 4, NUMBER_BYTES_MAX = 10 };
static const char begins_with = 'e'; /* no time does, nor "now" */

void feed_place_fini(struct feed_place *p)
{
	free(p->writers);
	*p = (struct feed_place){0};
}

void feed_place_copy(struct feed_place *to, const struct feed_place *from)
{
	*to = *from;
	to->max = from->count;
	to->writers = mem_alloc((from->count + 1) * sizeof(*to->writers));
	if (from->count > 0)
		memcpy(to->writers, from->writers, from->count * sizeof(*to->writers));
}

struct feed_writer *feed_place_add(struct feed_place *p, uint32_t writer_id)
{
	p->writers = mem_reach(p->writers, p->count, &p->max, sizeof(*p->writers));
	p->writers[p->count] = (struct feed_writer){.writer_id = writer_id, .found_from = INT64_MAX};
	return &p->writers[p->count++];
}

static int writer_order(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, two = ((const struct feed_writer *)b)->writer_id;

	return (one > two) - (one < two);
}

struct feed_writer *feed_place_find(const struct feed_place *p, uint32_t writer_id)
{
	return p->count ? bsearch(&writer_id, p->writers, p->count, sizeof(*p->writers), writer_order) : NULL;
}

int64_t feed_place_behind(const struct feed_place *p, uint32_t writer_id)
{
	return p->stamp + (writer_id <= p->writer_id);
}

void feed_place_pass(struct feed_place *p, size_t at, uint64_t event_no, int64_t stamp, uint32_t part)
{
	struct feed_writer *w = &p->writers[at];

	if (stamp >= feed_place_behind(p, w->writer_id)) { /* a row that was committed late moves no merge back */
		p->stamp = stamp < INT64_MAX ? stamp : INT64_MAX - 1; /* damaged */
		p->writer_id = w->writer_id;
		p->event_no = event_no;
	}
	p->part = part;
	p->part_writer = part ? w->writer_id : 0;
	if (part)
		return;
	w->event_no = event_no;
	w->check = feed_check(event_no, stamp);
}

uint32_t feed_check(uint64_t event_no, int64_t stamp)
{
	unsigned char bytes[sizeof(stamp)];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)((uint64_t)stamp >> 8 * i);
	return event_no == 0 ? 0 : hash_stable(bytes, sizeof(bytes));
}

/* ---- bytes */

static void put(struct text *to, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		text_char(to, (char)(n | 0x80));
	text_char(to, (char)n);
}

static void put_check(struct text *to, uint32_t check)
{
	for (int i = 0; i < CHECK_BYTES; i++)
		text_char(to, (char)(check >> 8 * i));
}

struct in {
	const unsigned char *at, *end;
	bool                 wrong;
};

static uint64_t get(struct in *in, uint64_t most)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < NUMBER_BYTES_MAX && in->at < in->end; i++) {
		n |= (uint64_t)(*in->at & 0x7f) << 7 * i;
		if (*in->at++ < 0x80) {
			in->wrong |= n > most;
			return n;
		}
	}
	in->wrong = true;
	return 0;
}

static uint32_t get_check(struct in *in)
{
	uint32_t check = 0;

	in->wrong |= in->end - in->at < CHECK_BYTES;
	for (int i = 0; i < CHECK_BYTES && !in->wrong; i++)
		check |= (uint32_t)*in->at++ << 8 * i;
	return check;
}

/* ---- base64url (RFC 4648, section 5) without padding */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void letters_write(struct text *to, const struct text *bytes)
{
	uint32_t bits = 0;
	unsigned count = 0;

	for (size_t i = 0; i < bytes->len; i++) {
		bits = bits << 8 | (unsigned char)bytes->data[i];
		for (count += 8; count >= 6; count -= 6)
			text_char(to, letters[bits >> (count - 6) & 63]);
	}
	if (count > 0)
		text_char(to, letters[bits << (6 - count) & 63]);
}

static bool letters_read(struct text *to, const char *from)
{
	uint32_t bits = 0;
	unsigned count = 0;

	for (; *from; from++) {
		const char *letter = strchr(letters, *from);

		if (!letter)
			return false;
		bits = bits << 6 | (uint32_t)(letter - letters);
		count += 6;
		if (count >= 8) {
			count -= 8;
			text_char(to, (char)(bits >> count));
		}
	}
	return to->len > CHECK_BYTES;
}

/* ---- the text */

/* A writer that has ended is named while a row of it is begun, or the merge does not find what is unread. */
static bool is_named(const struct feed_place *p, const struct feed_writer *w)
{
	return !w->ended || w->writer_id == p->part_writer || (w->event_no < w->last && p->stamp <= w->found_from);
}

static void writers_put(struct text *to, const struct feed_place *p)
{
	uint32_t before = 0;

	for (size_t i = 0; i < p->count; i++) {
		const struct feed_writer *w = &p->writers[i];

		if (!is_named(p, w))
			continue;
		put(to, w->writer_id - before);
		put(to, w->event_no);
		put_check(to, w->check);
		before = w->writer_id;
	}
}

char *feed_place_write(const struct feed_place *p)
{
	struct text bytes = {0}, text = {0};

	put(&bytes, p->mark);
	put(&bytes, p->era);
	put(&bytes, p->known);
	put(&bytes, (uint64_t)p->stamp);
	put(&bytes, p->writer_id);
	put(&bytes, p->event_no);
	put(&bytes, p->part);
	put(&bytes, p->part_writer);
	writers_put(&bytes, p);
	put_check(&bytes, hash_stable(bytes.data, bytes.len));
	text_char(&text, begins_with);
	letters_write(&text, &bytes);
	text_fini(&bytes);
	return text.data;
}

static void writers_get(struct in *in, struct feed_place *p)
{
	uint64_t writer_id = 0;

	while (!in->wrong && in->at < in->end) {
		uint64_t            more = get(in, UINT32_MAX);
		struct feed_writer *w;

		writer_id += more;
		in->wrong |= more == 0 || writer_id > UINT32_MAX;
		w = feed_place_add(p, (uint32_t)writer_id);
		w->event_no = get(in, INT64_MAX);
		w->check = get_check(in);
	}
}

static bool place_get(struct in *in, struct feed_place *p)
{
	p->mark = get(in, UINT64_MAX);
	p->era = (uint32_t)get(in, UINT32_MAX);
	p->known = (uint32_t)get(in, UINT32_MAX);
	p->stamp = (int64_t)get(in, INT64_MAX - 1);
	p->writer_id = (uint32_t)get(in, UINT32_MAX);
	p->event_no = get(in, INT64_MAX);
	p->part = (uint32_t)get(in, UINT32_MAX);
	p->part_writer = (uint32_t)get(in, UINT32_MAX);
	writers_get(in, p);
	return !in->wrong && !p->part == !p->part_writer && (!p->part || feed_place_find(p, p->part_writer));
}

bool feed_place_read(const char *text, struct feed_place *p)
{
	struct text bytes = {0};
	bool        ok = *text == begins_with && letters_read(&bytes, text + 1);

	if (ok) {
		const unsigned char *first = (const unsigned char *)bytes.data;
		struct in            in = {first, first + bytes.len - CHECK_BYTES, false};
		char                *again;

		ok = place_get(&in, p);
		again = feed_place_write(p);
		ok = ok && strcmp(again, text) == 0;
		free(again);
	}
	text_fini(&bytes);
	return ok;
}
