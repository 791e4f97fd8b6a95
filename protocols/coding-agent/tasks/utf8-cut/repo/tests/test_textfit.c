#include <stdio.h>
#include <string.h>

#include "textfit.h"

static int failures;

static void expect(const char *text, size_t size, const char *expected, int cut)
{
    char field[64] = "untouched";
    int got = text_fit(field, size, text);

    if (strcmp(field, expected) != 0 || got != cut) {
        printf("FAIL %s in %u: got %s (%d), expected %s (%d)\n", text, (unsigned)size, field, got, expected, cut);
        failures++;
    }
}

int main(void)
{
    expect("Server is down", 32, "Server is down", 0);
    expect("Server is down", 15, "Server is down", 0);
    expect("Server is down", 14, "Server is ...", 1);
    expect("Server is down", 4, "...", 1);
    expect("Server is down", 3, "Se", 1);
    expect("Serwer nie działa", 32, "Serwer nie działa", 0);
    expect("", 1, "", 0);
    if (text_characters("Kraków") != 6) {
        printf("FAIL Kraków has 6 characters\n");
        failures++;
    }
    if (failures == 0)
        printf("all passed\n");
    return failures != 0;
}
