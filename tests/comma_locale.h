/* A locale with a decimal comma, as a host program may have set one. tests/cli/test_locale.sh makes one where none is
 * installed. */
#ifndef CRD_TESTS_COMMA_LOCALE_H
#define CRD_TESTS_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

static inline bool set_comma_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "da_DK.UTF-8", "de_DE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (setlocale(LC_ALL, names[i]) != NULL) return true;
    }
    return false;
}

#endif
