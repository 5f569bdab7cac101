#include "draw/ticks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* "10" with an exponent above. */
static void add_power(char text[CRD_TICK_BYTES], int exponent)
{
    static const char *const digits[] = {"\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",
                                         "\xe2\x81\xb4", "\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7",
                                         "\xe2\x81\xb8", "\xe2\x81\xb9"};
    char plain[8];
    size_t used = strlen(text);
    snprintf(plain, sizeof plain, "%d", exponent);
    used += (size_t)snprintf(text + used, CRD_TICK_BYTES - used, "10");
    for (const char *p = plain; *p != '\0'; p++) {
        used +=
            (size_t)snprintf(text + used, CRD_TICK_BYTES - used, "%s", *p == '-' ? "\xe2\x81\xbb" : digits[*p - '0']);
    }
}

/* So many decimals, a dot in every locale, and a minus that is as wide as a digit. */
static void format(double value, int decimals, const char *unit, char text[CRD_TICK_BYTES])
{
    snprintf(text, CRD_TICK_BYTES, "%s%.*f%s", value < 0.0 ? "\xe2\x88\x92" : "", decimals, fabs(value), unit);
    for (char *p = text; *p != '\0'; p++) {
        if (*p == ',') *p = '.';
    }
}

static int exponent_of(double value)
{
    return (int)floor(log10(value) + 1e-9);
}

/* Every tick with the decimals that the step needs. Large and small ones in thousands, millions, or with a power. */
static void write_linear(crd_ticks *t, double step)
{
    const double most = fmax(fabs(t->value[0]), fabs(t->value[t->count - 1]));
    const int lowest = exponent_of(step), highest = most > 0.0 ? exponent_of(most) : lowest;
    const bool power = highest < -3 || highest >= 9;
    const int shift = power ? highest : highest >= 6 && lowest >= 5 ? 6 : highest >= 4 && lowest >= 2 ? 3 : 0;
    const int decimals = lowest < shift ? shift - lowest : 0;
    for (int i = 0; i < t->count; i++) {
        const double value = t->value[i] / pow(10.0, shift);
        const bool zero = t->value[i] == 0.0;
        format(value, zero && shift != 0 ? 0 : decimals,
               zero         ? ""
               : power      ? "\xc3\x97"
               : shift == 6 ? "M"
               : shift == 3 ? "k"
                            : "",
               t->text[i]);
        if (power && !zero) add_power(t->text[i], shift);
    }
}

static void choose_powers(double *low, double *high, int most, bool widen, crd_ticks *out)
{
    const double first = widen ? floor(log10(*low) + 1e-9) : ceil(log10(*low) - 1e-9);
    double last = widen ? ceil(log10(*high) - 1e-9) : floor(log10(*high) + 1e-9);
    if (last <= first && widen) last = first + 1.0;
    const double step = fmax(1.0, ceil((last - first + 1.0) / most));
    const bool powers = fmax(fabs(first), fabs(last)) > 3.0;
    for (double e = step * ceil(first / step); e <= last && out->count < CRD_TICKS_MAX; e += step, out->count++) {
        out->value[out->count] = pow(10.0, e);
        if (powers && e != 0.0) {
            add_power(out->text[out->count], (int)e);
        } else {
            format(pow(10.0, e), e < 0.0 ? (int)-e : 0, "", out->text[out->count]);
        }
    }
    if (!widen) return;
    *low = pow(10.0, first);
    *high = pow(10.0, last);
}

/* How many multiples of `step` there are; `first` is the number of the lowest. */
static double count_steps(double low, double high, double step, bool widen, double *first)
{
    *first = widen ? floor(low / step + 1e-9) : ceil(low / step - 1e-9);
    const double last = widen ? ceil(high / step - 1e-9) : floor(high / step + 1e-9);
    return last - *first + 1.0;
}

void crd_ticks_choose(double *low, double *high, int most, bool log, bool widen, crd_ticks *out)
{
    static const double factors[] = {1.0, 2.0, 5.0};
    memset(out, 0, sizeof *out);
    most = most < 2 ? 2 : most > CRD_TICKS_MAX ? CRD_TICKS_MAX : most;
    if (log) {
        choose_powers(low, high, most, widen, out);
        return;
    }
    const double size = fmax(fabs(*low), fabs(*high));
    if (!(*high - *low > 1e-12 * size)) { /* one value: some room around it */
        const double room = size > 0.0 ? 0.1 * size : 1.0;
        *low -= room;
        *high += room;
    }
    double step = 0.0, first = 0.0, count = 0.0;
    int exponent = exponent_of((*high - *low) / most);
    for (int i = 0; i < 12; i++) { /* one of the next steps fits */
        step = factors[i % 3] * pow(10.0, exponent + i / 3);
        count = count_steps(*low, *high, step, widen, &first);
        if (count <= (double)most) break;
    }
    for (; out->count < (int)count; out->count++) {
        const double value = (first + out->count) * step;
        out->value[out->count] = value == 0.0 ? 0.0 : value; /* never -0 */
    }
    if (out->count == 0) return;
    write_linear(out, step);
    if (!widen) return;
    *low = out->value[0];
    *high = out->value[out->count - 1];
}
