/* child.c - see child.h. */
#include "engine/server/child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Between fork and exec another thread's locks may be held, so nothing here takes one. The environment was set before.
 */
static _Noreturn void child_become(const struct child *child, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(126);
	if (child->out >= 0 && (dup2(child->out, STDOUT_FILENO) < 0 || dup2(child->out, STDERR_FILENO) < 0))
		_exit(126);
	execvp(child->argv[0], child->argv);
	_exit(errno == ENOENT ? 127 : 126);
}

int child_run(const struct child *child)
{
	pid_t parent = getpid(), pid;
	int   status = 0;
	bool  secret = child->password && *child->password;

	assert(child->argv && child->argv[0]);
	if (secret && setenv("MYSQL_PWD", child->password, 1) != 0)
		return 126;
	pid = fork();
	if (pid == 0)
		child_become(child, parent);
	if (secret)
		unsetenv("MYSQL_PWD");
	if (pid < 0)
		return 126;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
