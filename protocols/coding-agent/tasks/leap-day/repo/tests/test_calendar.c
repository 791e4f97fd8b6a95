#include <stdio.h>

#include "calendar.h"

static int failures;

static void expect(long counter, int year, int month, int day)
{
    struct cal_date date = {0, 0, 0};

    if (cal_from_counter(counter, &date) != 0 || date.year != year || date.month != month || date.day != day) {
        printf("FAIL %ld: got %d-%02d-%02d, expected %d-%02d-%02d\n", counter, date.year, date.month, date.day, year,
               month, day);
        failures++;
    } else if (cal_to_counter(&date) != counter) {
        printf("FAIL %d-%02d-%02d: got %ld, expected %ld\n", year, month, day, cal_to_counter(&date), counter);
        failures++;
    }
}

int main(void)
{
    struct cal_date date;

    expect(0, 1980, 1, 1);
    expect(59, 1980, 2, 29);
    expect(60, 1980, 3, 1);
    expect(366, 1981, 1, 1);
    expect(730, 1981, 12, 31);
    expect(10000, 2007, 5, 19);
    if (cal_from_counter(-1, &date) != -1) {
        printf("FAIL -1: a negative counter has a date\n");
        failures++;
    }
    if (failures == 0)
        printf("all passed\n");
    return failures != 0;
}
