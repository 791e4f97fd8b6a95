#include "natsort.h"

#include <stdlib.h>
#include <string.h>

static int is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Compares two runs of digits by their value, whatever their length, and moves behind both. */
static int compare_numbers(const char **a, const char **b)
{
    const char *x = *a;
    const char *y = *b;
    size_t left = 0;
    size_t right = 0;

    while (*x == '0')
        x++;
    while (*y == '0')
        y++;
    while (is_digit(x[left]))
        left++;
    while (is_digit(y[right]))
        right++;
    *a = x + left;
    *b = y + right;

    /* Without leading zeros the longer number is the greater one. */
    if (left != right)
        return left < right ? -1 : 1;
    return memcmp(x, y, left);
}

int nat_compare(const char *a, const char *b)
{
    const char *x = a;
    const char *y = b;

    while (*x != '\0' && *y != '\0') {
        if (is_digit(*x) && is_digit(*y)) {
            int order = compare_numbers(&x, &y);

            if (order != 0)
                return order;
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
