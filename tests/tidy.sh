#!/usr/bin/env bash
# Style is a test: sizes, who may include whom, where SQL and the libraries may stand, what is installed. Prints what is wrong; exit 1 if anything is.
set -u
cd "$(dirname "$0")/.."
found=0
wrong() { echo "tidy: $*"; found=1; }

# Sizes. A tab counts as eight columns, a character as one, in an awk that knows bytes alone, too.
while read -r file; do
	lines=$(wc -l < "$file")
	[ "$lines" -le 700 ] || wrong "$file has $lines lines, 700 are allowed"
	long=$(expand -t 8 "$file" | LC_ALL=C awk '{ gsub(/[\200-\277]/, "") } length($0) > 120 { print NR; exit }')
	[ -z "$long" ] || wrong "$file:$long is longer than 120 columns"
	awk -v file="$file" '
		/^[a-z].*\)$/ { name = $0; start = NR }
		/^}/ { if (start && NR - start > 70) { print "tidy: " file ":" start " a function of " NR - start " lines"; bad = 1 } start = 0 }
		END { exit bad }' "$file" || found=1
done < <(git ls-files --cached --others --exclude-standard '*.c' '*.h')

# Who may include whom.
forbid() {    # what, where, why
	hits=$(grep -nE "$1" $2 2>/dev/null)
	[ -z "$hits" ] || wrong "$3:"$'\n'"$hits"
}
forbid '#include [<"](mysql|errmsg)' "$(ls engine/*.c api/*.c jobs/*.c schema/*.c main.c | grep -vE 'engine/(db|prepared)\.c')" 'mysql.h stands in db.c and prepared.c only'
forbid '#include <event2/(http|buffer|bufferevent)' "$(ls engine/*.c api/*.c jobs/*.c | grep -vE 'api/(stream|tls).c')" 'sockets stand in stream.c and tls.c only'
forbid '#include <cjson' "$(ls engine/*.c api/*.c jobs/*.c | grep -v api/json.c)" 'cJSON stands in json.c only'
forbid '#include <openssl/ssl' "$(ls engine/*.c api/*.c jobs/*.c | grep -v api/tls.c)" 'TLS of connections stands in tls.c only'
forbid '#include "(jobs|api)/' "$(ls engine/*.[ch])" 'the engine knows neither jobs nor api'
forbid '#include "(engine/)?(lane|decide|list|mariadbd)\.h"' "$(ls api/*.[ch] jobs/*.[ch])" 'lane, decide and list are private to the engine'
forbid '#include "(engine/)?statement\.h"' "$(ls api/*.[ch])" 'SQL is no matter of the api'

# SQL stands in .sql files. What is left in C are settings of a session and the schema's own table.
forbid '"(SELECT|INSERT|UPDATE|DELETE) [^"]*(stock_slot|reservation|movement|task|lane)' "$(ls engine/*.c api/*.c jobs/*.c)" 'SQL in C'
# Calls that have a better one.
forbid '\b(sprintf|strncpy|gets|atol|alloca|assert\(0\))\(' "$(ls engine/*.[ch] api/*.[ch] jobs/*.[ch] schema/*.[ch] main.c)" 'use snprintf, memcpy, strtoll'
# An option, an outcome, a metric and a call are named in one place, and the document knows them.
while read -r path; do
	grep -qF "  $path:" api/openapi.yaml || wrong "openapi.yaml does not know $path"
done < <(sed -nE 's/^X\([A-Z]+, *"([^"]+)".*/\1/p' api/routes.def | sort -u)
while read -r code; do
	[ -z "$code" ] || grep -qE "\b$code\b" api/openapi.yaml || wrong "openapi.yaml does not know the code $code"
done < <(sed -nE 's/^X\([A-Z_]+, *"([a-z_]*)".*/\1/p' engine/outcome.def | sort -u)

# What `make install` puts down is whole, and systemd can read the unit.
root=$(mktemp -d)
env -u MAKEFLAGS -u MAKELEVEL make -s install PREFIX=/usr DESTDIR="$root" > "$root/log" 2>&1 || wrong "make install:"$'\n'"$(cat "$root/log")"
for file in bin/holdfast lib/systemd/system/holdfast.service share/doc/holdfast/{README.md,LICENSE,openapi.yaml,docs/{operator,shop,developer}.md}; do
	[ -s "$root/usr/$file" ] || wrong "make install forgets $file"
done
"$root/usr/bin/holdfast" --version > /dev/null || wrong 'what is installed does not run'
if command -v systemd-analyze > /dev/null; then
	sed -i "s|/usr/bin/|$root&|" "$root/usr/lib/systemd/system/holdfast.service"
	hits=$(systemd-analyze verify "$root/usr/lib/systemd/system/holdfast.service" 2>&1 | grep holdfast.service)
	[ -z "$hits" ] || wrong "holdfast.service:"$'\n'"$hits"
fi
rm -rf "$root"

[ $found = 0 ] && echo 'tidy: nothing to mend'
exit $found
