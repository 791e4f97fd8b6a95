#ifndef TEXTFIT_H
#define TEXTFIT_H

#include <stddef.h>

/* Returns the number of characters (not bytes) in a text. */
size_t text_characters(const char *text);

/*
 * Copies a text into a field of `size` bytes, the zero byte at its end included.
 *
 * A text that does not fit is cut, and "..." stands in place of the rest, if the field has room for that (4 bytes);
 * a smaller field takes the start of the text without dots. A field of no bytes takes nothing.
 * The text is valid UTF-8. Returns 1 if the text was cut, else 0.
 */
int text_fit(char *field, size_t size, const char *text);

#endif
