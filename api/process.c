/* process.c - see process.h. */
#include "api/process.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Fields of /proc/self/stat behind the name, which may have spaces (proc(5)): state is the first. */
enum { UTIME = 12, STIME, THREADS = 18, STARTED = 20, VSIZE, RSS, FIELDS };

static void stat_read(long long field[FIELDS])
{
	char  text[1024] = "", *at;
	FILE *in = fopen("/proc/self/stat", "re");

	if (in && fgets(text, sizeof(text), in) && (at = strrchr(text, ')')))
		for (int i = 1; i < FIELDS && (at = strchr(at + 1, ' ')); i++)
			(void)sscanf(at, "%lld", &field[i]);
	if (in)
		fclose(in);
}

static int64_t fds_open(void)
{
	DIR    *dir = opendir("/proc/self/fd");
	int64_t count = -3; /* `.`, `..` and the folder's own */

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count < 0 ? 0 : count;
}

void process_read(struct process_figures *out)
{
	double          tick = (double)sysconf(_SC_CLK_TCK);
	long long       field[FIELDS] = {0};
	struct rlimit   files = {0};
	struct timespec now, boot;

	stat_read(field);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	*out = (struct process_figures){
		.cpu_s = (double)(field[UTIME] + field[STIME]) / tick,
		.started_s = (double)(now.tv_sec - boot.tv_sec) + (double)(now.tv_nsec - boot.tv_nsec) / 1e9 +
	                     (double)field[STARTED] / tick,
		.resident_bytes = field[RSS] * sysconf(_SC_PAGESIZE),
		.virtual_bytes = field[VSIZE],
		.threads = field[THREADS],
		.fds = fds_open(),
		.fds_max = files.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)files.rlim_cur,
	};
}
