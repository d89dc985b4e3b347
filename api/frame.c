/* frame.c - see frame.h.
 *
 *   METHOD TARGET VERSION ─▶ LINE ─┬─▶ NAME VALUE ─▶ LINE                                      one function per state
 *                                  └─▶ EMPTY_LINE ─┬─▶ DATA ───────────────────────────────┬─▶ METHOD
 *                                                  └─▶ CHUNK_SIZE ─▶ DATA CHUNK_CR CHUNK_LF ─▶ CHUNK_SIZE
 *                                                           └─ 0 ─▶ LINE (trailer) ────────┘ */
#include "frame.h"

#include <ctype.h>
#include <string.h>

enum { SIZE_DIGITS = 15 };
enum header { OTHER, CONTENT_LENGTH, TRANSFER_ENCODING, HOST, EXPECT };

static void fail(struct frame *f, enum frame_fault fault, const char *detail)
{
	f->fault = fault;
	f->detail = detail;
}

static void malformed(struct frame *f, const char *detail)
{
	fail(f, FRAME_MALFORMED, detail);
}

/* ---- words */

/* What does not fit is no word that matters; its length says so. */
static void word_add(struct frame *f, unsigned char c)
{
	if (f->word_len < sizeof(f->word))
		f->word[f->word_len] = (char)c;
	f->word_len += f->word_len <= sizeof(f->word);
}

static bool word_is(const struct frame *f, const char *word)
{
	return f->word_len == strlen(word) && memcmp(f->word, word, f->word_len) == 0;
}

/* Without regard to case. */
static bool word_is_like(const struct frame *f, const char *word)
{
	return f->word_len == strlen(word) && strncasecmp(f->word, word, f->word_len) == 0;
}

static void go(struct frame *f, enum frame_state state)
{
	f->state = state;
	f->word_len = 0;
}

/* tchar of RFC 9110 5.6.2 */
static bool is_token(unsigned char c)
{
	return isalnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* A byte of a header's value: RFC 9110 5.5. */
static bool is_text(unsigned char c)
{
	return (c >= ' ' && c != 0x7f) || c == '\t';
}

/* ---- a request ends */

static void request_ended(struct frame *f)
{
	*f = (struct frame){.limits = f->limits, .complete = f->complete + 1};
}

static void head_ended(struct frame *f)
{
	bool empty = f->codings == 0 && f->length == 0;

	if (f->hosts > 1 || (f->hosts == 0 && !f->is_10))
		malformed(f, "there must be one Host");
	else if (f->lengths + f->codings > 1 || (f->is_10 && f->codings) || !(empty || f->has_body))
		malformed(f, "the length of the body is not clear");
	else if (f->length > f->limits->body_max)
		fail(f, FRAME_TOO_LONG, "the body is too long");
	else if (f->expects && !f->is_10)
		fail(f, FRAME_EXPECTATION, "nothing but 100-continue can be expected");
	else if (empty)
		request_ended(f);
	else
		go(f, f->codings ? FRAME_CHUNK_SIZE : FRAME_DATA);
	f->left = f->fault ? 0 : f->length;
}

/* ---- a value ends */

static void length_read(struct frame *f)
{
	f->lengths++;
	f->length = 0;
	if (f->word_len == 0 || f->word_len > SIZE_DIGITS)
		malformed(f, "the length of the body is not clear");
	for (unsigned i = 0; !f->fault && i < f->word_len; i++) {
		if (f->word[i] < '0' || f->word[i] > '9')
			malformed(f, "the length of the body is not clear");
		f->length = f->length * 10 + (uint64_t)(f->word[i] - '0');
	}
}

static void value_ended(struct frame *f)
{
	while (f->word_len > 0 && f->word_len <= sizeof(f->word) && strchr(" \t", f->word[f->word_len - 1]))
		f->word_len--;
	if (f->header == CONTENT_LENGTH)
		length_read(f);
	else if (f->header == TRANSFER_ENCODING && !word_is_like(f, "chunked"))
		malformed(f, "the length of the body is not clear");
	f->codings += f->header == TRANSFER_ENCODING;
	f->hosts += f->header == HOST;
	f->expects |= f->header == EXPECT && !word_is_like(f, "100-continue");
}

/* ---- one byte in each state */

static void in_method(struct frame *f, unsigned char c)
{
	/* Of the others evhttp takes one for the next request. */
	static const char *const with_body[] = {"POST", "PUT", "PATCH", "GET", "DELETE", "OPTIONS"};

	if (c == ' ' && f->word_len > 0) {
		for (size_t i = 0; i < COUNT(with_body); i++)
			f->has_body |= word_is(f, with_body[i]);
		go(f, FRAME_TARGET);
	} else if (is_token(c)) {
		word_add(f, c);
	} else {
		malformed(f, "the request line is malformed");
	}
}

static void in_target(struct frame *f, unsigned char c)
{
	if (c == ' ' && f->word_len > 0)
		go(f, FRAME_VERSION);
	else if (c > ' ' && c < 0x7f)
		word_add(f, c);
	else
		malformed(f, "the request line is malformed");
}

static void in_version(struct frame *f, unsigned char c)
{
	f->is_10 = word_is(f, "HTTP/1.0");
	if (c == '\r' && (f->is_10 || word_is(f, "HTTP/1.1")))
		go(f, FRAME_LINE_END);
	else if (is_token(c) || c == '/')
		word_add(f, c);
	else
		malformed(f, "the request line is malformed");
}

static void in_line_end(struct frame *f, unsigned char c)
{
	if (c == '\n')
		go(f, FRAME_LINE);
	else
		malformed(f, "a line ends in CR LF");
}

/* Behind a head, or behind a trailer. */
static void in_empty_line(struct frame *f, unsigned char c)
{
	if (c != '\n')
		malformed(f, "a line ends in CR LF");
	else if (f->trailer)
		request_ended(f);
	else
		head_ended(f);
}

static void in_name(struct frame *f, unsigned char c)
{
	static const char *const names[] = {
		[CONTENT_LENGTH] = "Content-Length",
		[TRANSFER_ENCODING] = "Transfer-Encoding",
		[HOST] = "Host",
		[EXPECT] = "Expect",
	};

	if (c == ':' && f->word_len > 0) {
		f->header = OTHER;
		for (int i = CONTENT_LENGTH; !f->trailer && i <= EXPECT; i++)
			if (word_is_like(f, names[i]))
				f->header = i;
		go(f, FRAME_VALUE);
	} else if (is_token(c)) {
		word_add(f, c);
	} else {
		malformed(f, "the name of a header is malformed");
	}
}

static void in_line(struct frame *f, unsigned char c)
{
	f->state = c == '\r' ? FRAME_EMPTY_LINE : FRAME_NAME;
	if (c != '\r')
		in_name(f, c);
}

static void in_value(struct frame *f, unsigned char c)
{
	if (c == '\r') {
		value_ended(f);
		go(f, FRAME_LINE_END);
	} else if (!is_text(c)) {
		malformed(f, "the value of a header is malformed");
	} else if (f->word_len > 0 || (c != ' ' && c != '\t')) {
		word_add(f, c);
	}
}

static void in_chunk_size(struct frame *f, unsigned char c)
{
	const char *digits = "0123456789abcdef", *digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 32 : c) : NULL;

	if (c == '\r' && f->word_len > 0) {
		go(f, FRAME_CHUNK_SIZE_END);
	} else if (digit && f->word_len < SIZE_DIGITS) {
		f->left = f->left * 16 + (uint64_t)(digit - digits);
		f->word_len++;
	} else {
		malformed(f, "a chunk is malformed");
	}
}

static void in_chunk_size_end(struct frame *f, unsigned char c)
{
	f->trailer = f->left == 0;
	if (f->left > f->limits->body_max - f->body)
		fail(f, FRAME_TOO_LONG, "the body is too long");
	else if (c == '\n')
		go(f, f->trailer ? FRAME_LINE : FRAME_DATA);
	else
		malformed(f, "a chunk is malformed");
}

static void in_chunk_cr(struct frame *f, unsigned char c)
{
	if (c == '\r')
		go(f, FRAME_CHUNK_LF);
	else
		malformed(f, "a chunk is malformed");
}

static void in_chunk_lf(struct frame *f, unsigned char c)
{
	if (c == '\n')
		go(f, FRAME_CHUNK_SIZE);
	else
		malformed(f, "a chunk is malformed");
}

static void (*const steps[])(struct frame *f, unsigned char c) = {
	[FRAME_METHOD] = in_method,
	[FRAME_TARGET] = in_target,
	[FRAME_VERSION] = in_version,
	[FRAME_LINE_END] = in_line_end,
	[FRAME_LINE] = in_line,
	[FRAME_NAME] = in_name,
	[FRAME_VALUE] = in_value,
	[FRAME_EMPTY_LINE] = in_empty_line,
	[FRAME_CHUNK_SIZE] = in_chunk_size,
	[FRAME_CHUNK_SIZE_END] = in_chunk_size_end,
	[FRAME_CHUNK_CR] = in_chunk_cr,
	[FRAME_CHUNK_LF] = in_chunk_lf,
};

/* ---- many bytes */

static void count(struct frame *f, size_t bytes)
{
	bool in_body = f->state >= FRAME_DATA;

	*(in_body ? &f->body : &f->head) += bytes;
	if (f->body > f->limits->body_max)
		fail(f, FRAME_TOO_LONG, "the body is too long");
	else if (f->head > f->limits->head_max)
		malformed(f, "the head of the request is too long");
}

size_t frame_pass(struct frame *f, size_t len)
{
	if (f->state != FRAME_DATA || f->fault)
		return 0;
	if (len > f->left)
		len = (size_t)f->left;
	count(f, len);
	f->left -= len;
	if (f->left == 0 && f->codings)
		go(f, FRAME_CHUNK_CR);
	else if (f->left == 0 && !f->fault)
		request_ended(f);
	return len;
}

/* Most of a head are values that do not matter. */
static size_t value_pass(struct frame *f, const char *bytes, size_t len)
{
	size_t n = 0;

	if (f->state != FRAME_VALUE || f->header != OTHER)
		return 0;
	while (n < len && is_text((unsigned char)bytes[n]))
		n++;
	count(f, n);
	return n;
}

void frame_read(struct frame *f, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len && !f->fault;) {
		size_t passed = frame_pass(f, len - i);

		passed += value_pass(f, bytes + i + passed, len - i - passed);
		i += passed;
		if (passed > 0)
			continue;
		count(f, 1);
		if (!f->fault)
			steps[f->state](f, (unsigned char)bytes[i++]);
	}
}

bool frame_is_between(const struct frame *f)
{
	return f->state == FRAME_METHOD && f->word_len == 0 && !f->fault;
}
