#!/bin/sh
# inside.sh BUILD - the names of the suites that call functions of the program in their own process, as a|b|c: make check
# runs these with a sanitized program inside. All others only send requests and start commands, so the program that they
# start is the sanitized one. Of engine/base and engine/db, which the tests' own tools are made of, calls count in the
# tests of these two rooms only.
set -eu
{
	find "$1/obj" -name '*.o' ! -path '*/obj/tests/*' -exec nm -A --defined-only {} +
	find "$1/obj/tests" -name 'test_*.o' -exec nm -A --undefined-only {} +
} | awk '
	{ file = $1; sub(/[.]o:.*/, "", file); sub(/^.*\/obj\//, "", file); name = $NF }
	$(NF - 1) ~ /^[TDBR]$/ { room[name] = file ~ "^engine/(base|db)/" ? "tools" : "program" }
	$(NF - 1) == "U" && (room[name] == "program" || room[name] && file ~ "^tests/engine/(base|db)/") { print file ".c" }' |
	sort -u | xargs sed -nE 's/^\s*Test\(([a-z0-9_]+),.*/\1/p' | sort -u | paste -s -d '|'
