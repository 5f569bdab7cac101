#include "draw/font.h"

#include <stddef.h>
#include <stdint.h>

/* A path in a grid in which capitals are 28 high, small letters 20, and the base line is 0: M moves, L draws a line, C
 * a cubic curve with two control points, h and v a quarter of an ellipse that leaves the last point horizontally
 * (vertically) and arrives the other way. */
typedef struct letter {
    uint32_t sign;
    int advance;
    const char *path;
} letter;

static const letter letters[] = {
    {' ', 10, ""},
    {'!', 10, "M5 28L5 9M5 0L5 1"},
    {'"', 14, "M4 28L4 20M10 28L10 20"},
    {'#', 24, "M9 28L6 0M18 28L15 0M3 19L22 19M2 9L21 9"},
    {'$', 22,
     "M18 21C17 24 14 25 11 25C7 25 4 23 4 20C4 16 8 15 11 14C15 13 19 12 19 8C19 4 15 3 11 3C7 3 4 5 3 8M11 30L11 -2"},
    {'%', 34, "M3 21v9 28h15 21v9 14h3 21M19 7v25 14h31 7v25 0h19 7M26 28L8 0"},
    {'&', 27, "M25 0L9 18C5 23 7 28 12 28C17 28 19 22 14 18L9 15C5 12 3 10 3 7C3 3 6 0 11 0C17 0 21 5 22 13"},
    {'\'', 8, "M4 28L4 20"},
    {'(', 13, "M10 31C3 22 3 2 10 -7"},
    {')', 13, "M3 31C10 22 10 2 3 -7"},
    {'*', 16, "M8 28L8 16M3 25L13 19M13 25L3 19"},
    {'+', 23, "M11 20L11 4M3 12L19 12"},
    {',', 10, "M5 1L5 0C5 -2 4 -4 3 -5"},
    {'-', 14, "M3 11L11 11"},
    {'.', 10, "M5 0L5 1"},
    {'/', 14, "M2 -3L12 29"},
    {'0', 22, "M3 14v11 28h19 14v11 0h3 14"},
    {'1', 22, "M5 23L12 28L12 0"},
    {'2', 22, "M4 21v11 28h18 21C18 13 7 9 4 0L19 0"},
    {'3', 22, "M4 22C5 26 7 28 11 28h18 21v11 15L8 15M11 15h19 8v11 0C7 0 4 2 3 6"},
    {'4', 22, "M15 0L15 28L3 8L20 8"},
    {'5', 22, "M17 28L6 28L5 15C7 17 9 18 11 18h19 9v11 0C7 0 4 2 3 6"},
    {'6', 22, "M18 23C17 26 15 28 12 28C6 28 3 22 3 12L3 9v11 18h19 9v11 0h3 9"},
    {'7', 22, "M3 28L19 28C13 20 9 11 8 0"},
    {'8', 22, "M11 15h4 22v11 28h18 22v11 15h3 8v11 0h19 8v11 15"},
    {'9', 22, "M4 5C5 2 7 0 10 0C16 0 19 6 19 16L19 19v11 28h3 19v11 10h19 19"},
    {':', 10, "M5 0L5 1M5 17L5 18"},
    {';', 10, "M5 1L5 0C5 -2 4 -4 3 -5M5 17L5 18"},
    {'<', 23, "M19 20L4 12L19 4"},
    {'=', 23, "M3 16L19 16M3 8L19 8"},
    {'>', 23, "M4 20L19 12L4 4"},
    {'?', 20, "M3 22C4 26 6 28 10 28h17 21C17 15 10 15 10 8M10 0L10 1"},
    {'@', 38, "M25 17C24 19 22 20 19 20h12 12v18 5h25 12M25 20L25 9v28 5h34 14v20 28h3 11v20 -6C24 -6 27 -5 29 -4"},
    {'A', 24, "M1 0L12 28L23 0M5 9L19 9"},
    {'B', 25, "M4 15L4 28L13 28h20 22v13 15L4 15L4 0L14 0h22 8v14 15"},
    {'C', 26, "M23 21C22 25 18 28 14 28h3 14v14 0C18 0 22 3 23 7"},
    {'D', 27, "M4 0L4 28L12 28h24 14v12 0L4 0"},
    {'E', 23, "M20 28L4 28L4 0L20 0M4 15L18 15"},
    {'F', 21, "M19 28L4 28L4 0M4 14L17 14"},
    {'G', 28, "M23 22C22 25 19 28 14 28h3 14v14 0C18 0 22 2 24 5L24 13L15 13"},
    {'H', 27, "M4 28L4 0M23 28L23 0M4 15L23 15"},
    {'I', 9, "M4 28L4 0"},
    {'J', 19, "M15 28L15 8v9 0h2 7"},
    {'K', 24, "M4 28L4 0M21 28L4 11M11 17L22 0"},
    {'L', 20, "M4 28L4 0L18 0"},
    {'M', 31, "M4 0L4 28L15 4L26 28L26 0"},
    {'N', 27, "M4 0L4 28L23 0L23 28"},
    {'O', 30, "M3 14v15 28h27 14v15 0h3 14"},
    {'P', 24, "M4 0L4 28L13 28h21 20v13 12L4 12"},
    {'Q', 30, "M3 14v15 28h27 14v15 0h3 14M18 7L27 -2"},
    {'R', 25, "M4 0L4 28L13 28h21 21v13 14L4 14M13 14L22 0"},
    {'S', 25, "M21 21C20 25 17 28 12 28C7 28 4 25 4 21C4 17 8 15 12 14C17 13 22 12 22 7C22 3 18 0 12 0C7 0 4 3 3 7"},
    {'T', 22, "M1 28L21 28M11 28L11 0"},
    {'U', 27, "M4 28L4 10v13 0h23 10L23 28"},
    {'V', 24, "M1 28L12 0L23 28"},
    {'W', 35, "M1 28L9 0L17 28L25 0L33 28"},
    {'X', 23, "M2 28L21 0M2 0L21 28"},
    {'Y', 22, "M1 28L11 13L21 28M11 13L11 0"},
    {'Z', 23, "M2 28L20 28L2 0L21 0"},
    {'[', 12, "M10 31L5 31L5 -7L10 -7"},
    {'\\', 14, "M2 29L12 -3"},
    {']', 12, "M2 31L7 31L7 -7L2 -7"},
    {'^', 20, "M3 16L10 28L17 16"},
    {'_', 20, "M1 -6L19 -6"},
    {'`', 12, "M4 29L8 25"},
    {'a', 21, "M4 15C5 18 7 20 10 20h17 14L17 0M17 11L9 11h3 5v9 0h17 7"},
    {'b', 22, "M4 29L4 0M4 10v12 20h19 10v12 0h4 10"},
    {'c', 20, "M18 15C17 18 14 20 11 20h3 10v11 0C14 0 17 2 18 5"},
    {'d', 22, "M18 29L18 0M18 10v10 20h3 10v10 0h18 10"},
    {'e', 21, "M3 11L18 11v11 20h3 10v11 0C14 0 17 2 18 5"},
    {'f', 12, "M12 29L11 29h5 23L5 0M1 20L11 20"},
    {'g', 22, "M18 20L18 -1v10 -8C7 -8 5 -7 4 -5M18 10v10 20h3 10v10 0h18 10"},
    {'h', 22, "M4 29L4 0M4 12v11 20h18 13L18 0"},
    {'i', 8, "M4 20L4 0M4 27L4 28"},
    {'j', 9, "M5 20L5 -4v1 -8M5 27L5 28"},
    {'k', 19, "M4 29L4 0M16 20L4 8M9 13L17 0"},
    {'l', 8, "M4 29L4 0"},
    {'m', 33, "M4 20L4 0M4 13v10 20h16 13L16 0M16 13v22 20h29 13L29 0"},
    {'n', 22, "M4 20L4 0M4 12v11 20h18 13L18 0"},
    {'o', 21, "M3 10v11 20h18 10v11 0h3 10"},
    {'p', 22, "M4 20L4 -8M4 10v12 20h19 10v12 0h4 10"},
    {'q', 22, "M18 20L18 -8M18 10v10 20h3 10v10 0h18 10"},
    {'r', 14, "M4 20L4 0M4 12v11 20L13 20"},
    {'s', 19, "M16 15C15 18 13 20 10 20C6 20 4 18 4 15C4 12 7 11 10 10C13 9 16 8 16 5C16 2 13 0 10 0C6 0 4 2 3 5"},
    {'t', 13, "M6 26L6 5v10 0L12 0M1 20L12 20"},
    {'u', 22, "M4 20L4 7v11 0h18 8M18 20L18 0"},
    {'v', 19, "M2 20L9 0L17 20"},
    {'w', 28, "M2 20L8 0L14 20L20 0L26 20"},
    {'x', 19, "M3 20L16 0M3 0L16 20"},
    {'y', 19, "M2 20L10 1M17 20L8 -5C7 -7 6 -8 3 -8"},
    {'z', 19, "M3 20L16 20L3 0L16 0"},
    {'{', 14, "M11 31h7 27L7 17v3 12h7 7L7 -3v11 -7"},
    {'|', 10, "M5 31L5 -7"},
    {'}', 14, "M3 31h7 27L7 17v11 12h7 7L7 -3v3 -7"},
    {'~', 23, "M3 10C5 14 8 15 11 12C14 9 17 10 19 14"},
    {0xb0, 15, "M3 23v7 28h12 23v7 18h3 23"},                      /* degree */
    {0xb5, 22, "M4 20L4 -8M4 7v11 0h18 8M18 20L18 0"},             /* micro */
    {0xb7, 10, "M5 12L5 13"},                                      /* middle dot */
    {0xd7, 21, "M4 5L17 18M4 18L17 5"},                            /* times */
    {0x3c3, 23, "M21 20L11 20h3 10v11 0h18 10C18 14 15 18 11 20"}, /* sigma */
    {0x2212, 23, "M3 12L19 12"},                                   /* minus */
    {0, 20, "M3 0L3 28L17 28L17 0L3 0"},                           /* any other */
};

/* Superscripts are drawn as these, smaller and higher. */
static const struct {
    uint32_t raised, sign;
} superscripts[] = {{0x2070, '0'}, {0xb9, '1'},   {0xb2, '2'},   {0xb3, '3'},   {0x2074, '4'},   {0x2075, '5'},
                    {0x2076, '6'}, {0x2077, '7'}, {0x2078, '8'}, {0x2079, '9'}, {0x207b, 0x2212}};

/* Of the grid, in ems. */
#define HIGH ((CRD_FONT_CAPITAL - CRD_FONT_PEN) / 28.0)
#define WIDE (1.07 * HIGH)

enum { APART = 1 }; /* between letters, beyond what their advances have */

/* The next sign of UTF-8 text; bytes that make no sense are signs of their own, which no letter has. */
static uint32_t next_sign(const char **words)
{
    const unsigned char *p = (const unsigned char *)*words;
    const int more = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : p[0] < 0xf5 ? 3 : 0;
    uint32_t sign = more == 0 ? p[0] : p[0] & (0x3fu >> more);
    for (int i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            *words += i;
            return UINT32_MAX;
        }
        sign = sign << 6 | (p[i] & 0x3f);
    }
    *words += more + 1;
    return more == 0 && sign >= 0x80 ? UINT32_MAX : sign;
}

static const letter *find(uint32_t sign)
{
    const letter *l = letters;
    while (l->sign != sign && l->sign != 0) l++;
    return l;
}

static double number(const char **path)
{
    int value = 0;
    while (**path == ' ') ++*path;
    const int sign = **path == '-' ? -1 : 1;
    if (sign < 0) ++*path;
    for (; **path >= '0' && **path <= '9'; ++*path) value = 10 * value + (**path - '0');
    return sign * value;
}

typedef struct placement {
    double x, y, scale;
    crd_font_pen *pen;
    void *context;
} placement;

static void put(const placement *at, bool draw, double x, double y)
{
    at->pen(at->context, draw, at->x + at->scale * WIDE * x, at->y + at->scale * HIGH * y);
}

/* From p[0] to p[3] with p[1] and p[2] as control points. */
static void curve(const placement *at, const double p[4][2])
{
    enum { PIECES = 10 };
    for (int i = 1; i <= PIECES; i++) {
        const double t = (double)i / PIECES, s = 1.0 - t;
        const double w[4] = {s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t};
        put(at, true, w[0] * p[0][0] + w[1] * p[1][0] + w[2] * p[2][0] + w[3] * p[3][0],
            w[0] * p[0][1] + w[1] * p[1][1] + w[2] * p[2][1] + w[3] * p[3][1]);
    }
}

static void draw_path(const char *path, const placement *at)
{
    static const double bend = 0.58; /* 0.5523 would be an ellipse; letters look better somewhat squarer */
    double p[4][2] = {{0}};
    while (*path != '\0') {
        const char command = *path++;
        for (int i = command == 'C' ? 1 : 3; i < 4; i++) {
            p[i][0] = number(&path);
            p[i][1] = number(&path);
        }
        if (command == 'h' || command == 'v') {
            const int along = command == 'h' ? 0 : 1, across = 1 - along;
            p[1][along] = p[0][along] + bend * (p[3][along] - p[0][along]);
            p[1][across] = p[0][across];
            p[2][along] = p[3][along];
            p[2][across] = p[3][across] + bend * (p[0][across] - p[3][across]);
        }
        if (command == 'M' || command == 'L') {
            put(at, command == 'L', p[3][0], p[3][1]);
        } else {
            curve(at, p);
        }
        p[0][0] = p[3][0];
        p[0][1] = p[3][1];
    }
}

double crd_font_draw(const char *words, crd_font_pen *pen, void *context)
{
    double x = 0.0;
    while (*words != '\0') {
        uint32_t sign = next_sign(&words);
        placement at = {x, 0.5 * CRD_FONT_PEN, 1.0, pen, context};
        for (size_t i = 0; i < sizeof superscripts / sizeof superscripts[0]; i++) {
            if (superscripts[i].raised != sign) continue;
            sign = superscripts[i].sign;
            at.scale = 0.68;
            at.y += 13.0 * HIGH;
            break;
        }
        const letter *l = find(sign);
        if (pen != NULL) draw_path(l->path, &at);
        x += at.scale * WIDE * (l->advance + APART);
    }
    return x;
}

double crd_font_width(const char *words)
{
    return crd_font_draw(words, NULL, NULL);
}
