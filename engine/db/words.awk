# words.awk - for sql.awk and schema/embed.awk: what stands in braces in .sql files. Lists (.def) come first:
#   X(NAME, 2, "word", ..)      {word} becomes 2
FILENAME ~ /\.def$/ {
	if (/^X\([A-Z_]+, *[0-9]+, *"[a-z]+"/) {
		split($0, part, /[(,"][ "]*/)
		word["{" part[4] "}"] = part[3]
	}
	if (/^X\((NUMBER|TIME|TEXT), *[a-z_]+\)/) {
		split($0, part, /[(,)] */)
		parameter["{" part[3] "}"] = 1
	}
	next
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
