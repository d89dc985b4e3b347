#!/bin/sh
# setup.sh - what compose.yaml runs before the services, in the image of Holdfast. `secrets`: passwords and keys, which
# are made once, in the volume that the services have, too. `schema`: accounts of the database, and its tables as this
# program has them.
set -eu
cd /var/lib/holdfast
umask 077

# NAME COMMAND ..: the file NAME has what the command prints. A file that is there stays.
once() {
	name=$1
	shift
	[ -e "$name" ] || { "$@" > "$name.new" && mv "$name.new" "$name"; }
}
password() { head -c 24 /dev/urandom | base64; }

case $1 in
secrets)
	for account in root owner service; do once "$account.password" password; done
	once admin.key holdfast key new admin admin
	once prometheus.key holdfast key new prometheus read
	chmod 711 . # Prometheus is another user, and reads its key
	chmod 444 prometheus.key
	;;
schema)
	MYSQL_PWD=$(cat root.password)
	export MYSQL_PWD
	for second in $(seq 120); do # an engine may not wait for the health of the database
		mariadb --host=database --user=root --execute='DO 1' && break
		sleep 1
	done
	mariadb --host=database --user=root <<-SQL
		CREATE DATABASE IF NOT EXISTS holdfast;
		CREATE USER IF NOT EXISTS holdfast_owner IDENTIFIED BY '$(cat owner.password)';
		GRANT ALL ON holdfast.* TO holdfast_owner;
		CREATE USER IF NOT EXISTS holdfast IDENTIFIED BY '$(cat service.password)';
		GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.* TO holdfast;
	SQL
	exec holdfast migrate --db mariadb://holdfast_owner@database/holdfast --db-password-file owner.password
	;;
esac
