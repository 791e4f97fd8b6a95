#ifndef NATSORT_H
#define NATSORT_H

#include <stddef.h>

/* Compares two names. Returns a negative number, 0 or a positive number, as strcmp does. */
int nat_compare(const char *a, const char *b);

/* Sorts names. */
void nat_sort(const char **names, size_t count);

#endif
