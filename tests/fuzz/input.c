/* input.c - see input.h. */
#include "engine/base/memory.h"
#include "input.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

char *input_text(const uint8_t *data, size_t size)
{
	char *text = mem_alloc(size + 1);

	if (size > 0)
		memcpy(text, data, size);
	return text;
}

const char *input_file(const uint8_t *data, size_t size)
{
	static char path[64];
	static int  fd = -1;

	if (fd < 0) {
		fd = memfd_create("input", MFD_CLOEXEC);
		assert(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	assert(ftruncate(fd, 0) == 0);
	assert(pwrite(fd, data, size, 0) == (ssize_t)size);
	return path;
}
