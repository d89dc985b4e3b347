/* test_db_tls.c - TLS to the database: a private MariaDB on a TCP port, with a certificate or without; what is
 * encrypted, what is verified, and what is refused. */
#include "engine/db.h"
#include "engine/embedded.h"
#include "tests/cert.h"
#include "tests/http.h"
#include "tests/program.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_MS = 30000, PAUSE_US = 20000, NO_SUCH_PLUGIN = 1126 };

static char  dir[64];
static int   port;
static pid_t server;
static bool  pam; /* the server can ask PAM */

/* ---- a server that this test starts by itself, on a data directory that embedded.c made */

static void data_make(void)
{
	static const char *const sql[] = {
		"CREATE USER app@'127.0.0.1' IDENTIFIED BY 'open sesame'",
		"GRANT ALL ON holdfast.* TO app@'127.0.0.1'",
	};
	char             data[80], why[1024];
	struct embedded *embedded;
	struct db       *db;

	snprintf(data, sizeof(data), "%s/var", dir);
	cr_assert(embedded_open(&embedded, data, EMBEDDED_MAKE, why, sizeof(why)) == EXIT_DONE, "%s", why);
	db = db_new(embedded_target(embedded));
	cr_assert(db_connect(db), "%s", db_error(db));
	for (size_t i = 0; i < COUNT(sql); i++)
		cr_assert(db_text(db, sql[i], NULL, NULL) == DB_OK, "%s", db_error(db));
	pam = db_text(db, "INSTALL SONAME 'auth_pam_v1'", NULL, NULL) == DB_OK;
	cr_assert(pam || db_errno(db) == NO_SUCH_PLUGIN, "%s", db_error(db));
	if (pam)
		cr_assert(db_text(db, "CREATE USER pam@'127.0.0.1' IDENTIFIED VIA pam", NULL, NULL) == DB_OK);
	db_free(db);
	embedded_close(embedded);
}

static int port_free(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t          len = sizeof(at);
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert(bind(fd, (struct sockaddr *)&at, len) == 0 && getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	close(fd);
	return ntohs(at.sin_port);
}

/* `name`: of the certificate in dir; NULL: the server speaks no TLS. */
static void server_start(const char *name)
{
	char        data[100], socket[100], at_port[40], cert[140], key[140], user[] = "--skip-log-bin";
	struct stat st;
	char       *argv[] = {"mariadbd",
	                      "--no-defaults",
	                      data,
	                      socket,
	                      at_port,
	                      user,
	                      "--bind-address=127.0.0.1",
	                      "--skip-name-resolve",
	                      "--log-error=../mariadbd.log",
	                      "--innodb-log-file-size=512M",
                        name ? cert : NULL,
	                      key,
	                      NULL};

	snprintf(data, sizeof(data), "--datadir=%s/var/db", dir);
	cr_assert(stat(strchr(data, '=') + 1, &st) == 0);
	if (st.st_uid == 0)
		strcpy(user, "--user=root");
	snprintf(socket, sizeof(socket), "--socket=%s/var/own.sock", dir);
	snprintf(at_port, sizeof(at_port), "--port=%d", port = port_free());
	snprintf(cert, sizeof(cert), "--ssl-cert=%s/%s.cert", dir, name ? name : "");
	snprintf(key, sizeof(key), "--ssl-key=%s/%s.key", dir, name ? name : "");
	server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (geteuid() == 0 && (setgid(st.st_gid) != 0 || setuid(st.st_uid) != 0))
			_exit(126);
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		close_range(STDERR_FILENO + 1, ~0U, 0);
		execvp(argv[0], argv);
		execv("/usr/sbin/mariadbd", argv);
		_exit(127);
	}
}

static void server_end(void)
{
	kill(server, SIGTERM);
	waitpid(server, NULL, 0);
}

static void setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/holdfast-test-XXXXXX");
	cr_assert(mkdtemp(dir) && chmod(dir, 0755) == 0);
	data_make();
	cert_write(dir, "right", "DNS:localhost,IP:127.0.0.1", 30);
	cert_write(dir, "elsewhere", "DNS:elsewhere.example", 30);
	cert_write(dir, "over", "DNS:localhost,IP:127.0.0.1", 0);
}

static int path_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void teardown(void)
{
	nftw(dir, path_remove, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(db_tls, .init = setup, .fini = teardown, .timeout = 90);

/* ---- connections */

/* `tls_ca`: the name of a certificate; NULL: none. */
static struct db *connection_as(const char *user, enum db_tls tls, const char *tls_ca)
{
	struct db_target to = {.host = "127.0.0.1",
	                       .port = (unsigned)port,
	                       .password = "open sesame",
	                       .database = "holdfast",
	                       .tls = tls};

	snprintf(to.user, sizeof(to.user), "%s", user);
	if (tls_ca)
		snprintf(to.tls_ca, sizeof(to.tls_ca), "%s/%s.cert", dir, tls_ca);
	return db_new(&to);
}

static struct db *connection_new(enum db_tls tls, const char *tls_ca)
{
	return connection_as("app", tls, tls_ca);
}

static void server_wait(void)
{
	struct db *db = connection_new(DB_TLS_OFF, NULL);

	for (int64_t until = clock_ms() + START_MS; !db_connect(db); usleep(PAUSE_US))
		cr_assert(clock_ms() < until && waitpid(server, NULL, WNOHANG) == 0, "the server: %s", db_error(db));
	db_free(db);
}

static void value_keep(void *arg, const struct db_row *row)
{
	snprintf(arg, 64, "%s", row->col[1]);
}

static void connects(enum db_tls tls, const char *tls_ca)
{
	struct db *db = connection_new(tls, tls_ca);
	char       cipher[64] = "";

	cr_expect(db_connect(db), "tls=%d tls_ca=%s: %s", tls, tls_ca ? tls_ca : "", db_error(db));
	cr_expect(db_text(db, "SHOW SESSION STATUS LIKE 'Ssl_cipher'", value_keep, cipher) == DB_OK);
	cr_expect((*cipher != '\0') == (tls != DB_TLS_OFF), "tls=%d is encrypted by \"%s\"", tls, cipher);
	db_free(db);
}

static void refuses(enum db_tls tls, const char *tls_ca, const char *why)
{
	struct db *db = connection_new(tls, tls_ca);

	cr_expect(!db_connect(db), "tls=%d tls_ca=%s is connected", tls, tls_ca ? tls_ca : "");
	cr_expect(strstr(db_error(db), why) && !strstr(db_error(db), "sesame"), "%u %s", db_errno(db), db_error(db));
	cr_expect(db_text(db, "SELECT 1", NULL, NULL) == DB_AWAY);
	db_free(db);
}

/* ---- tests */

Test(db_tls, encrypted_and_verified)
{
	server_start("right");
	server_wait();
	connects(DB_TLS_OFF, NULL);
	connects(DB_TLS_REQUIRED, NULL);
	connects(DB_TLS_VERIFY, "right");
	refuses(DB_TLS_VERIFY, "elsewhere", "self-signed certificate");
	server_end();

	server_start("elsewhere");
	server_wait();
	connects(DB_TLS_REQUIRED, NULL);
	refuses(DB_TLS_VERIFY, "elsewhere", "Validation of SSL server certificate failed");
	server_end();

	server_start("over");
	server_wait();
	refuses(DB_TLS_VERIFY, "over", "certificate has expired");
	server_end();
}

/* A connection that is not as it was asked for is not used. */
Test(db_tls, a_server_without)
{
	server_start(NULL);
	server_wait();
	connects(DB_TLS_OFF, NULL);
	refuses(DB_TLS_REQUIRED, NULL, "TLS is required");
	refuses(DB_TLS_VERIFY, "right", "SSL is required");
	server_end();
}

/* PAM wants the password as it is. It is given to a server that has shown who it is, and to no other. */
Test(db_tls, password_in_the_clear)
{
	static const struct {
		enum db_tls tls;
		const char *tls_ca;
		unsigned    code;
	} cases[] = {{DB_TLS_OFF, NULL, 5010}, {DB_TLS_REQUIRED, NULL, 5010}, {DB_TLS_VERIFY, "right", 1045}};

	if (!pam) {
		teardown(); /* a skipped test is not cleaned up after */
		cr_skip_test("needs the server's plugin for PAM (apt-get install mariadb-server)");
	}
	server_start("right");
	server_wait();
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct db *db = connection_as("pam", cases[i].tls, cases[i].tls_ca);

		cr_expect(!db_connect(db) && db_errno(db) == cases[i].code, "tls=%d: %u %s", cases[i].tls, db_errno(db),
		          db_error(db));
		db_free(db);
	}
	server_end();
}

Test(db_tls, a_silent_server)
{
	struct db *db;
	int64_t    began;

	server_start("right");
	server_wait();
	db = connection_new(DB_TLS_VERIFY, "right");
	db_silence_set(db, 1);
	cr_assert(db_connect(db), "%s", db_error(db));
	cr_assert(kill(server, SIGSTOP) == 0);
	usleep(200000);
	began = clock_ms();
	cr_expect(db_text(db, "SELECT 1", NULL, NULL) == DB_UNKNOWN && !db_connected(db));
	cr_expect(!db_connect(db));
	cr_expect(clock_ms() - began < 7000, "%d ms", (int)(clock_ms() - began));
	cr_assert(kill(server, SIGCONT) == 0);
	cr_expect(db_connect(db), "%s", db_error(db));
	cr_assert(kill(server, SIGKILL) == 0);
	cr_expect(db_text(db, "DO SLEEP(5)", NULL, NULL) >= DB_AWAY && !db_connected(db));
	db_free(db);
	waitpid(server, NULL, 0);
}

Test(db_tls, doctor)
{
	struct db_target to = {.user = "app", .password = "open sesame", .database = "holdfast"};
	struct text      findings = {0};
	struct db       *db;

	server_start("right");
	server_wait();
	to.port = (unsigned)port;
	snprintf(to.host, sizeof(to.host), "0.0.0.0"); /* leads here, and is not known to */
	for (to.tls = DB_TLS_OFF; to.tls <= DB_TLS_REQUIRED; to.tls++) {
		db = db_new(&to);
		cr_assert(db_connect(db), "%s", db_error(db));
		text_reset(&findings);
		db_doctor(db, &findings);
		cr_expect((strstr(findings.data, "the connection to 0.0.0.0 is not encrypted") != NULL) ==
		          (to.tls == DB_TLS_OFF));
		db_free(db);
	}
	text_fini(&findings);
	server_end();
}

/* The program, by its URL and a password of a file. */
Test(db_tls, service)
{
	char           url[400], log[80], options[160];
	FILE          *password;
	struct program p = {0};
	struct client  client;
	struct call    call = {.method = "POST"};
	struct answer  answer = {0};
	struct text    why = {0};

	server_start("right");
	server_wait();
	snprintf(log, sizeof(log), "%s/log", dir);
	snprintf(options, sizeof(options), "%s/password", dir);
	cr_assert_not_null(password = fopen(options, "we"));
	fprintf(password, "open sesame\n");
	fclose(password);
	snprintf(url, sizeof(url), "mariadb://app@127.0.0.1:%d/holdfast?tls=verify&tls_ca=%s/right.cert", port, dir);
	snprintf(options, sizeof(options), "migrate --db-password-file %s/password", dir);
	cr_assert(program_run(log, url, options) == 0);
	program_start(&p, log, url, strchr(options, ' '));
	client_open(&client, p.port);
	text_add(&call.path, "/v1/movements");
	text_add(&call.body, "{\"movement_id\":\"M1\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":9}]}");
	client_call(&client, &call, &answer);
	cr_expect(answer.status == 201, "%d %s", answer.status, answer.body.data);
	client_close(&client);
	cr_expect(program_stop(&p, &why), "%s", why.data);
	call_fini(&call);
	answer_fini(&answer);
	text_fini(&why);
	server_end();
}
