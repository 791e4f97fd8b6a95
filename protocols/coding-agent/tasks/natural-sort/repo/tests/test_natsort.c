#include <stdio.h>
#include <string.h>

#include "natsort.h"

static int failures;

/* Expects `a` before `b`, and the other way round for the other order. */
static void expect_before(const char *a, const char *b)
{
    if (nat_compare(a, b) >= 0 || nat_compare(b, a) <= 0) {
        printf("FAIL %s does not come before %s\n", a, b);
        failures++;
    }
}

int main(void)
{
    const char *names[] = {"page 10", "page 9", "cover", "page 1"};
    const char *sorted[] = {"cover", "page 1", "page 9", "page 10"};
    size_t i;

    expect_before("a", "b");
    expect_before("page 9", "page 10");
    expect_before("IMG_0412.jpg", "IMG_0413.jpg");
    expect_before("v1.9.0", "v1.10.0");
    expect_before("page", "page 1");
    expect_before("page 07", "page 8");
    if (nat_compare("page 9", "page 9") != 0) {
        printf("FAIL a name differs from itself\n");
        failures++;
    }
    nat_sort(names, 4);
    for (i = 0; i < 4; i++) {
        if (strcmp(names[i], sorted[i]) != 0) {
            printf("FAIL %s stands in the place of %s\n", names[i], sorted[i]);
            failures++;
        }
    }
    if (failures == 0)
        printf("all passed\n");
    return failures != 0;
}
