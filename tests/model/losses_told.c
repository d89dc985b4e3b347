/* losses_told.c - see losses_told.h. */
#include "tests/model/losses_told.h"

#include "tests/lang/flow.h"

#include <stdlib.h>
#include <string.h>

void losses_compare(const struct model *m)
{
	static int    arrived[MODEL_IDS], backordered[MODEL_IDS];
	struct client client;
	struct answer answer = {0};
	const cJSON  *event;

	client_open(&client, flow_port(0));
	client_ask(&client, "GET", "/v1/events?types=reservation.arrived,reservation.backordered&limit=1000", "",
	           &answer);
	cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(answer.json, "items"))
	{
		const cJSON *data = cJSON_GetObjectItemCaseSensitive(event, "data");
		const char  *type = cJSON_GetObjectItemCaseSensitive(event, "type")->valuestring;
		int          id = atoi(cJSON_GetObjectItemCaseSensitive(data, "order_id")->valuestring + 1);

		if (strcmp(type, "reservation.arrived") == 0)
			arrived[id]++;
		else
			backordered[id]++;
	}
	for (int id = 0; id < m->ids; id++) {
		const struct order *o = &m->order[id];

		if (backordered[id] != o->losses)
			flow_fail("O%d has lost units %d times, events tell of %d", id, o->losses, backordered[id]);
		if (!o->ask.wish.places && (arrived[id] > 0) != o->served)
			flow_fail("O%d was served: %d, %d events tell", id, o->served, arrived[id]);
	}
	answer_fini(&answer);
	client_close(&client);
}
