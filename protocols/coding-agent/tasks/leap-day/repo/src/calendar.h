#ifndef CALENDAR_H
#define CALENDAR_H

/* The year in which the chip's counter begins. */
#define CAL_FIRST_YEAR 1980

struct cal_date {
    int year;
    int month; /* 1 to 12 */
    int day;   /* 1 to 31 */
};

/* Returns 1 for a leap year, else 0. */
int cal_is_leap(int year);

/* Returns how many days a month has, or 0 if there is no such month. */
int cal_days_in_month(int year, int month);

/* Turns a counter (0 is 1 January 1980) into a date. Returns 0, or -1 for a negative counter. */
int cal_from_counter(long counter, struct cal_date *date);

/* Turns a date into a counter. Returns -1 if there is no such date or it lies before 1980. */
long cal_to_counter(const struct cal_date *date);

#endif
