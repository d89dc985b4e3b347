#!/bin/sh
# container.sh - what a container runs: `holdfast` with its arguments. The first `serve` makes a key and prints it to
# stderr: a port of a container is open to others, and without keys the program does not listen there.
set -eu
case ${1-} in '' | -*) set -- serve "$@" ;; esac
for word in "$@"; do
	case $word in --keys | --keys=* | --help) own=1 ;; esac
done
if [ "$1" = serve ] && [ -z "${own-}" ] && [ "${HOLDFAST_KEYS-}" = /var/lib/holdfast/keys ] && [ ! -e "$HOLDFAST_KEYS" ]; then
	key=$(holdfast key new admin admin)
	echo "the first start made the key admin, and says it once: $key" >&2
fi
exec holdfast "$@"
