#!/usr/bin/env bash
# run.sh BUILD SECONDS [TARGET ..] - runs the fuzz targets of a build folder, each that long, beginning with its corpus;
# with 0 seconds the corpus alone. New inputs go to BUILD/fuzz/found/TARGET, one that broke something is
# BUILD/fuzz/TARGET-crash-..; `BUILD/fuzz/TARGET FILE` runs it again. Targets that run the service get a private MariaDB,
# which must pass an audit at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 seconds=$2
shift 2
export UBSAN_OPTIONS=print_stacktrace=1

home=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-fuzz.XXXXXX")
chmod 711 "$home"        # the server's own user, where we are root, has to get to its folder
finish() {                # the last user of a folder stops its server, also one that a crash or Ctrl-C left behind
	for data in "$home"/*/; do
		[ ! -S "$data/mariadbd.sock" ] || "$build/holdfast" stats --data "$data" > /dev/null 2>&1 || true
	done
	rm -rf "$home"
}
trap finish EXIT

for target in "$@"; do
	found=$build/fuzz/found/$target corpus=tests/fuzz/corpus/$target status=0
	mkdir -p "$found"
	export FUZZ_DATA=$home/$target
	if [ "$seconds" = 0 ]; then
		"$build/fuzz/$target" -timeout=100 "$corpus"/* > "$home/log" 2>&1 || status=$?
		[ $status = 0 ] || cat "$home/log"
	else
		echo "== $target: $seconds s"
		"$build/fuzz/$target" -max_total_time="$seconds" -max_len=4096 -timeout=100 -rss_limit_mb=4096 -close_fd_mask=2 \
			-dict=tests/fuzz/words.dict -artifact_prefix="$build/fuzz/$target-" -print_final_stats=1 -verbosity=0 \
			"$found" "$corpus" || status=$?
	fi
	[ ! -d "$FUZZ_DATA" ] || "$build/holdfast" audit --data "$FUZZ_DATA" > "$home/audit" 2>&1 || { status=1; cat "$home/audit"; }
	[ $status = 0 ] || { echo "fuzz: $target failed"; exit 1; }
done
[ "$seconds" != 0 ] || echo "fuzz: the corpus of $# targets holds"
