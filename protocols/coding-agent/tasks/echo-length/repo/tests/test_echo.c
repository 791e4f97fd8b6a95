#include <stdio.h>
#include <string.h>

#include "echo.h"

static int failures;

static void check(int holds, const char *what)
{
    if (!holds) {
        printf("FAIL %s\n", what);
        failures++;
    }
}

int main(void)
{
    const unsigned char hello[] = {'h', 'e', 'l', 'l', 'o'};
    unsigned char message[64] = {0};
    unsigned char answer[64];
    size_t length = echo_request(hello, sizeof hello, message, sizeof message);

    check(length == 8, "a request is its header and its payload");
    check(echo_answer(message, length, answer, sizeof answer) == 8, "the answer is as long as the request");
    check(answer[0] == ECHO_ANSWER, "the answer is an answer");
    check(memcmp(answer + 1, message + 1, 7) == 0, "the payload comes back");
    check(echo_answer(message, length + 16, answer, sizeof answer) == 8, "padding does not come back");
    check(echo_answer(message, length, answer, 7) == 0, "an answer that does not fit is not sent");
    message[0] = ECHO_ANSWER;
    check(echo_answer(message, length, answer, sizeof answer) == 0, "an answer is not answered");
    if (failures == 0)
        printf("all passed\n");
    return failures != 0;
}
