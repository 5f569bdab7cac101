#include <ctype.h>
#include <string.h>

#include "credence/settings.h"

enum { LONGEST_WORD = 63, FAR = 1000 };

static int plain(char letter)
{
    return letter == '_' ? '-' : tolower((unsigned char)letter);
}

static int smallest(int a, int b, int c)
{
    const int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Letters to add, drop, change or swap with their neighbour to turn one word into the other. */
static int edit_distance(const char *a, const char *b)
{
    int rows[3][LONGEST_WORD + 1];
    const size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > LONGEST_WORD || b_length > LONGEST_WORD) return FAR;
    int *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_length; j++) last[j] = (int)j;
    for (size_t i = 1; i <= a_length; i++) {
        now[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            const int changed = plain(a[i - 1]) != plain(b[j - 1]);
            now[j] = smallest(last[j] + 1, now[j - 1] + 1, last[j - 1] + changed);
            if (i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) && plain(a[i - 2]) == plain(b[j - 1])) {
                now[j] = smallest(now[j], before[j - 2] + 1, FAR);
            }
        }
        int *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[b_length];
}

const char *crd_nearest_name(const char *word, const char *const *names, size_t count)
{
    const size_t length = strlen(word);
    /* A third of the letters may be wrong; more would be guessing. */
    int best = (int)(length / 3) + 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        int distance = edit_distance(word, names[i]);
        /* "--kl-temp" is short for "--kl-temperature", however many letters are missing. */
        if (length >= 3 && distance > 1 && strncmp(word, names[i], length) == 0) distance = 1;
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
