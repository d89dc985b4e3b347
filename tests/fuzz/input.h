/* input.h - what every fuzz target shares. A target is one file, fuzz_NAME.c: what it holds of any bytes stands at its
 * top, and a broken promise is a failed assert. `make fuzz` builds and runs them; tests/fuzz/corpus/NAME has the inputs
 * that are worth keeping, which `make check` runs again. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include "engine/base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* The bytes and a NUL behind them, in memory that ends there. The caller's to free. */
char *input_text(const uint8_t *data, size_t size);
/* The path of a file in memory that holds the bytes; until the next call. */
const char *input_file(const uint8_t *data, size_t size);

#endif
