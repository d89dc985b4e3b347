# sql.awk - turns the named blocks of .sql files into C: an enum of statements, and a table of their texts and flags.
# Comment lines are dropped, white space is folded. Usage: awk -v kind=statement -f words.awk -f sql.awk *.def *.sql
#   -- name: NAME (flag, ..)    a statement, or a step of a transaction
#   {piece} {word} {parameter}  words.awk, fill.def; {list} and {rows} take the values of the fill
function finish() {
	sub(/^ /, "", body)
	sub(/ *$/, "", body)
	if (name != "") {
		names[++count] = name
		bodies[count] = body
		flagged[count] = flags
	}
	name = body = ""
}
function wrong(why) {
	print "sql.awk: " why | "cat 1>&2"
	failed = 1
}
# Every hole that is left must be a parameter.
function holes_check(name, text,    hole) {
	while (match(text, /[{][^}]*[}]/)) {
		hole = substr(text, RSTART, RLENGTH)
		if (!(hole in parameter))
			wrong(name ": " hole " is neither a piece, nor a word, nor in fill.def")
		text = substr(text, RSTART + RLENGTH)
	}
}
/^-- name: / {
	finish()
	name = $3
	flags = $0
	if (!sub(/^[^(]*\(/, "", flags))
		flags = "0)"
	sub(/\).*/, "", flags)
	gsub(/, */, " | STATEMENT_", flags)
	flags = flags == "0" ? flags : "STATEMENT_" toupper(flags)
	next
}
{
	sub(/--( .*)?$/, "")
	gsub(/[ \t]+/, " ")
	if ($0 != "" && $0 != " ")
		body = body (body == "" || substr($0, 1, 1) == " " ? "" : " ") $0
}
END {
	finish()
	parameter["{rows}"] = parameter["{list}"] = 1
	printf "/* Made from the .sql files by engine/db/sql.awk. */\n#ifdef STATEMENT_ENUM\nenum %s {\n", kind
	for (i = 1; i <= count; i++)
		printf "\t%s,\n", toupper(names[i])
	printf "\t%s_COUNT\n};\n#endif\n#ifdef STATEMENT_TABLE\n", toupper(kind)
	for (i = 1; i <= count; i++) {
		body = filled(filled(filled(filled(bodies[i], pieces), pieces), pieces), word)
		holes_check(names[i], body)
		gsub(/\\/, "&&", body)
		gsub(/"/, "\\\"", body)
		printf "\t[%s] = {\"%s\", \"%s\", %s},\n", toupper(names[i]), names[i], body, flagged[i]
	}
	print "#endif"
	exit failed
}
