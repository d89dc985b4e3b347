/* fuzz_http.c - any bytes as what a client sends on one connection. The service closes it after its answers, and gives
 * no status but those that it documents. */
#include "engine/base/text.h"
#include "input.h"
#include "service.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	service_start();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text answer = {0};

	service_exchange(data, size, true, &answer);
	service_check_statuses(&answer);
	text_fini(&answer);
	return 0;
}
