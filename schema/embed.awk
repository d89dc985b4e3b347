# embed.awk - turns text files into C: an array of {name, text}. Usage: awk -f embed.awk FILE ..
function escaped(line) {
	gsub(/\\/, "&&", line)
	gsub(/"/, "\\\"", line)
	gsub(/[?]/, "\\?", line)    # no trigraphs
	return "\t\"" line "\\n\"\n"
}
FNR == 1 {
	if (opened++)
		printf "\t},\n"
	name = FILENAME
	sub(/.*\//, "", name)
	printf "\t{\"%s\",\n", name
}
{ printf "%s", escaped($0) }
END { printf "\t},\n" }
