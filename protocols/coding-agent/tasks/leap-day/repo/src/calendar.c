#include "calendar.h"

int cal_is_leap(int year)
{
    if (year % 400 == 0)
        return 1;
    if (year % 100 == 0)
        return 0;
    return year % 4 == 0;
}

int cal_days_in_month(int year, int month)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    if (month < 1 || month > 12)
        return 0;
    if (month == 2 && cal_is_leap(year))
        return 29;
    return days[month - 1];
}

int cal_from_counter(long counter, struct cal_date *date)
{
    int year = CAL_FIRST_YEAR;
    int month = 1;
    long day = counter + 1; /* within what is left, from 1 */

    if (counter < 0)
        return -1;

    /* Whole years first. */
    while (day > 365) {
        int length = cal_is_leap(year) ? 366 : 365;

        if (day > length) {
            day -= length;
            year++;
        }
    }

    /* Then whole months. */
    while (day > cal_days_in_month(year, month)) {
        day -= cal_days_in_month(year, month);
        month++;
    }

    date->year = year;
    date->month = month;
    date->day = (int)day;
    return 0;
}

long cal_to_counter(const struct cal_date *date)
{
    long counter = 0;
    int year;
    int month;

    if (date->year < CAL_FIRST_YEAR)
        return -1;
    if (date->day < 1 || date->day > cal_days_in_month(date->year, date->month))
        return -1;

    for (year = CAL_FIRST_YEAR; year < date->year; year++)
        counter += cal_is_leap(year) ? 366 : 365;
    for (month = 1; month < date->month; month++)
        counter += cal_days_in_month(date->year, month);
    return counter + date->day - 1;
}
