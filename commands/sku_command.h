/* sku_command.h - the command `sku`: stops the sale of a sku, and lets it go on. */
#ifndef SKU_COMMAND_H
#define SKU_COMMAND_H

int sku_run(void); /* an exit status */

#endif
