/* Reads `date COUNTER` or `counter YEAR MONTH DAY`, prints the answer on one line. */
#include <stdio.h>
#include <string.h>

#include "calendar.h"

int main(void)
{
    char what[16];
    long counter;
    struct cal_date date = {0, 0, 0};

    if (scanf("%15s", what) != 1)
        return 2;
    if (strcmp(what, "date") == 0 && scanf("%ld", &counter) == 1) {
        if (cal_from_counter(counter, &date) != 0)
            printf("none\n");
        else
            printf("%d-%02d-%02d\n", date.year, date.month, date.day);
        return 0;
    }
    if (strcmp(what, "counter") == 0 && scanf("%d %d %d", &date.year, &date.month, &date.day) == 3) {
        printf("%ld\n", cal_to_counter(&date));
        return 0;
    }
    return 2;
}
