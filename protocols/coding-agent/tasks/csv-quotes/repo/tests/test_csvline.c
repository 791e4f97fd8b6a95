#include <stdio.h>
#include <string.h>

#include "csvline.h"

static int failures;

/* Splits a line and compares its fields, which are given with `/` between them. */
static void expect(const char *text, const char *expected)
{
    char line[256];
    char got[256] = "";
    char *fields[CSV_FIELDS_MAX];
    int count;
    int i;

    strcpy(line, text);
    count = csv_split(line, fields);
    if (count < 0)
        strcpy(got, "refused");
    for (i = 0; i < count; i++) {
        strcat(got, i > 0 ? "/" : "");
        strcat(got, fields[i]);
    }
    if (strcmp(got, expected) != 0) {
        printf("FAIL %s: got %s, expected %s\n", text, got, expected);
        failures++;
    }
}

int main(void)
{
    char *fields[] = {"nut", "M8, steel", "1.5\""};
    char line[64];

    expect("a,b,c", "a/b/c");
    expect("", "");
    expect("a,,c,", "a//c/");
    expect("\"M8, steel\",12", "M8, steel/12");
    expect("\"not closed", "refused");
    if (csv_join(fields, 3, line, sizeof line) != 0 || strcmp(line, "nut,\"M8, steel\",\"1.5\"\"\"") != 0) {
        printf("FAIL join: got %s\n", line);
        failures++;
    }
    if (csv_join(fields, 3, line, 10) != -1) {
        printf("FAIL join: a line that does not fit was written\n");
        failures++;
    }
    if (failures == 0)
        printf("all passed\n");
    return failures != 0;
}
