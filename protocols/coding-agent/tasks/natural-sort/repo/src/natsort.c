#include "natsort.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Reads a run of digits and moves behind it. */
static uint32_t read_number(const char **at)
{
    uint32_t number = 0;

    while (is_digit(**at)) {
        number = number * 10 + (uint32_t)(**at - '0');
        (*at)++;
    }
    return number;
}

int nat_compare(const char *a, const char *b)
{
    const char *x = a;
    const char *y = b;

    while (*x != '\0' && *y != '\0') {
        if (is_digit(*x) && is_digit(*y)) {
            uint32_t left = read_number(&x);
            uint32_t right = read_number(&y);

            if (left != right)
                return left < right ? -1 : 1;
        } else {
            if (*x != *y)
                return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
            x++;
            y++;
        }
    }
    if (*x != '\0' || *y != '\0')
        return *x == '\0' ? -1 : 1;

    /* The same but for leading zeros, or the same altogether. */
    return strcmp(a, b);
}

static int compare_items(const void *a, const void *b)
{
    return nat_compare(*(const char *const *)a, *(const char *const *)b);
}

void nat_sort(const char **names, size_t count)
{
    qsort(names, count, sizeof *names, compare_items);
}
