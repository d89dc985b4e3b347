#!/usr/bin/env bash
# Style is a test: sizes, allowed includes, places of SQL and of the libraries, installed files. Prints each fault; exit 1 if there is one.
set -u
cd "$(dirname "$0")/.."
found=0
wrong() { echo "tidy: $*"; found=1; }

# Sizes. A tab counts as eight columns, a character as one, in an awk that knows bytes alone, too. A function is counted
# from the first line of its signature to its last brace; a test is a table, and may be longer. One awk reads all files:
# a process for each of them took most of this script's time.
listed() { git ls-files --cached --others --exclude-standard "$@" | while read -r file; do [ ! -e "$file" ] || echo "$file"; done; }
listed '*.c' '*.h' '*.def' '*.sql' | tr '\n' '\0' | LC_ALL=C xargs -0 awk '
	function wrong(what) { print "tidy: " what; bad = 1 }
	function columns(line,    parts, n, i, wide) {
		gsub(/[\200-\277]/, "", line)
		for (n = split(line, parts, "\t"); ++i < n; ) wide += length(parts[i]) + 8 - (wide + length(parts[i])) % 8
		return wide + length(parts[n])
	}
	FNR == 1 { above = ""; start = first = told = 0; table = FILENAME ~ /\.(def|sql)$/ }
	!told && length($0) > 15 && columns($0) > 120 { wrong(FILENAME ":" FNR " is longer than 120 columns"); told = 1 }
	table { next }
	FNR == 701 { wrong(FILENAME " has more than 700 lines") }
	above ~ /^$|[;}]$|\*\/$|^#|\\$/ { first = FNR }
	{ above = $0 }
	/^\{$/ { start = first }
	/^}/ { if (start && FNR - start >= 60) wrong(FILENAME ":" start " a function of " FNR - start + 1 " lines, 60 are allowed"); start = 0 }
	END { exit bad }' || found=1

# Allowed includes of libraries. Which room may know which other one: tests/rooms.py.
forbid() {    # what, where, why
	hits=$(grep -nE "$1" $2 /dev/null)
	[ -z "$hits" ] || wrong "$3:"$'\n'"$hits"
}
ours=$(listed 'engine/*.[ch]' 'api/*.[ch]' 'jobs/*.[ch]' 'commands/*.[ch]' 'schema/*.[ch]' main.c)
but() { grep -vxE "$1" <<< "$ours"; }
only() { grep -E "^($1)/" <<< "$ours"; }
forbid '#include [<"](mysql|errmsg)' "$(but 'engine/db/(db\.c|prepared\.[ch]|row\.c)')" 'mysql.h stands in db.c, row.c and prepared.h only'
forbid '#include <(event2/(http|buffer|bufferevent)|sys/socket|netinet)' "$(but 'api/http/(stream|tls|listen|connection)\.[ch]|api/notify\.c|jobs/webhooks/(address|sender)\.c|engine/db/source\.c')" 'sockets stand in api/http, notify.c, address.c, sender.c and source.c only'
forbid '#include ([<]curl|"engine/base/late_curl)' "$(but 'engine/base/late_curl\.[ch]|jobs/webhooks/sender\.c|commands/demo/caller\.c')" 'libcurl stands in late_curl.c, sender.c and caller.c only'
forbid '#include <cjson' "$ours" 'cJSON is a second opinion of the tests: the program reads JSON by engine/base/scan.c'
forbid '#include <openssl/ssl' "$(but 'api/http/tls\.c')" 'TLS of connections stands in tls.c only'
forbid '#include "engine/(lane/(lane|intake|balance|decide|blocked)|write/(state|fence|batch)|read/(reader|list)|server/mariadbd)\.h"' "$(only 'api|jobs|commands')" 'lanes, readers and the private server are the engine'"'"'s own'
forbid '#include "(engine/db/statement|statements)\.h"|\b(SELECT|INSERT INTO|UPDATE|DELETE FROM) [a-z]' "$(only api)" 'SQL is no matter of the api'

forbid '"HOLDFAST_' "$(listed 'tests/bench/*.[ch]' 'tests/bench/*/*.[ch]')" 'a program refuses a HOLDFAST_ name that is no option'

# A file asserts what must hold of its own state. Files without any state may have nothing to assert.
without=$(grep '\.c$' <<< "$ours" | xargs grep -Lw assert)
[ "$(wc -l <<< "$without")" -le 60 ] || wrong "more than 60 files without an assert:"$'\n'"$without"

# The version stands in four files, and in each client. A release candidate has a ~ in Debian, which sorts before the
# release.
version=$(sed -n 's/^#define HOLDFAST_VERSION "\(.*\)"/\1/p' engine/base/base.h)
grep -qx "  version: $version" api/openapi.yaml || wrong "openapi.yaml is not of version $version"
head -n 1 debian/changelog | grep -qF "(${version/-/\~})" || wrong "debian/changelog does not begin with version $version"
grep -q "^## $version" CHANGELOG.md || wrong "CHANGELOG.md has no version $version"

step=$(listed 'schema/[0-9]*.sql' | sort | tail -n 1 | sed 's|^schema/0*||; s/_.*//')
grep -qF "schema of this program is version $step**" docs/operator.md || wrong "operator.md does not say that the schema is version $step"

# SQL stands in .sql files. C has only settings of a session, the schema's own table and its comparison.
forbid '"(SELECT|INSERT|UPDATE|DELETE) [^"]*(stock_slot|reservation|movement|task|lane)' "$ours" 'SQL in C'
# An id is ASCII, a code is UTF-8.
forbid '\bjson_(array_)?code\(.*ID_MAX|\bcode_valid\(.*ID_MAX' "$ours" 'ids are read by json_id, json_array_id and id_valid'
# Functions with a better replacement.
forbid '\b(sprintf|strncpy|gets|atol|alloca|assert\(0\))\(' "$ours" 'use snprintf, memcpy, strtoll'
# An option, an outcome, a metric and a call are named in one place, and the document knows them.
while read -r path; do
	grep -qF "  $path:" api/openapi.yaml || wrong "openapi.yaml does not know $path"
done < <(sed -nE 's/^(X|JOB)\([A-Z]+, *"([^"]+)".*/\2/p' api/routes.def | sort -u)
while read -r code; do
	[ -z "$code" ] || grep -qE "^        - $code\$" api/openapi.yaml || wrong "openapi.yaml does not know the code $code"
	[ -z "$code" ] || grep -qE "^\| (no|[0-9]).*\`$code\`" docs/reference.md || wrong "reference.md does not say whether to send again after $code"
done < <(sed -nE 's/^X\([A-Z_]+, *"([a-z_]*)".*/\1/p' engine/outcome.def | sort -u)

narrow() {    # files
	hits=$(LC_ALL=C.UTF-8 awk 'length($0) > 120 { print FILENAME ":" FNR }' $1)
	[ -z "$hits" ] || wrong "longer than 120 columns:"$'\n'"$hits"
}
# The console: short lines, 300 kB at most, no HTML made of texts, nothing from elsewhere.
pages=$(listed 'console/*.js' 'console/*.css' 'console/*.html' | grep -v '/uplot\.')
narrow "$pages"
[ "$(listed 'console/*' | xargs cat | wc -c)" -le 300000 ] || wrong 'the console is larger than 300 kB'
forbid '(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|new Function' "$pages" 'texts become text'
forbid 'https?://[a-z]' "$(grep -v '\.css$' <<< "$pages")" 'the console takes nothing from elsewhere'

# A client: short lines, files of 700 lines, a small package, and this version. What is made from the contract may be longer.
client() {    # folder, lines of code that its package may have, and the lines with the version, each with its file before it
	pages=$(listed "clients/$1/*."{ts,js,mjs,py,sh} | grep -vE '/(contract\.ts|models\.py)$')
	narrow "$pages"
	hits=$(wc -l $pages | awk '$2 != "total" && $1 > 700 { print $2 }')
	[ -z "$hits" ] || wrong "longer than 700 lines: $hits"
	lines=$(grep -E "^clients/$1/(src|holdfast)/" <<< "$pages" | grep -v '/calls\.py$' | xargs cat | grep -vcE '^ *($|#|//|/\*|\*)')
	[ "$lines" -le "$2" ] || wrong "clients/$1 has $lines lines of code, $2 are allowed"
	for ((i = 3; i < $#; i += 2)); do
		grep -qxF -- "${@:i+1:1}" "clients/$1/${@:i:1}" || wrong "clients/$1/${@:i:1} is not of version $version"
	done
}
named="  \"version\": \"$version\","
client typescript 400 package.json "$named" package-lock.json "$named"
client medusa 1600 package.json "$named" package.json "    \"holdfast\": \"$version\"" package-lock.json "$named"
client python 950 holdfast/exchange.py "VERSION = '${version/-/}'"
if python3 -c 'import yaml' 2> /dev/null; then
	hits=$(clients/python/generate.py --check 2>&1) || wrong "$hits"
fi

# Tests read as tables: one step a line, in calls and in macros of several steps.
two=$(awk '
	{ line = $0; gsub(/\\./, "", line); gsub(/"[^"]*"/, "S", line); gsub(/\/\*.*\*\//, "", line) }
	/^[ \t]*"[a-z@][^"]*-> [^"]*", *["A-Z]/ { print FILENAME ":" FNR; next }
	line ~ /(^|[^a-z_])flow(_steps)?\(/ && line !~ /#define/ { inside = 1; sub(/.*flow(_steps)?\(/, "", line) }
	inside { while (gsub(/\([^()]*\)/, "", line)); if (line ~ /,[ \t]*[^ \t]/) print FILENAME ":" FNR }
	inside && line ~ /\)/ { inside = 0 }' $(listed 'tests/*.[ch]'))
[ -z "$two" ] || wrong "two steps on a line:"$'\n'"$two"

# `make install` installs all files, and systemd can read the unit.
root=$(mktemp -d)
env -u MAKEFLAGS -u MAKELEVEL make -s install PREFIX=/usr DESTDIR="$root" > "$root/log" 2>&1 || wrong "make install:"$'\n'"$(cat "$root/log")"
for file in bin/holdfast lib/systemd/system/{holdfast.service,holdfast.socket,holdfast@.socket} share/doc/holdfast/{README.md,LICENSE,openapi.yaml,docs/{orders,stock,events,reference,operator,cluster,developer}.md}; do
	[ -s "$root/usr/$file" ] || wrong "make install forgets $file"
done
"$root/usr/bin/holdfast" --version > /dev/null || wrong 'what is installed does not run'
{ readelf -dW "$root/usr/bin/holdfast"; nm -D "$root/usr/bin/holdfast"; } > "$root/log"
for guard in 'BIND_NOW' 'Flags:.*PIE' '__stack_chk_fail' '_chk@'; do
	grep -q -- "$guard" "$root/log" || wrong "what is installed is not hardened: $guard"
done
if command -v systemd-analyze > /dev/null; then
	sed -i "s|/usr/bin/|$root&|" "$root"/usr/lib/systemd/system/holdfast{,@}.service
	for unit in holdfast.service holdfast.socket holdfast@eu.socket; do
		hits=$(systemd-analyze verify "$root/usr/lib/systemd/system/$unit" 2>&1 | grep -F "$unit")
		[ -z "$hits" ] || wrong "$unit:"$'\n'"$hits"
	done
fi
rm -rf "$root"

[ $found = 0 ] && echo 'tidy: nothing to mend'
exit $found
