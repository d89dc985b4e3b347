/* show.h - the command `show`: a sku, an order, buried orders or a task, for people. */
#ifndef SHOW_H
#define SHOW_H

int show_run(void); /* an exit status */

#endif
