/* manual.c - see manual.h. */
#include "commands/manual.h"
#include "commands/options.h"
#include "engine/base/log.h"
#include "engine/base/text.h"

#include <stdio.h>

/* How a value is asked for: it says which words a shell offers. */
enum value { NONE, WORD, PATH, FOLDER };

/* What the file of a service shows instead of the default. `set`: the line is no comment. */
static const struct of_a_service {
	enum option option;
	const char *value;
	bool        set;
} of_a_service[] = {{OPTION_data, "/var/lib/holdfast/var", false}, {OPTION_jobs, "expire,reap,deliver", true}};

static enum value value_of(const struct option_row *o)
{
	if (o->type == IS_MAYBE || o->type == IS_FLAG)
		return NONE;
	return strcmp(o->arg, "FILE") == 0 ? PATH : strcmp(o->arg, "DIR") == 0 ? FOLDER : WORD;
}

/* max_body -> max-body */
static const char *dashed(const char *name, char to[FLAG_SIZE])
{
	return flag_name(to, name) + strlen("--");
}

/* ---- the manual page */

/* A dash is a minus, and a line may begin with anything (groff_char(7)). */
static void roff(const char *words)
{
	for (const char *c = words; *c; c++)
		if (*c == '-' || *c == '\\')
			printf(*c == '-' ? "\\-" : "\\e");
		else if ((*c == '.' || *c == '\'') && (c == words || c[-1] == '\n'))
			printf("\\&%c", *c);
		else
			putchar(*c);
}

static void man_option(const struct option_row *e)
{
	char name[FLAG_SIZE];

	printf(".TP\n.B \\-\\-");
	roff(dashed(e->name, name));
	if (e->arg)
		printf(value_of(e) == NONE ? "\\fR[=\\fI" : " \\fI"), roff(e->arg),
			printf(value_of(e) == NONE ? "\\fR]" : "\\fR");
	printf("\n");
	roff(e->help);
	if (e->standard)
		printf(" ("), roff(e->standard), printf(")");
	printf("\n");
}

static void man_command(const struct command *c)
{
	printf(".SS holdfast %s ", c->name);
	roff(c->operands);
	printf("\n");
	roff(c->summary);
	printf(".\n");
	for (size_t i = 0; i < OPTIONS; i++)
		if (option_rows[i].commands & c->mask && option_rows[i].commands != ALL)
			man_option(&option_rows[i]);
	printf(".PP\n.nf\n");
	roff(c->examples);
	printf(".fi\n");
}

static void man_print(const struct command *commands)
{
	printf(".TH HOLDFAST 1 \"\" \"holdfast " HOLDFAST_VERSION "\" \"Holdfast\"\n"
	       ".SH NAME\nholdfast \\- inventory reservations that are never promised twice\n"
	       ".SH SYNOPSIS\n.B holdfast\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIOPERANDS\\fR]\n"
	       ".SH DESCRIPTION\n"
	       "Holdfast holds, confirms and settles units of stock for orders. It serves JSON over HTTP, and keeps\n"
	       "its tables in a MariaDB of its own or in one of yours. The documents are in\n"
	       ".IR /usr/share/doc/holdfast .\n"
	       ".SH OPTIONS OF ALL COMMANDS\n");
	for (size_t i = 0; i < OPTIONS; i++)
		if (option_rows[i].commands == ALL)
			man_option(&option_rows[i]);
	printf(".SH COMMANDS\n");
	for (const struct command *c = commands; c->name; c++)
		man_command(c);
	printf(".SH ENVIRONMENT\n"
	       "Every option may be given as a variable: \\fBHOLDFAST_MAX_BODY\\fR stands for "
	       "\\fB\\-\\-max\\-body\\fR.\n"
	       "The command line has precedence, then the environment, then the file of \\fB\\-\\-config\\fR.\n"
	       "A variable \\fBHOLDFAST_\\fR.. that names no option ends the program with 78.\n"
	       ".SH FILES\n"
	       ".TP\n.I /etc/holdfast/holdfast.conf\noptions of the service under systemd\n"
	       ".TP\n.I /var/lib/holdfast/var\nits private database\n"
	       ".SH EXIT STATUS\n"
	       ".TP\n%d\ndone\n.TP\n%d\nthe answer is no: a breach, a bad row, nothing of this name\n"
	       ".TP\n%d\nthe command line is wrong\n.TP\n%d\nthe database cannot be reached\n"
	       ".TP\n%d\nan option, a file or the machine is not as it must be; another try is of no use\n",
	       EXIT_DONE, EXIT_TROUBLE, EXIT_USAGE, EXIT_UNAVAILABLE, EXIT_CONFIG);
}

/* ---- completions */

/* Prints the words in lower case of a usage text: "stock|movements" -> " stock movements". */
static void operands_print(const char *operands)
{
	for (const char *c = operands; *c;) {
		size_t len = strcspn(c, " |[]");

		if (len > 0 && strspn(c, "abcdefghijklmnopqrstuvwxyz") == len)
			printf(" %.*s", (int)len, c);
		c += len + (c[len] != '\0');
	}
}

static void bash_print(const struct command *commands)
{
	char name[FLAG_SIZE];

	printf("# Completion of holdfast for bash.\n"
	       "_holdfast() {\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
	       "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\twords='");
	for (const struct command *c = commands; c->name; c++)
		printf("%s%s", c == commands ? "" : " ", c->name);
	printf("'\n\telse\n\t\tcase $before in\n");
	for (enum value v = PATH; v <= FOLDER; v++) {
		const char *between = "\t\t";

		for (size_t i = 0; i < OPTIONS; i++)
			if (value_of(&option_rows[i]) == v)
				printf("%s--%s", between, dashed(option_rows[i].name, name)), between = "|";
		printf(") mapfile -t COMPREPLY < <(compgen -%c -- \"$word\"); return ;;\n", v == PATH ? 'f' : 'd');
	}
	printf("\t\tesac\n\t\tcase ${COMP_WORDS[1]} in\n");
	for (const struct command *c = commands; c->name; c++) {
		printf("\t\t%s) words='--help", c->name);
		for (size_t i = 0; i < OPTIONS; i++)
			if (option_rows[i].commands & c->mask)
				printf(" --%s", dashed(option_rows[i].name, name));
		operands_print(c->operands);
		printf("' ;;\n");
	}
	printf("\t\tesac\n\tfi\n"
	       "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
	       "}\n"
	       "complete -o default -F _holdfast holdfast\n");
}

/* What stands in a description of _arguments(1): no quote, bracket or colon. */
static void zsh_words(const char *words)
{
	for (const char *c = words; *c; c++)
		if (*c == '\'')
			printf("'\\''");
		else
			printf(strchr("[]:\\", *c) ? "\\%c" : "%c", *c);
}

static void zsh_option(const struct option_row *e)
{
	static const char *const actions[] = {
		[NONE] = "", [WORD] = ": :", [PATH] = ":file:_files", [FOLDER] = ":folder:_files -/"};
	char name[FLAG_SIZE];

	printf(" \\\n\t\t'--%s%s[", dashed(e->name, name), value_of(e) != NONE ? "=" : "");
	zsh_words(e->help);
	printf("]%s'", actions[value_of(e)]);
}

static void zsh_print(const struct command *commands)
{
	printf("#compdef holdfast\n# Completion of holdfast for zsh.\n_holdfast() {\n"
	       "\tlocal -a commands=(");
	for (const struct command *c = commands; c->name; c++)
		printf("\n\t\t'%s:", c->name), zsh_words(c->summary), printf("'");
	printf(")\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
	       "\tlocal command=$words[2]\n\twords=(\"${(@)words[2,-1]}\")\n\t(( CURRENT-- ))\n\tcase $command in\n");
	for (const struct command *c = commands; c->name; c++) {
		printf("\t%s)\n\t\t_arguments '--help[its options and examples]'", c->name);
		for (size_t i = 0; i < OPTIONS; i++)
			if (option_rows[i].commands & c->mask)
				zsh_option(&option_rows[i]);
		printf(" \\\n\t\t'*: :(");
		operands_print(c->operands);
		printf(" )' ;;\n");
	}
	printf("\tesac\n}\n_holdfast \"$@\"\n");
}

/* ---- the file of options */

/* Prints the words as lines of a comment, 110 columns at most. */
static void comment_print(const char *words)
{
	size_t column = 0;

	while (*words) {
		size_t len = strcspn(words, " ");

		if (column == 0 || column + 1 + len > 110)
			column = (size_t)printf("%s#", column ? "\n" : "") - (column ? 1 : 0);
		column += (size_t)printf(" %.*s", (int)len, words);
		words += len + strspn(words + len, " ");
	}
	printf("\n");
}

static void conf_option(int option)
{
	const struct option_row *e = &option_rows[option];
	const char              *value = e->standard ? e->standard : e->arg ? e->arg : "yes";
	bool                     set = false;

	for (size_t k = 0; k < LENGTH(of_a_service); k++)
		if ((int)of_a_service[k].option == option) {
			value = of_a_service[k].value;
			set = of_a_service[k].set;
		}
	printf("\n");
	comment_print(e->help);
	printf("%s%s = %s\n", set ? "" : "# ", e->name, value);
}

static void conf_print(const struct command *commands)
{
	(void)commands;
	printf("# Options of the service under systemd: `name = value`. A line that is a comment has the default.\n"
	       "# The command line and the environment (HOLDFAST_LISTEN for listen) have precedence.\n"
	       "# `systemctl restart holdfast` takes changes over. A \"..\" keeps a # in a value.\n");
	for (int i = 0; i < OPTIONS; i++)
		if (option_rows[i].commands & SERVE && i != OPTION_config)
			conf_option(i);
}

int manual_run(const struct command *commands)
{
	static const char *const words[] = {"man", "bash", "zsh", "conf"};
	static void (*const prints[])(const struct command *) = {man_print, bash_print, zsh_print, conf_print};

	for (size_t i = 0; i < LENGTH(words) && operand(0); i++)
		if (strcmp(operand(0), words[i]) == 0) {
			prints[i](commands);
			return EXIT_DONE;
		}
	return operand_wrong(operand(0), words, LENGTH(words), "manual needs one of man, bash, zsh, conf");
}
