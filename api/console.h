/* console.h - the console: files of the folder console/, built into the program. They say nothing of the data, and are
 * answered without a key. */
#ifndef CONSOLE_H
#define CONSOLE_H

struct request;

void get_root(struct request *r);         /* to ./console/ */
void get_console_way(struct request *r);  /* to console/ */
void get_console_page(struct request *r); /* index.html */
void get_console(struct request *r);      /* any other file, by its name */

#endif
