#ifndef CSVLINE_H
#define CSVLINE_H

#include <stddef.h>

/* The most fields of a line. */
#define CSV_FIELDS_MAX 32

/*
 * Splits a line into fields, in place: the fields point into the line.
 * The line has no line feed at its end. An empty line is one empty field.
 * Returns the number of fields, or -1 if there are more than CSV_FIELDS_MAX or a quote is not closed.
 */
int csv_split(char *line, char *fields[CSV_FIELDS_MAX]);

/*
 * Writes fields as one line, quoted where needed, with a zero byte at its end.
 * Returns 0, or -1 if the line does not fit into `size` bytes.
 */
int csv_join(char *const fields[], int count, char *line, size_t size);

#endif
