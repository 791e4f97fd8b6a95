#include "textfit.h"

#include <string.h>

#define DOTS "..."
#define DOTS_LENGTH 3

/* Tells whether a byte is the second or a later one of its character. */
static int is_inside(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

size_t text_characters(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text++)
        if (!is_inside(*text))
            count++;
    return count;
}

/* Returns how many bytes of a text to keep: whole characters, and no more than `room`. */
static size_t keep(const char *text, size_t room)
{
    size_t length = strlen(text);

    if (length <= room)
        return length;
    while (room > 0 && is_inside(text[room]))
        room--;
    return room;
}

int text_fit(char *field, size_t size, const char *text)
{
    size_t length = strlen(text);
    size_t kept;

    if (size == 0)
        return length > 0;

    if (length < size) {
        memcpy(field, text, length + 1);
        return 0;
    }

    if (size <= DOTS_LENGTH) {
        kept = keep(text, size - 1);
        memcpy(field, text, kept);
        field[kept] = '\0';
        return 1;
    }

    kept = keep(text, size - 1 - DOTS_LENGTH);
    memcpy(field, text, kept);
    memcpy(field + kept, DOTS, DOTS_LENGTH + 1);
    return 1;
}
