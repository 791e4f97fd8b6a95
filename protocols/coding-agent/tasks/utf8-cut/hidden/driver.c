/* Reads `fit SIZE TEXT` or `characters 0 TEXT`, prints the answer on one line. */
#include <stdio.h>
#include <string.h>

#include "textfit.h"

int main(void)
{
    char line[1024];
    char field[1024];
    char what[16];
    unsigned size;
    int start = 0;
    int cut;

    if (fgets(line, sizeof line, stdin) == NULL)
        return 2;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%15s %u%n", what, &size, &start) != 2 || line[start] != ' ' || size + 2 > sizeof field)
        return 2;
    if (strcmp(what, "characters") == 0) {
        printf("%lu\n", (unsigned long)text_characters(line + start + 1));
        return 0;
    }
    memset(field, '#', sizeof field);
    cut = text_fit(field, size, line + start + 1);
    /* Nothing may be written beyond the field. */
    if (field[size] != '#')
        printf("beyond ");
    if (size == 0)
        printf("%s\n", cut ? "cut" : "whole");
    else if (memchr(field, '\0', size) == NULL)
        printf("no end\n");
    else
        printf("%s [%s]\n", cut ? "cut" : "whole", field);
    return 0;
}
