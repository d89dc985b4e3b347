/* constant.c - evhttp answering a constant: what an HTTP service in one thread could do at best if its answers cost
 * nothing. The program itself, which is this one with the word `constant`, and the contender. Its answers are as long
 * as Holdfast's, and the loader checks every byte of them. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "load.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const char reservation[] =
	"{\"order_id\":\"O-0123456789ABCDEF\",\"state\":\"held\",\"lines\":[{\"sku\":\"HOT-0000\","
	"\"location\":\"main\",\"qty\":2}],\"created_at\":\"2026-11-20T08:47:00.000Z\","
	"\"expires_at\":\"2026-11-20T09:02:00.000Z\",\"attempts\":0}";
static const char reading[] = "{\"sku\":\"SHOP-0000\",\"available\":999999998,\"reserved\":2,\"on_hand\":1000000000,"
			      "\"locations\":[{\"location\":\"main\",\"available\":999999998,\"reserved\":2,"
			      "\"on_hand\":1000000000}]}";

/* ---- the program */

static void answer_constant(struct evhttp_request *r, void *arg)
{
	bool             get = evhttp_request_get_command(r) == EVHTTP_REQ_GET;
	struct evbuffer *body = evhttp_request_get_output_buffer(r);

	(void)arg;
	evhttp_add_header(evhttp_request_get_output_headers(r), "Content-Type", "application/json");
	if (get)
		evbuffer_add_reference(body, reading, strlen(reading), NULL, NULL);
	else
		evbuffer_add_reference(body, reservation, strlen(reservation), NULL, NULL);
	evhttp_send_reply(r, get ? 200 : 201, NULL, NULL);
}

int constant_main(void)
{
	struct event_base          *base = event_base_new();
	struct evhttp              *http = base ? evhttp_new(base) : NULL;
	struct evhttp_bound_socket *bound = http ? evhttp_bind_socket_with_handle(http, "127.0.0.1", 0) : NULL;
	struct sockaddr_in          at = {0};
	socklen_t                   len = sizeof(at);

	signal(SIGPIPE, SIG_IGN);
	if (!bound || getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&at, &len))
		return EXIT_UNAVAILABLE;
	evhttp_set_gencb(http, answer_constant, NULL);
	log_event(LOG_INFO, "listening", "address=127.0.0.1:%u", ntohs(at.sin_port));
	event_base_dispatch(base);
	return EXIT_TROUBLE;
}

/* ---- the contender */

static bool constant_open(struct bench *b, const struct contender *c)
{
	char *argv[] = {"/proc/self/exe", "constant", NULL};
	long  from = log_size();

	(void)c;
	if (b->constant.pid)
		return true;
	b->constant_port = child_start(&b->constant, argv) ? program_port(&b->constant, from) : 0;
	return b->constant_port > 0;
}

/* Writes the request of the contender with one line of the hot sku. */
static bool order_next(void *arg, struct load_call *call, struct text *request)
{
	struct bench *b = arg;
	struct text   body = {0};

	call->number = b->order_next++;
	text_add(&body, "{\"order_id\":\"");
	order_write(&body, call->number);
	text_add(&body, "\",\"lines\":[{\"sku\":\"HOT-0000\",\"qty\":2}]}");
	load_request(request, "POST", "/v1/reservations", body.data, body.len);
	text_fini(&body);
	return true;
}

static bool reading_next(void *arg, struct load_call *call, struct text *request)
{
	(void)arg, (void)call;
	load_request(request, "GET", "/v1/skus/SHOP-0000?max_age_ms=1000", "", 0);
	return true;
}

static enum load_verdict is_constant(const struct load_answer *answer, int status, const char *body)
{
	return answer->status == status && answer->body.len == strlen(body) &&
	                       memcmp(answer->body.at, body, answer->body.len) == 0
	               ? LOAD_DONE
	               : LOAD_WRONG;
}

static enum load_verdict order_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	(void)arg, (void)call;
	return is_constant(answer, 201, reservation);
}

static enum load_verdict reading_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	(void)arg, (void)call;
	return is_constant(answer, 200, reading);
}

const struct load_plan constant_orders = {order_next, order_check, NULL};
const struct load_plan constant_readings = {reading_next, reading_check, NULL};

static void constant_run(struct bench *b, const struct contender *c, struct round *out)
{
	struct load l = {.port = b->constant_port, .connections = c->connections, .plan = c->what, .arg = b};

	l.until_us = clock_us() + (int64_t)b->seconds * 1000000;
	load_run(&l);
	*out = (struct round){
		.seconds = l.seconds, .timed = l.timed, .orders = l.orders, .wrong = l.wrong, .samples = l.samples};
}

const struct way way_constant = {.open = constant_open, .run = constant_run, .child = offsetof(struct bench, constant)};
