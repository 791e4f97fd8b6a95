#ifndef ECHO_H
#define ECHO_H

#include <stddef.h>

#define ECHO_REQUEST 1
#define ECHO_ANSWER 2
#define ECHO_HEADER 3

/*
 * Makes the answer to a message of which `received` bytes have come.
 * Returns the length of the answer, or 0 if there is none or it does not fit into `size` bytes.
 */
size_t echo_answer(const unsigned char *message, size_t received, unsigned char *answer, size_t size);

/* Makes a request. Returns its length, or 0 if it does not fit into `size` bytes. */
size_t echo_request(const unsigned char *payload, size_t length, unsigned char *message, size_t size);

#endif
