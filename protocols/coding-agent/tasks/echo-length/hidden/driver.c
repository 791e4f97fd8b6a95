/*
 * Reads `answer SIZE BYTES`: the message's bytes in hexadecimal, `-` for none. Prints the answer in the same way,
 * `nothing` if there is none. Behind the message lie bytes that belong to somebody else, all 53 ("S").
 */
#include <stdio.h>
#include <string.h>

#include "echo.h"

int main(void)
{
    static unsigned char memory[1 << 18];
    static unsigned char answer[1 << 17];
    char text[4096];
    unsigned size;
    size_t received = 0;
    size_t length;
    size_t i;

    memset(memory, 'S', sizeof memory);
    if (scanf("answer %u %4095s", &size, text) != 2 || size > sizeof answer)
        return 2;
    for (i = 0; text[0] != '-' && text[i] != '\0' && text[i + 1] != '\0'; i += 2) {
        unsigned byte;

        if (sscanf(text + i, "%2x", &byte) != 1)
            return 2;
        memory[received++] = (unsigned char)byte;
    }
    length = echo_answer(memory, received, answer, size);
    if (length == 0 || length > sizeof answer)
        printf("nothing");
    for (i = 0; i < length && i < sizeof answer; i++)
        printf("%02x", answer[i]);
    printf("\n");
    return 0;
}
