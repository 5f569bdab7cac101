#include "draw/colour.h"

#include <math.h>

const uint32_t crd_class_colours[CRD_CLASS_COLOURS] = {0x00e0ff, 0xff9e1b, 0x3c0fa5, 0x870000, 0x2d96e1, 0xf0ffa5,
                                                       0xf01e0f, 0x3c00ff, 0xb47887, 0x96c396, 0xa53c78, 0x784bb4,
                                                       0xb4fff0, 0x00872d, 0x690f5a, 0xffd200};

static double clamp(double x)
{
    return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
}

/* Oklab (Ottosson 2020) to linear sRGB. */
static void to_linear(double lightness, double a, double b, double rgb[3])
{
    const double l = lightness + 0.3963377774 * a + 0.2158037573 * b;
    const double m = lightness - 0.1055613458 * a - 0.0638541728 * b;
    const double s = lightness - 0.0894841775 * a - 1.2914855480 * b;
    const double l3 = l * l * l, m3 = m * m * m, s3 = s * s * s;
    rgb[0] = 4.0767416621 * l3 - 3.3077115913 * m3 + 0.2309699292 * s3;
    rgb[1] = -1.2684380046 * l3 + 2.6097574011 * m3 - 0.3413193965 * s3;
    rgb[2] = -0.0041960863 * l3 - 0.7034186147 * m3 + 1.7076147010 * s3;
}

static uint8_t encode(double linear)
{
    const double x = clamp(linear), gamma = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1.0 / 2.4) - 0.055;
    return (uint8_t)lrint(gamma * 255.0);
}

/* The largest chroma, up to what was wished, that the screen can show at this lightness and hue. */
static void colour_at(double lightness, double chroma, double hue, double rgb[3])
{
    for (; chroma > 0.0; chroma -= 0.002) {
        to_linear(lightness, chroma * cos(hue), chroma * sin(hue), rgb);
        if (fmin(rgb[0], fmin(rgb[1], rgb[2])) >= 0.0 && fmax(rgb[0], fmax(rgb[1], rgb[2])) <= 1.0) return;
    }
    to_linear(lightness, 0.0, 0.0, rgb);
}

/* The relative luminance of a CIE lightness of 0 .. 100. */
static double luminance(double lightness)
{
    const double root = (lightness + 16.0) / 116.0;
    return lightness > 8.0 ? root * root * root : lightness / 903.3;
}

void crd_colour_map(uint8_t rgb[CRD_COLOURS][3])
{
    const double pi = acos(-1.0);
    for (int i = 0; i < CRD_COLOURS; i++) {
        const double t = (double)i / (CRD_COLOURS - 1), wanted = luminance(1.0 + 95.0 * t);
        const double chroma = 0.19 * sin(pi * (0.04 + 0.92 * t)) + 0.02, hue = (-75.0 + 180.0 * t) * pi / 180.0;
        double low = 0.0, high = 1.0, linear[3] = {0};
        for (int round = 0; round < 40; round++) { /* halves the range of Oklab lightness */
            const double middle = 0.5 * (low + high);
            colour_at(middle, chroma, hue, linear);
            const double found = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
            if (found < wanted)
                low = middle;
            else
                high = middle;
        }
        for (int k = 0; k < 3; k++) rgb[i][k] = encode(linear[k]);
    }
}
