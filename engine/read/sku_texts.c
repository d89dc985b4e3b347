/* sku_texts.c - see sku_texts.h. A record is
 *
 *   CODE code [FOLDED code] [NAME name] [BARCODE barcode] .. END
 *
 * with all texts but the first one folded; a code that folding leaves as it is stands there once. The marks are bytes
 * that UTF-8 never has, so a text that is looked for lies in one field. It has no upper case, so a hit in the first
 * field is one in the folded code. A record that is replaced becomes END bytes, until these are a quarter of all. */
#include "engine/read/sku_texts.h"
#include "engine/read/fold.h"
#include "engine/base/memory.h"

enum mark { CODE = 0xfb, FOLDED = 0xfc, NAME = 0xfd, BARCODE = BARCODE_GAP, END = 0xff };
/* SLACK: a hit is looked for 16 bytes at a time, so as many bytes behind the last record are read. */
enum { MARK_MIN = 0xf8, DEAD_MIN = 1 << 16, SLACK = 16 };

struct text_record {
	uint32_t sku_id;
	uint32_t at;
};

void sku_texts_fini(struct sku_texts *t)
{
	free(t->bytes);
	free(t->records);
	free(t->by_id);
	*t = (struct sku_texts){.max = t->max};
}

size_t sku_texts_memory(const struct sku_texts *t)
{
	return t->size + t->records_max * sizeof(*t->records) + t->by_id_max * sizeof(*t->by_id);
}

static bool is_mark(char c)
{
	return (unsigned char)c >= MARK_MIN;
}

static const char *record_bytes(const struct sku_texts *t, size_t record)
{
	return t->bytes + t->records[record].at;
}

static const char *record_end(const struct sku_texts *t, size_t record)
{
	return record + 1 < t->records_count ? record_bytes(t, record + 1) : t->bytes + t->used;
}

/* The place of the sku in by_id, or where it would stand. New skus mostly have the greatest number. */
static size_t place_of(const struct sku_texts *t, uint32_t sku_id)
{
	size_t from = 0, to = t->count;

	if (to > 0 && t->records[t->by_id[to - 1]].sku_id < sku_id)
		return to;
	while (from < to) {
		size_t middle = (from + to) / 2;

		if (t->records[t->by_id[middle]].sku_id < sku_id)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool stands_at(const struct sku_texts *t, size_t place, uint32_t sku_id)
{
	return place < t->count && t->records[t->by_id[place]].sku_id == sku_id;
}

/* ---- entering */

/* Grows by an eighth: the kernel moves large blocks without a copy. */
static void *room(void *list, size_t needed, size_t *max, size_t size)
{
	if (needed <= *max)
		return list;
	*max = needed + needed / 8 + 64;
	return mem_resize(list, *max * size);
}

/* Drops the records that were replaced. */
static void compact(struct sku_texts *t)
{
	uint32_t *moved = mem_alloc(t->records_count * sizeof(*moved));
	size_t    records = 0, used = 0;

	for (size_t i = 0; i < t->records_count; i++) {
		size_t      len = (size_t)(record_end(t, i) - record_bytes(t, i));
		const char *from = record_bytes(t, i);

		if (!t->records[i].sku_id)
			continue;
		memmove(t->bytes + used, from, len);
		moved[i] = (uint32_t)records;
		t->records[records++] = (struct text_record){t->records[i].sku_id, (uint32_t)used};
		used += len;
	}
	for (size_t i = 0; i < t->count; i++)
		t->by_id[i] = moved[t->by_id[i]];
	t->records_count = records;
	t->used = used;
	t->dead = 0;
	free(moved);
}

static void record_kill(struct sku_texts *t, size_t place)
{
	size_t record = t->by_id[place], len = (size_t)(record_end(t, record) - record_bytes(t, record));

	memset(t->bytes + t->records[record].at, END, len);
	t->records[record].sku_id = 0;
	t->dead += len;
}

static char *field(char *to, enum mark mark, const char *text, size_t len)
{
	*to++ = (char)mark;
	return text_fold(to, text, len);
}

static char *record_write(char *to, const struct sku_text *text)
{
	const char *at = text->barcodes, *end = at ? at + text->barcodes_len : NULL;
	char       *code, *folded;

	*to++ = (char)CODE;
	code = to;
	memcpy(to, text->code, text->code_len);
	to += text->code_len;
	folded = to;
	to = field(to, FOLDED, text->code, text->code_len);
	if ((size_t)(to - folded) == text->code_len + 1 && memcmp(code, folded + 1, text->code_len) == 0)
		to = folded;
	if (text->name)
		to = field(to, NAME, text->name, text->name_len);
	while (at && at < end) {
		const char *gap = memchr(at, BARCODE_GAP, (size_t)(end - at));

		to = field(to, BARCODE, at, (size_t)((gap ? gap : end) - at));
		at = gap ? gap + 1 : end;
	}
	*to++ = (char)END;
	return to;
}

/* The sku's record becomes the last one; of a new sku the other numbers make room. */
static void record_enter(struct sku_texts *t, size_t place, uint32_t sku_id)
{
	if (!stands_at(t, place, sku_id)) {
		t->by_id = room(t->by_id, t->count + 1, &t->by_id_max, sizeof(*t->by_id));
		memmove(t->by_id + place + 1, t->by_id + place, (t->count - place) * sizeof(*t->by_id));
		t->count++;
	} else {
		record_kill(t, place);
	}
	t->by_id[place] = (uint32_t)t->records_count;
}

bool sku_texts_put(struct sku_texts *t, const struct sku_text *text)
{
	size_t most = 2 * text->code_len + text->name_len + text->barcodes_len + 5 + SLACK;
	char  *end;

	assert(text->sku_id > 0);
	if (t->dead > DEAD_MIN && t->dead > t->used / 4)
		compact(t);
	if (t->used + most > UINT32_MAX || sku_texts_memory(t) + most > t->max)
		return false;
	t->bytes = room(t->bytes, t->used + most, &t->size, 1);
	t->records = room(t->records, t->records_count + 1, &t->records_max, sizeof(*t->records));
	end = record_write(t->bytes + t->used, text);
	memset(end, 0, SLACK);
	assert((size_t)(end - t->bytes) + SLACK <= t->used + most);
	record_enter(t, place_of(t, text->sku_id), text->sku_id);
	t->records[t->records_count++] = (struct text_record){text->sku_id, (uint32_t)t->used};
	t->used = (size_t)(end - t->bytes);
	return true;
}

/* ---- finding */

typedef unsigned char block __attribute__((vector_size(16)));

/* The first place from `at` on where the text stands before `end`; NULL: there is none. memmem prepares itself at each
 * call: with it a search takes 40 ms instead of 13 where all of 200,000 skus have the text, and 6 instead of 3 where
 * none has it. */
static const char *hit_find(const char *at, const char *end, const char *text, size_t len)
{
	const block first = (block){0} + (unsigned char)text[0], last = (block){0} + (unsigned char)text[len - 1];

	for (; at + len <= end; at += sizeof(block)) {
		block    a, b;
		uint64_t any[2];

		memcpy(&a, at, sizeof(a));
		memcpy(&b, at + len - 1, sizeof(b));
		a = (block)(a == first) & (block)(b == last);
		memcpy(any, &a, sizeof(any));
		if (!(any[0] | any[1]))
			continue;
		for (size_t i = 0; i < sizeof(block) && at + i + len <= end; i++)
			if (a[i] && memcmp(at + i, text, len) == 0)
				return at + i;
	}
	return NULL;
}

static const char *record_code(const struct sku_texts *t, size_t record, size_t *len)
{
	const char *code = record_bytes(t, record) + 1;

	for (*len = 0; !is_mark(code[*len]);)
		++*len;
	return code;
}

const char *sku_texts_code(const struct sku_texts *t, uint32_t sku_id, size_t *len)
{
	size_t place = place_of(t, sku_id);

	return stands_at(t, place, sku_id) ? record_code(t, t->by_id[place], len) : NULL;
}

/* True: the text is a whole field from `at` to `end`, and no name. */
static bool is_exact(const char *at, const char *end, const char *text, size_t len)
{
	while ((at = hit_find(at, end, text, len))) {
		if (is_mark(at[-1]) && (unsigned char)at[-1] != NAME && is_mark(at[len]))
			return true;
		at++;
	}
	return false;
}

bool sku_texts_exact(const struct sku_texts *t, const char *text, size_t len, uint32_t sku_id)
{
	size_t place = place_of(t, sku_id), record;

	if (!stands_at(t, place, sku_id))
		return false;
	record = t->by_id[place];
	return is_exact(record_bytes(t, record), record_end(t, record), text, len);
}

static int found_order(const void *a, const void *b)
{
	const struct sku_found *x = a, *y = b;
	int                     order = y->exact - x->exact;

	if (order == 0)
		order = memcmp(x->code, y->code, x->len < y->len ? x->len : y->len);
	return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* A heap with the last one at its top. The new one takes the place of the last one. */
static void heap_sink(struct sku_found *heap, size_t count, struct sku_found found)
{
	size_t at = 0, child;

	for (; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && found_order(&heap[child], &heap[child + 1]) < 0)
			child++;
		if (found_order(&heap[child], &found) < 0)
			break;
		heap[at] = heap[child];
	}
	heap[at] = found;
}

static size_t heap_add(struct sku_found *heap, size_t count, size_t max, const struct sku_found *found)
{
	size_t at = count;

	if (count == max) {
		if (found_order(found, &heap[0]) < 0)
			heap_sink(heap, count, *found);
		return count;
	}
	for (; at > 0 && found_order(&heap[(at - 1) / 2], found) < 0; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = *found;
	return count + 1;
}

size_t sku_texts_find(const struct sku_texts *t, const char *text, size_t len, const struct sku_found *after,
                      struct sku_found *list, size_t max)
{
	const char *at = t->bytes, *end = at ? at + t->used : NULL;
	size_t      record = 0, count = 0;

	assert(len > 0 && len <= TEXT_FOUND_MAX && max > 0);
	while (at < end && (at = hit_find(at, end, text, len))) {
		struct sku_found found;

		while (record_end(t, record) <= at)
			record++;
		found.sku_id = t->records[record].sku_id;
		found.exact = is_exact(at, record_end(t, record), text, len);
		found.code = record_code(t, record, &found.len);
		if (!after || found_order(after, &found) < 0)
			count = heap_add(list, count, max, &found);
		at = record_end(t, record);
	}
	if (count > 1)
		qsort(list, count, sizeof(*list), found_order);
	return count;
}
