#!/usr/bin/env bash
# clients.sh - the checks of all clients, clients/*/check.sh, side by side, and shown one after the other. Each has half an
# hour, which is for a slow machine.
set -u
cd "$(dirname "$0")/.."
logs=$(mktemp -d) status=0
trap 'rm -rf "$logs"' EXIT
for check in clients/*/check.sh; do
	client=$(basename "$(dirname "$check")")
	timeout -k 5 1800 "$check" > "$logs/$client" 2>&1 &
	checks="${checks:-} $client=$!"
done
for one in $checks; do
	wait "${one#*=}"
	ended=$?
	cat "$logs/${one%=*}"
	[ $ended = 0 ] || { echo "clients/${one%=*}: the check ended with $ended"; status=1; }
done
exit $status
