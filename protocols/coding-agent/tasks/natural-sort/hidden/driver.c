/* Reads `sort NAME NAME ...` and prints the sorted names, or `compare NAME NAME` and prints the order. */
#include <stdio.h>
#include <string.h>

#include "natsort.h"

#define NAMES_MAX 16

int main(void)
{
    static char text[NAMES_MAX + 1][256];
    const char *names[NAMES_MAX];
    size_t count = 0;
    size_t i;
    int order;

    while (count <= NAMES_MAX && scanf("%255s", text[count]) == 1)
        count++;
    if (count < 3 || count > NAMES_MAX)
        return 2;
    for (i = 1; i < count; i++)
        names[i - 1] = text[i];
    if (strcmp(text[0], "compare") == 0) {
        order = nat_compare(names[0], names[1]);
        printf("%s\n", order < 0 ? "before" : order > 0 ? "after" : "same");
        return 0;
    }
    nat_sort(names, count - 1);
    for (i = 0; i + 1 < count; i++)
        printf(i > 0 ? " %s" : "%s", names[i]);
    printf("\n");
    return 0;
}
