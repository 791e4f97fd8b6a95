/* Reads `split LINE` or `again LINE` (split it, then join the fields), prints the answer on one line. */
#include <stdio.h>
#include <string.h>

#include "csvline.h"

int main(void)
{
    char line[1024];
    char joined[1024];
    char *fields[CSV_FIELDS_MAX];
    int count;
    int i;

    if (fgets(line, sizeof line, stdin) == NULL || strlen(line) < 6)
        return 2;
    line[strcspn(line, "\n")] = '\0';
    count = csv_split(line + 6, fields);
    if (count < 0) {
        printf("refused\n");
        return 0;
    }
    if (strncmp(line, "again ", 6) == 0) {
        if (csv_join(fields, count, joined, sizeof joined) != 0)
            return 2;
        printf("%s\n", joined);
        return 0;
    }
    for (i = 0; i < count; i++)
        printf("[%s]", fields[i]);
    printf("\n");
    return 0;
}
