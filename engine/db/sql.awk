# sql.awk - turns the named blocks of .sql files into C: an enum of statements, and a table of their texts and flags.
# With each goes the number of columns of the rows that it answers, 0 for none: no answer may have another.
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
# Columns of a list that ends with the statement, its parenthesis, or at FROM or UNION.
function list_columns(text,    n, depth, i, c, quoted) {
	n = 1
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		if (c == "'")
			quoted = !quoted
		if (quoted)
			continue
		depth += (c == "(") - (c == ")")
		if (depth < 0 || c == ";" || (depth == 0 && c == " " && substr(text, i, 8) ~ /^ (FROM|UNION|WHERE|LIMIT) /))
			break
		n += depth == 0 && c == ","
	}
	return n
}
# Columns of the rows of one statement; 0: it answers none.
function statement_columns(text,    i, c, depth) {
	sub(/^[ (]+/, "", text)
	if (text ~ /^WITH /) { # the first SELECT that stands in no parenthesis
		for (i = 1; i <= length(text); i++) {
			c = substr(text, i, 1)
			depth += (c == "(") - (c == ")")
			if (depth == 0 && substr(text, i, 8) == " SELECT ")
				break
		}
		text = substr(text, i + 1)
	}
	if (text ~ /^SHOW /)
		return 2
	if (text ~ /^(INSERT|DELETE) .* RETURNING /) {
		sub(/^.* RETURNING /, "", text)
		return list_columns(text)
	}
	if (text !~ /^SELECT / || text ~ / INTO [a-z@]/)
		return 0
	sub(/^SELECT (DISTINCT )?/, "", text)
	sub(/^[a-z]+\.\* FROM \( ?SELECT /, "", text) # all columns of a table that is a statement itself
	if (text ~ /^([a-z]+\.)?\*/)
		wrong("columns are named, not *: " text)
	return list_columns(text)
}
# Every statement of a compound that answers rows answers as many columns.
function columns(name, text,    n, i, parts, one, found) {
	if (text !~ /^BEGIN /)
		return statement_columns(text)
	n = split(text, parts, /;|( (THEN|ELSE|DO|BEGIN) )/)
	for (i = 1; i <= n; i++) {
		one = statement_columns(parts[i])
		if (one && found && one != found)
			wrong(name ": its answers have " found " columns and " one)
		found = one ? one : found
	}
	return found + 0
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
		answered = columns(names[i], body)
		gsub(/\\/, "&&", body)
		gsub(/"/, "\\\"", body)
		printf "\t[%s] = {\"%s\", \"%s\", %s, %d},\n", toupper(names[i]), names[i], body, flagged[i],
		       answered
	}
	print "#endif"
	exit failed
}
