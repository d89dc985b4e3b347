/* test_gone.c - clients that go before their answer, that go half, and a service that is told to go while a request is
 * still arriving. */
#include "tests/attack.h"
#include "tests/flow.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FEW = 50, MANY = 200 };

static void reserve(struct text *to, const char *id)
{
	char body[100];

	snprintf(body, sizeof(body), "{\"order_id\":\"%s\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}", id);
	text_reset(to);
	text_format(to,
	            "POST /v1/reservations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	            "Content-Length: %zu\r\n\r\n%s",
	            strlen(body), body);
}

static int heard(int fd, int wait_ms, int *status)
{
	struct text text = {0};
	int         answers;

	attack_hear(fd, wait_ms, &text);
	answers = attack_answers(&text, status);
	text_fini(&text);
	return answers;
}

/* The end of a client's sending is not the end of the client. */
Test(gone, half)
{
	struct text request = {0};
	int         fds[FEW];

	flow_begin();
	flow_step("receipt A +100 -> 201");
	for (int i = 0; i < FEW; i++) {
		char id[16];

		snprintf(id, sizeof(id), "R%d", i);
		reserve(&request, id);
		fds[i] = attack_open(flow_port(0));
		attack_send(fds[i], request.data, request.len);
		shutdown(fds[i], SHUT_WR);
	}
	for (int i = 0; i < FEW; i++) {
		int status, answers = heard(fds[i], 5000, &status);

		cr_expect(answers == 1 && status == 201, "R%d: %d answers, %d", i, answers, status);
		close(fds[i]);
	}
	flow_step("sku A -> available=50 reserved=50");
	text_fini(&request);
	flow_end();
}

/* What they asked for is done all the same, once, and a repeat finds it. Of a reset nobody knows what it overtook. */
Test(gone, before_the_answer)
{
	struct text request = {0};

	flow_begin();
	flow_step("receipt A +1000 -> 201");
	for (int i = 0; i < MANY; i++) {
		char id[16];
		int  fd = attack_open(flow_port(0));

		snprintf(id, sizeof(id), "R%d", i);
		reserve(&request, id);
		attack_send(fd, request.data, request.len);
		if (i % 4 == 0)
			usleep(1000);
		if (i % 2)
			attack_reset(fd);
		else
			close(fd);
	}
	for (int i = 0; i < MANY; i += 2)
		flow_step("wait get R%d -> held", i);
	flow_steps("race 1*200 reserve R# A=1     -> *x 201 held | *x 200 held replayed",
	           "sku A                         -> available=800 reserved=200",
	           "raw GET /livez                -> 200");
	text_fini(&request);
	flow_end();
}

/* The request that is on its way when the service is told to end is still answered; one that never comes is not waited
 * for for ever. */
Test(gone, while_a_request_arrives)
{
	struct text request = {0};
	int         whole, part, status = 0, answers;

	flow_begin();
	flow_step("receipt A +10 -> 201");
	reserve(&request, "R1");
	whole = attack_open(flow_port(0));
	part = attack_open(flow_port(0));
	attack_send(whole, request.data, request.len - 20);
	attack_send(part, request.data, request.len - 1);
	usleep(200000);
	flow_terminate();
	usleep(1000000);
	attack_send(whole, request.data + request.len - 20, 20);
	answers = heard(whole, 3000, &status);
	cr_expect(answers == 1 && status == 201, "%d answers, %d", answers, status);
	cr_expect(!attack_ends(part, 100), "the other was not waited for");
	cr_expect(attack_ends(part, 15000), "the other is open");
	flow_steps("restart",
	           "get R1 -> held",
	           "sku A  -> reserved=1");
	close(whole);
	close(part);
	text_fini(&request);
	flow_end();
}
