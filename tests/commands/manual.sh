#!/usr/bin/env bash
# manual.sh PROGRAM FOLDER CHECK - one check of what the command `manual` prints (test_manual.c). The folder is empty.
set -euo pipefail
holdfast=$1 at=$2

commands() { "$holdfast" help | sed -nE 's/^  holdfast ([a-z]+) .*/\1/p'; }
flags() { "$holdfast" "$1" --help | sed -nE 's/^  (--[a-z-]+).*/\1/p'; }    # COMMAND
ends_with() {    # STATUS WORD ..: how the program ends; $at/said is what it says
	local status=0
	"$holdfast" "${@:2}" > "$at/said" 2>&1 || status=$?
	[ $status = "$1" ]
}
offered() {    # WORD ..: what bash offers for the last one
	COMP_WORDS=(holdfast "$@") COMP_CWORD=$#
	_holdfast
	printf '%s\n' "${COMPREPLY[@]}"
}

bash_offers_what_help_shows() {
	"$holdfast" manual bash > "$at/bash"
	. "$at/bash"
	diff <(offered '') <(commands)
	for command in $(commands); do
		diff <(offered "$command" --) <(echo --help; flags "$command")
	done
	[ "$(offered export mov)" = movements ]
	mkdir "$at/folder"
	[ "$(offered serve --data "$at/fo")" = "$at/folder" ]
	[ "$(offered import --bad "$at/ba")" = "$at/bash" ]
}

page_and_zsh_name_what_help_shows() {
	"$holdfast" manual man | sed 's/[\]-/-/g' > "$at/man"
	"$holdfast" manual zsh > "$at/zsh"
	diff <(commands) <(sed -nE 's/^.SS holdfast ([a-z]+) .*/\1/p' "$at/man")
	diff <(commands) <(sed -nE 's/^	([a-z]+)\)$/\1/p' "$at/zsh")
	for command in $(commands); do
		diff <(flags "$command") <(sed -nE "/^	$command\)/,/;;/s/^		'(--[a-z-]+).*/\1/p" "$at/zsh")
		flags "$command"
	done | sort -u > "$at/flags"
	diff "$at/flags" <(sed -nE 's/^.B (--[a-z-]+).*/\1/p' "$at/man" | sort -u)
	[ "$(wc -l < "$at/flags")" -gt 50 ]
}

# The options of a service in their order. Each line that is a comment is one that the program takes without its #.
file_has_the_options_of_serve() {
	"$holdfast" manual conf > "$at/conf"
	diff <(sed -nE 's/^(# )?([a-z_]+) = .+/--\2/p' "$at/conf" | tr _ -) <(flags serve | grep -vx -e --config)
	[ "$(grep -v '^#' "$at/conf" | grep .)" = 'jobs = expire,reap,deliver' ]
	sed -i -E 's/^# ([a-z_]+ = [0-9a-z]+)$/\1/; s/^# slow_ms = .*/slow_ms = 0/' "$at/conf"
	ends_with 78 serve --config "$at/conf"
	grep -q 'slow-ms must be an integer' "$at/said"
}

needs_a_word() {
	ends_with 64 manual
	ends_with 64 manual mann
	grep -q 'did you mean man' "$at/said"
}

$3
