# words.awk - for sql.awk: what stands in braces in .sql files. Lists (.def) come first:
#   X(NAME, 2, "word", ..)          {word} becomes 2, and {LIST} of LIST.def 'word', .. (or OWN(..), as X)
#   X(type member, member, TEXT, r.column)   of NAME.def: {NAME_columns} lists the columns
#   X(TEXT, name)                   of fill.def: {name} is filled in when the statement is sent
# and then .sql files with pieces:
#   -- piece: NAME                  a text that stands in others as {NAME}; comment lines are dropped, white space is folded
FILENAME ~ /\.def$/ {
	list = FILENAME
	sub(/.*\//, "", list)
	sub(/\.def$/, "", list)
	if (/^(X|OWN)\([A-Z_]+, *[0-9]+, *"[a-z_]+"/) {
		split($0, part, /[(,"][ "]*/)
		word["{" part[4] "}"] = part[3]
		piece_add("{" list "}", "'" part[4] "'")
	}
	if (/^X\((NUMBER|TIME|TEXT), *[a-z_]+\)/) {
		split($0, part, /[(,)] */)
		parameter["{" part[3] "}"] = 1
	}
	if (/^X\([a-z].*, *[a-z_]+, *(CODE|NUMBER|HASH|TIME|TEXT), /) {
		column = $0
		sub(/ *\/\*.*$/, "", column)
		sub(/\)$/, "", column)
		sub(/^.*(CODE|NUMBER|HASH|TIME|TEXT), */, "", column)
		piece_add("{" list "_columns}", column)
	}
	next
}
/^-- (piece|name): / { piece = $2 == "piece:" ? "{" $3 "}" : "" }
piece != "" {
	sub(/--( .*)?$/, "")
	gsub(/[ \t]+/, " ")
	sub(/ $/, "")
	if (pieces[piece] == "")
		sub(/^ /, "")
	else if (!/^ /)
		sub(/^./, " &")
	pieces[piece] = pieces[piece] $0
	next
}
function piece_add(hole, text) {
	pieces[hole] = pieces[hole] (pieces[hole] == "" ? "" : ", ") text
}
# The text with every hole of `words` filled.
function filled(text, words,    hole, at, out) {
	for (hole in words) {
		out = ""
		while ((at = index(text, hole)) > 0) {
			out = out substr(text, 1, at - 1) words[hole]
			text = substr(text, at + length(hole))
		}
		text = out text
	}
	return text
}
