/* tls.c - see tls.h.
 *
 * The deadline of a handshake is an event that lies with OpenSSL's connection: born in tls_bufferevent, it dies when
 * the handshake is done or with the connection, whichever comes first. */
#include "api/http/tls.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HANDSHAKE_S = 10 };

static const char ciphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20"; /* ciphers of TLS 1.2; all those of 1.3 are good */

struct tls {
	pthread_mutex_t lock;
	SSL_CTX        *context; /* under the lock */
	char           *cert_file, *key_file;
	_Atomic int64_t expires_at; /* of the certificate, ms since 1970; TIME_NONE: it does not say */
};

/* ---- a connection */

/* Ends the stream of a handshake that takes too long: the connection is closed as if the client had gone. */
static void handshake_late(evutil_socket_t fd, short what, void *ssl)
{
	(void)fd, (void)what;
	shutdown(SSL_get_fd(ssl), SHUT_RDWR);
}

static void deadline_free(void *ssl, void *deadline, CRYPTO_EX_DATA *data, int index, long l, void *p)
{
	(void)ssl, (void)data, (void)index, (void)l, (void)p;
	if (deadline)
		event_free(deadline);
}

static int deadline_place; /* made once */

static void deadline_place_make(void)
{
	deadline_place = SSL_get_ex_new_index(0, NULL, NULL, NULL, deadline_free);
}

static int deadline_index(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, deadline_place_make);
	return deadline_place;
}

static void handshake_look(const SSL *ssl, int where, int code)
{
	struct event *deadline = SSL_get_ex_data(ssl, deadline_index());

	(void)code;
	if (!(where & SSL_CB_HANDSHAKE_DONE) || !deadline)
		return;
	SSL_set_ex_data((SSL *)ssl, deadline_index(), NULL);
	event_free(deadline);
}

static SSL *ssl_new(struct tls *t)
{
	SSL *ssl;

	pthread_mutex_lock(&t->lock);
	ssl = SSL_new(t->context);
	pthread_mutex_unlock(&t->lock);
	return ssl;
}

struct bufferevent *tls_bufferevent(struct event_base *base, int fd, struct tls *t)
{
	SSL                *ssl = ssl_new(t);
	struct event       *deadline = event_new(base, -1, 0, handshake_late, ssl);
	struct bufferevent *bev;

	if (!ssl || SSL_set_fd(ssl, fd) != 1 || SSL_set_ex_data(ssl, deadline_index(), deadline) != 1)
		mem_end(); /* OpenSSL fails here only when it lacks memory */
	event_add(deadline, &(struct timeval){HANDSHAKE_S, 0});
	bev = bufferevent_openssl_socket_new(base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	assert(bev);
	return bev;
}

void tls_farewell(struct bufferevent *bev)
{
	SSL *ssl = bufferevent_openssl_get_ssl(bev);

	if (!(SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN))
		SSL_shutdown(ssl);
	ERR_clear_error();
}

/* ---- the certificate */

/* Chooses http/1.1; a client that names only other protocols is refused (RFC 7301, 3.2). */
static int protocol_choose(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                           unsigned in_len, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1";

	(void)ssl, (void)arg;
	return SSL_select_next_proto((unsigned char **)out, out_len, ours, sizeof(ours) - 1, in, in_len) ==
	                       OPENSSL_NPN_NEGOTIATED
	               ? SSL_TLSEXT_ERR_OK
	               : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* A key with a passphrase is refused: a service has no user to type it. */
static int no_passphrase(char *to, int size, int writing, void *arg)
{
	(void)to, (void)size, (void)writing, (void)arg;
	return -1;
}

/* The first of OpenSSL's errors is the cause of the others. */
static bool file_wrong(const char *flag, const char *file, const char *what, char *why, size_t why_size)
{
	unsigned long error = ERR_peek_error();
	const char   *reason = ERR_reason_error_string(error);

	ERR_clear_error();
	if (ERR_SYSTEM_ERROR(error))
		return why_write(why, why_size, "%s: cannot read %s: %s", flag, file, strerror(ERR_GET_REASON(error)));
	return why_write(why, why_size, "%s: %s is no %s that can be used: %s", flag, file, what,
	                 reason ? reason : "it gave no reason");
}

/* Returns the time, ms since 1970, or TIME_NONE. */
static int64_t expiry_log(SSL_CTX *context, const char *file)
{
	const ASN1_TIME *end = X509_get0_notAfter(SSL_CTX_get0_certificate(context));
	struct text      expires = {0};
	struct tm        tm;
	bool             over = X509_cmp_current_time(end) < 0;
	int64_t          at = TIME_NONE;

	if (ASN1_TIME_to_tm(end, &tm)) {
		at = (int64_t)timegm(&tm) * 1000;
		time_write(&expires, at);
	}
	log_event(over ? LOG_WARN : LOG_INFO, over ? "certificate_expired" : "certificate", "file=\"%s\" expires=%s",
	          file, expires.data ? expires.data : "unknown");
	text_fini(&expires);
	return at;
}

static SSL_CTX *context_new(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	assert(context && SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) &&
	       SSL_CTX_set_cipher_list(context, ciphers));
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); /* tickets need no cache */
	SSL_CTX_set_default_passwd_cb(context, no_passphrase);
	SSL_CTX_set_alpn_select_cb(context, protocol_choose, NULL);
	SSL_CTX_set_info_callback(context, handshake_look);
	return context;
}

/* Reads the key first: a certificate that does not fit the key is accepted then, and found by the check. */
static bool files_read(SSL_CTX *context, const struct tls *t, char *why, size_t why_size)
{
	if (SSL_CTX_use_PrivateKey_file(context, t->key_file, SSL_FILETYPE_PEM) != 1)
		return file_wrong("--tls-key", t->key_file, "PEM private key without a passphrase", why, why_size);
	if (SSL_CTX_use_certificate_chain_file(context, t->cert_file) != 1)
		return file_wrong("--tls-cert", t->cert_file, "PEM certificate", why, why_size);
	if (SSL_CTX_check_private_key(context) == 1)
		return true;
	ERR_clear_error();
	return why_write(why, why_size, "--tls-key %s does not belong to --tls-cert %s", t->key_file, t->cert_file);
}

static bool context_renew(struct tls *t, char *why, size_t why_size)
{
	SSL_CTX *context = context_new(), *before;

	if (!files_read(context, t, why, why_size)) {
		SSL_CTX_free(context);
		return false;
	}
	t->expires_at = expiry_log(context, t->cert_file);
	pthread_mutex_lock(&t->lock);
	before = t->context;
	t->context = context;
	pthread_mutex_unlock(&t->lock);
	SSL_CTX_free(before);
	return true;
}

struct tls *tls_open(const char *cert_file, const char *key_file, char *why, size_t why_size)
{
	struct tls *t = mem_alloc(sizeof(*t));

	pthread_mutex_init(&t->lock, NULL);
	t->cert_file = mem_copy(cert_file);
	t->key_file = mem_copy(key_file);
	if (context_renew(t, why, why_size))
		return t;
	tls_close(t);
	return NULL;
}

bool tls_reload(struct tls *t)
{
	char why[1024];

	if (t && !context_renew(t, why, sizeof(why)))
		log_event(LOG_ERROR, "reload_failed", "why=\"%s\"", why);
	return t != NULL;
}

int64_t tls_expires(const struct tls *t)
{
	return t ? t->expires_at : TIME_NONE;
}

void tls_close(struct tls *t)
{
	if (!t)
		return;
	SSL_CTX_free(t->context);
	free(t->cert_file);
	free(t->key_file);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
