# sql.awk - turns the named blocks of .sql files into C: an enum of statements and a table of their texts.
# A block begins with `-- name: NAME`; comment lines are dropped, white space is folded. Usage: awk -f sql.awk *.sql
function finish() {
	if (name != "") {
		gsub(/\\/, "&&", body)
		gsub(/"/, "\\\"", body)
		sub(/^ /, "", body)
		sub(/ *$/, "", body)
		entry[++count] = "\t[" toupper(name) "] = {\"" name "\", \"" body "\"},"
		names = names "\t" toupper(name) ",\n"
	}
}
/^-- name: / {
	finish()
	name = $3
	body = ""
	next
}
{
	sub(/--( .*)?$/, "")
	gsub(/[ \t]+/, " ")
	if ($0 != "" && $0 != " ")
		body = body " " $0
}
END {
	finish()
	printf "/* Made from the .sql files by engine/sql.awk. */\n#ifdef STATEMENT_ENUM\nenum %s {\n%s\t%s_COUNT\n};\n#endif\n", \
		kind, names, toupper(kind)
	printf "#ifdef STATEMENT_TABLE\n"
	for (i = 1; i <= count; i++)
		print entry[i]
	print "#endif"
}
