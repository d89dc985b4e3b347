/* http1.c - see http1.h.
 *
 *   METHOD TARGET VERSION ─▶ LINE ─┬─▶ NAME VALUE ─▶ LINE                                      one function per state
 *                                  └─▶ EMPTY_LINE ─┬─▶ DATA ───────────────────────────────┬─▶ DONE
 *                                                  └─▶ CHUNK_SIZE ─▶ DATA CHUNK_CR CHUNK_LF ─▶ CHUNK_SIZE
 *                                                           └─ 0 ─▶ LINE (trailer) ────────┘ */
#include "api/http/http1.h"
#include "engine/base/text.h"

enum { SIZE_DIGITS = 15 };

static const struct {
	const char *name;
	size_t      len;
} names[HEADERS] = {
#define X(header, name) {name, sizeof(name) - 1},
	MESSAGE_HEADERS(X)
#undef X
};

static void fail(struct http1 *f, enum http1_fault fault, const char *detail)
{
	f->fault = fault;
	f->detail = detail;
}

static void malformed(struct http1 *f, const char *detail)
{
	fail(f, HTTP1_MALFORMED, detail);
}

/* ---- words */

/* Keeps bytes of a word. A word that does not fit is none of those that matter; word_len says that it was longer. */
static void word_add(struct http1 *f, const char *bytes, size_t len)
{
	size_t room = f->word_len < sizeof(f->word) ? sizeof(f->word) - f->word_len : 0;

	memcpy(f->word + sizeof(f->word) - room, bytes, len < room ? len : room);
	f->word_len = len <= room ? f->word_len + (unsigned)len : sizeof(f->word) + 1;
}

static void word_add_byte(struct http1 *f, unsigned char c)
{
	word_add(f, &(char){(char)c}, 1);
}

static bool word_is(const struct http1 *f, const char *word)
{
	return f->word_len == strlen(word) && memcmp(f->word, word, f->word_len) == 0;
}

/* Compares without regard to case. */
static bool word_is_like(const struct http1 *f, const char *word)
{
	return f->word_len == strlen(word) && strncasecmp(f->word, word, f->word_len) == 0;
}

static void go(struct http1 *f, enum http1_state state)
{
	f->state = state;
	f->word_len = 0;
}

/* The parts of a head in which a byte may stand: a target; a header's value (RFC 9110, 5.5); a token (tchar of RFC
 * 9110, 5.6.2). */
enum { TARGET = 1, TEXT = 2, TOKEN = 4, MARK = TARGET | TEXT, LETTER = TARGET | TEXT | TOKEN };
static const unsigned char classes[256] = {
	['\t'] = TEXT,           [' '] = TEXT,         ['!'] = LETTER,         ['"'] = MARK,
	['#' ... '\''] = LETTER, ['(' ... ')'] = MARK, ['*' ... '+'] = LETTER, [','] = MARK,
	['-' ... '.'] = LETTER,  ['/'] = MARK,         ['0' ... '9'] = LETTER, [':' ... '@'] = MARK,
	['A' ... 'Z'] = LETTER,  ['[' ... ']'] = MARK, ['^' ... 'z'] = LETTER, ['{'] = MARK,
	['|'] = LETTER,          ['}'] = MARK,         ['~'] = LETTER,         [0x80 ... 0xff] = TEXT,
};

static bool is_token(unsigned char c)
{
	return classes[c] & TOKEN;
}

static bool is_text(unsigned char c)
{
	return classes[c] & TEXT;
}

/* The place of the byte that is being read, which has been counted. */
static uint32_t here(const struct http1 *f)
{
	return (uint32_t)(f->head - 1);
}

/* ---- the head ends */

static void head_ended(struct http1 *f)
{
	unsigned hosts = f->counts[HEADER_HOST], lengths = f->counts[HEADER_CONTENT_LENGTH];
	unsigned codings = f->counts[HEADER_TRANSFER_ENCODING];

	f->body_at = f->head;
	if (hosts > 1 || (hosts == 0 && !f->is_10))
		malformed(f, "there must be one Host");
	else if (f->counts[HEADER_AUTHORIZATION] > 1)
		malformed(f, "there may be one Authorization");
	else if (lengths + codings > 1 || (f->is_10 && codings))
		malformed(f, "the length of the body is not clear");
	else if (f->length > f->limits->body_max)
		fail(f, HTTP1_TOO_LONG, "the body is too long");
	else if (f->expects && !f->is_10)
		fail(f, HTTP1_EXPECTATION, "nothing but 100-continue can be expected");
	else if (codings)
		go(f, HTTP1_CHUNK_SIZE);
	else
		go(f, f->length > 0 ? HTTP1_DATA : HTTP1_DONE);
	f->left = f->fault ? 0 : f->length;
	f->continues = !f->is_10 && f->counts[HEADER_EXPECT] > 0 && f->state != HTTP1_DONE;
}

/* ---- a value ends */

static void length_read(struct http1 *f)
{
	f->length = 0;
	if (f->word_len == 0 || f->word_len > SIZE_DIGITS)
		malformed(f, "the length of the body is not clear");
	for (unsigned i = 0; !f->fault && i < f->word_len; i++) {
		if (f->word[i] < '0' || f->word[i] > '9')
			malformed(f, "the length of the body is not clear");
		f->length = f->length * 10 + (uint64_t)(f->word[i] - '0');
	}
}

static void value_ended(struct http1 *f)
{
	while (f->word_len > 0 && f->word_len <= sizeof(f->word) && strchr(" \t", f->word[f->word_len - 1]))
		f->word_len--;
	if (f->header == HEADER_CONTENT_LENGTH)
		length_read(f);
	else if (f->header == HEADER_TRANSFER_ENCODING && !word_is_like(f, "chunked"))
		malformed(f, "the length of the body is not clear");
	f->expects |= f->header == HEADER_EXPECT && !word_is_like(f, "100-continue");
	f->closes |= f->header == HEADER_CONNECTION && word_is_like(f, "close");
	f->keeps |= f->header == HEADER_CONNECTION && word_is_like(f, "keep-alive");
}

/* ---- one byte in each state */

static void in_method(struct http1 *f, unsigned char c)
{
	if (c == ' ' && f->head > 1) {
		f->method.end = here(f);
		f->target.at = here(f) + 1;
		go(f, HTTP1_TARGET);
	} else if (!is_token(c)) {
		malformed(f, "the request line is malformed");
	}
}

static void in_target(struct http1 *f, unsigned char c)
{
	f->target.end = here(f);
	if (c == ' ' && f->target.end > f->target.at)
		go(f, HTTP1_VERSION);
	else if (c <= ' ' || c >= 0x7f)
		malformed(f, "the request line is malformed");
}

static void in_version(struct http1 *f, unsigned char c)
{
	f->is_10 = word_is(f, "HTTP/1.0");
	if (c == '\r' && (f->is_10 || word_is(f, "HTTP/1.1")))
		go(f, HTTP1_LINE_END);
	else if (is_token(c) || c == '/')
		word_add_byte(f, c);
	else
		malformed(f, "the request line is malformed");
}

static void in_line_end(struct http1 *f, unsigned char c)
{
	if (c == '\n')
		go(f, HTTP1_LINE);
	else
		malformed(f, "a line ends in CR LF");
}

/* The line feed that ends a head or a trailer. */
static void in_empty_line(struct http1 *f, unsigned char c)
{
	if (c != '\n')
		malformed(f, "a line ends in CR LF");
	else if (f->trailer)
		go(f, HTTP1_DONE);
	else
		head_ended(f);
}

/* The headers of a trailer are not taken. */
static void name_ended(struct http1 *f)
{
	f->header = f->trailer ? HEADERS : 0;
	while (f->header < HEADERS &&
	       (f->word_len != names[f->header].len || strncasecmp(f->word, names[f->header].name, f->word_len) != 0))
		f->header++;
	if (f->header < HEADERS && f->counts[f->header]++ == 0) {
		f->headers[f->header].at = here(f) + 1;
		f->there |= 1U << f->header;
	}
	go(f, HTTP1_VALUE);
}

static void in_name(struct http1 *f, unsigned char c)
{
	if (c == ':' && f->word_len > 0)
		name_ended(f);
	else if (is_token(c))
		word_add_byte(f, c);
	else
		malformed(f, "the name of a header is malformed");
}

static void in_line(struct http1 *f, unsigned char c)
{
	f->state = c == '\r' ? HTTP1_EMPTY_LINE : HTTP1_NAME;
	if (c != '\r')
		in_name(f, c);
}

static void in_value(struct http1 *f, unsigned char c)
{
	if (c == '\r') {
		if (f->header < HEADERS && f->counts[f->header] == 1)
			f->headers[f->header].end = here(f);
		value_ended(f);
		go(f, HTTP1_LINE_END);
	} else if (c == ',' && f->header == HEADER_CONNECTION) { /* a list of words, also over many lines */
		value_ended(f);
		f->word_len = 0;
	} else if (!is_text(c)) {
		malformed(f, "the value of a header is malformed");
	} else if (f->word_len > 0 || (c != ' ' && c != '\t')) {
		word_add_byte(f, c);
	}
}

static void in_chunk_size(struct http1 *f, unsigned char c)
{
	const char *digits = "0123456789abcdef", *digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 32 : c) : NULL;

	if (c == '\r' && f->word_len > 0) {
		go(f, HTTP1_CHUNK_SIZE_END);
	} else if (digit && f->word_len < SIZE_DIGITS) {
		f->left = f->left * 16 + (uint64_t)(digit - digits);
		f->word_len++;
	} else {
		malformed(f, "a chunk is malformed");
	}
}

static void in_chunk_size_end(struct http1 *f, unsigned char c)
{
	f->trailer = f->left == 0;
	if (f->left > f->limits->body_max - f->body)
		fail(f, HTTP1_TOO_LONG, "the body is too long");
	else if (c == '\n')
		go(f, f->trailer ? HTTP1_LINE : HTTP1_DATA);
	else
		malformed(f, "a chunk is malformed");
}

static void in_chunk_cr(struct http1 *f, unsigned char c)
{
	if (c == '\r')
		go(f, HTTP1_CHUNK_LF);
	else
		malformed(f, "a chunk is malformed");
}

static void in_chunk_lf(struct http1 *f, unsigned char c)
{
	if (c == '\n')
		go(f, HTTP1_CHUNK_SIZE);
	else
		malformed(f, "a chunk is malformed");
}

static void (*const steps[])(struct http1 *f, unsigned char c) = {
	[HTTP1_METHOD] = in_method,
	[HTTP1_TARGET] = in_target,
	[HTTP1_VERSION] = in_version,
	[HTTP1_LINE_END] = in_line_end,
	[HTTP1_LINE] = in_line,
	[HTTP1_NAME] = in_name,
	[HTTP1_VALUE] = in_value,
	[HTTP1_EMPTY_LINE] = in_empty_line,
	[HTTP1_CHUNK_SIZE] = in_chunk_size,
	[HTTP1_CHUNK_SIZE_END] = in_chunk_size_end,
	[HTTP1_CHUNK_CR] = in_chunk_cr,
	[HTTP1_CHUNK_LF] = in_chunk_lf,
};

/* ---- many bytes */

static bool value_matters(const struct http1 *f)
{
	return f->header == HEADER_CONTENT_LENGTH || f->header == HEADER_TRANSFER_ENCODING ||
	       f->header == HEADER_EXPECT || f->header == HEADER_CONNECTION;
}

static void count(struct http1 *f, size_t bytes)
{
	bool in_body = f->state >= HTTP1_DATA;

	*(in_body ? &f->body : &f->head) += bytes;
	if (f->body > f->limits->body_max)
		fail(f, HTTP1_TOO_LONG, "the body is too long");
	else if (f->head > f->limits->head_max)
		malformed(f, "the head of the request is too long");
}

/* The data of a body pass unread. */
static size_t data_pass(struct http1 *f, size_t len)
{
	if (f->state != HTTP1_DATA)
		return 0;
	if (len > f->left)
		len = (size_t)f->left;
	count(f, len);
	f->left -= len;
	if (f->left == 0 && !f->fault)
		go(f, f->counts[HEADER_TRANSFER_ENCODING] ? HTTP1_CHUNK_CR : HTTP1_DONE);
	return len;
}

/* Skips the bytes that do not end their state, which are most of a head, and keeps the bytes of a word. */
static size_t text_pass(struct http1 *f, const char *bytes, size_t len)
{
	static const unsigned char passes[HTTP1_DONE + 1] = {[HTTP1_METHOD] = TOKEN,
	                                                     [HTTP1_TARGET] = TARGET,
	                                                     [HTTP1_VERSION] = TOKEN,
	                                                     [HTTP1_NAME] = TOKEN,
	                                                     [HTTP1_VALUE] = TEXT};
	bool                       matters = f->state == HTTP1_VALUE && value_matters(f);
	unsigned char              pass = matters ? TOKEN : passes[f->state];
	size_t                     n = 0;

	while (n < len && classes[(unsigned char)bytes[n]] & pass)
		n++;
	if (n > 0 && (matters || f->state == HTTP1_VERSION || f->state == HTTP1_NAME))
		word_add(f, bytes, n);
	if (n > 0)
		count(f, n);
	return n;
}

size_t http1_read(struct http1 *f, const char *bytes, size_t len)
{
	size_t i = 0;

	assert(f->limits && f->state <= HTTP1_DONE);
	while (i < len && f->state != HTTP1_DONE && !f->fault) {
		size_t passed = data_pass(f, len - i);

		passed += text_pass(f, bytes + i + passed, len - i - passed);
		i += passed;
		if (passed > 0)
			continue;
		count(f, 1);
		if (!f->fault)
			steps[f->state](f, (unsigned char)bytes[i++]);
	}
	return i;
}

/* ---- the finished request */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *value_of(char *bytes, struct http1_span span)
{
	while (span.at < span.end && is_blank(bytes[span.at]))
		span.at++;
	while (span.end > span.at && is_blank(bytes[span.end - 1]))
		span.end--;
	bytes[span.end] = '\0';
	return bytes + span.at;
}

void http1_headers(const struct http1 *f, char *bytes, const char *values[HEADERS])
{
	assert(f->body_at > 0);
	memset(values, 0, HEADERS * sizeof(*values));
	for (unsigned there = f->there; there; there &= there - 1) {
		int h = __builtin_ctz(there);

		values[h] = value_of(bytes, f->headers[h]);
	}
}

/* The grammar of the body has been checked: sizes are hexadecimal, and the last is 0. */
static size_t chunks_join(char *body)
{
	char  *from = body, *to = body;
	size_t size;

	while ((size = strtoull(from, &from, 16)) > 0) {
		memmove(to, from + 2, size);
		to += size;
		from += 2 + size + 2;
	}
	return (size_t)(to - body);
}

char *http1_body(const struct http1 *f, char *bytes, size_t *len)
{
	char *body = bytes + f->body_at;

	*len = f->counts[HEADER_TRANSFER_ENCODING] ? chunks_join(body) : (size_t)f->length;
	return body;
}

bool http1_is_last(const struct http1 *f)
{
	return f->closes || (f->is_10 && !f->keeps);
}

/* ---- the answer */

enum { STATUS_LINE = 16 }; /* bytes of it beside the reason */

static char *field_write(char *at, const struct field *f)
{
	at = mempcpy(at, f->name, f->name_len);
	at = mempcpy(at, ": ", 2);
	at = mempcpy(at, f->value, f->value_len);
	return mempcpy(at, "\r\n", 2);
}

/* The room is made once, as this is done for each answer. */
void http1_answer(struct text *to, const struct reply *answer, const char *connection)
{
	struct field last = {"Connection", connection, strlen("Connection"), connection ? strlen(connection) : 0};
	size_t       reason_len = strlen(answer->reason),
	       room = STATUS_LINE + reason_len + last.name_len + last.value_len + 8;
	char *at;

	assert(answer->status >= 100 && answer->status <= 999);
	for (size_t i = 0; i < answer->fields_count; i++)
		room += answer->fields[i].name_len + answer->fields[i].value_len + 4;
	to->len = 0;
	at = mempcpy(text_room(to, room), "HTTP/1.1 ", 9);
	*at++ = (char)('0' + answer->status / 100);
	*at++ = (char)('0' + answer->status / 10 % 10);
	*at++ = (char)('0' + answer->status % 10);
	*at++ = ' ';
	at = mempcpy(mempcpy(at, answer->reason, reason_len), "\r\n", 2);
	for (size_t i = 0; i < answer->fields_count; i++)
		at = field_write(at, &answer->fields[i]);
	if (connection)
		at = field_write(at, &last);
	memcpy(at, "\r\n", 3); /* with its NUL */
	to->len = (size_t)(at + 2 - to->data);
}
