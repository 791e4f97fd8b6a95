#include "echo.h"

#include <string.h>

/* Reads two bytes, the high one first. */
static size_t read_length(const unsigned char *at)
{
    return (size_t)at[0] << 8 | at[1];
}

static void write_header(unsigned char *at, int type, size_t length)
{
    at[0] = (unsigned char)type;
    at[1] = (unsigned char)(length >> 8);
    at[2] = (unsigned char)(length & 0xFF);
}

size_t echo_request(const unsigned char *payload, size_t length, unsigned char *message, size_t size)
{
    if (length > 0xFFFF || ECHO_HEADER + length > size)
        return 0;
    write_header(message, ECHO_REQUEST, length);
    memcpy(message + ECHO_HEADER, payload, length);
    return ECHO_HEADER + length;
}

size_t echo_answer(const unsigned char *message, size_t received, unsigned char *answer, size_t size)
{
    size_t length;

    if (received < ECHO_HEADER || message[0] != ECHO_REQUEST)
        return 0;

    length = read_length(message + 1);
    if (length > received - ECHO_HEADER || ECHO_HEADER + length > size)
        return 0;

    write_header(answer, ECHO_ANSWER, length);
    memcpy(answer + ECHO_HEADER, message + ECHO_HEADER, length);
    return ECHO_HEADER + length;
}
