#include "csvline.h"

#include <string.h>

/*
 * Takes the field at `*at`, which begins with a quote, and moves `*at` to the next field.
 * Returns 1 if there is a next field, 0 if this was the last, -1 if the quote is not closed.
 */
static int take_quoted(char **at)
{
    char *from = *at + 1;
    char *to = *at;
    int more;

    for (;;) {
        if (*from == '\0')
            return -1;
        if (*from == '"') {
            if (from[1] != '"')
                break;
            from++; /* the first of two that stand for one */
        }
        *to++ = *from++;
    }
    from++;

    /* Whatever follows the closing quote belongs to the field as it is. */
    while (*from != '\0' && *from != ',')
        *to++ = *from++;
    more = *from == ',';
    *to = '\0';
    *at = from + more;
    return more;
}

/* The same for a field that does not begin with a quote. */
static int take_plain(char **at)
{
    char *comma = strchr(*at, ',');

    if (comma == NULL)
        return 0;
    *comma = '\0';
    *at = comma + 1;
    return 1;
}

int csv_split(char *line, char *fields[CSV_FIELDS_MAX])
{
    int count = 0;
    int more = 1;

    while (more == 1) {
        if (count == CSV_FIELDS_MAX)
            return -1;
        fields[count++] = line;
        more = *line == '"' ? take_quoted(&line) : take_plain(&line);
    }
    return more == 0 ? count : -1;
}

static int put(char **to, const char *end, char byte)
{
    if (*to == end)
        return -1;
    *(*to)++ = byte;
    return 0;
}

int csv_join(char *const fields[], int count, char *line, size_t size)
{
    char *to = line;
    const char *end = line + size;
    int i;

    for (i = 0; i < count; i++) {
        const char *from = fields[i];
        int quoted = strpbrk(from, ",\"") != NULL;

        if (i > 0 && put(&to, end, ',') != 0)
            return -1;
        if (quoted && put(&to, end, '"') != 0)
            return -1;
        for (; *from != '\0'; from++) {
            if (*from == '"' && put(&to, end, '"') != 0)
                return -1;
            if (put(&to, end, *from) != 0)
                return -1;
        }
        if (quoted && put(&to, end, '"') != 0)
            return -1;
    }
    return put(&to, end, '\0');
}
