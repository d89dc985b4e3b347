# embed.awk - turns text files into C: an array of {name, text}. Usage: awk -f engine/db/words.awk -f embed.awk [LIST.def ..] FILE ..
function escaped(line) {
	gsub(/\\/, "&&", line)
	gsub(/"/, "\\\"", line)
	return "\t\"" line "\\n\"\n"
}
FNR == 1 {
	if (opened++)
		printf "\t},\n"
	name = FILENAME
	sub(/.*\//, "", name)
	printf "\t{\"%s\",\n", name
}
{ printf "%s", escaped(filled(filled(filled($0, pieces), pieces), word)) }
END { printf "\t},\n" }
