#include "train/intervals/shifts.h"

#include <stdio.h>

/* Noise, drift: in standard deviations of the scan; blur, grain: in voxels. Trained on are noise up to 0.67, blur up to
 * 0.8, sharpening up to 0.8, bends up to 0.15, drift of up to 0.1, each for a quarter of the pieces
 * (train/data/grey.c): most of these are stronger, sharpening and drift by far, or join what seldom comes together. */
typedef struct shift {
    double noise, grain, blur, sharpen, bend, drift;
} shift;

static const shift shifts[CRD_SHIFTS] = {
    {.noise = 0.0},
    {.blur = 0.9},
    {.blur = 1.3},
    {.blur = 1.6},
    {.bend = 0.05},
    {.bend = -0.05},
    {.noise = 0.5, .grain = 0.8},
    {.noise = 0.6, .sharpen = 0.7},
    {.noise = 0.8, .sharpen = 1.2},
    {.noise = 1.5, .sharpen = 0.8},
    {.sharpen = 1.0, .drift = 0.3},
    {.sharpen = 0.8, .drift = 0.8},
    {.sharpen = 0.7, .drift = 1.1},
    {.noise = 0.9, .blur = 0.9, .bend = 0.06, .drift = 0.6},
    {.noise = 0.7, .blur = 0.9, .bend = -0.15, .drift = 0.4},
    {.noise = 1.0, .blur = 1.3, .drift = 1.3},
};

void crd_shift_name(int number, char *text, int64_t room)
{
    const shift *s = &shifts[number];
    const struct {
        const char *name;
        double value;
    } parts[] = {{"noise", s->noise},     {"grain", s->grain}, {"blur", s->blur},
                 {"sharpen", s->sharpen}, {"bend", s->bend},   {"drift", s->drift}};
    int64_t used = 0;
    snprintf(text, (size_t)room, "none");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && used < room; i++) {
        if (parts[i].value == 0.0) continue;
        used += snprintf(text + used, (size_t)(room - used), "%s%s %g", used > 0 ? ", " : "", parts[i].name,
                         parts[i].value);
    }
}

crd_grey_change crd_shift_of(int number, int64_t place, const int64_t size[3], double deviation)
{
    const shift *s = &shifts[number];
    crd_grey_change change = CRD_GREY_SAME;
    change.blur = s->blur;
    change.sharpen = s->sharpen;
    change.bend = s->bend;
    change.noise = s->noise * deviation;
    change.grain = s->grain;
    for (int axis = 0; axis < 3 && s->drift > 0.0; axis++) {
        /* A third of a turn for every axis and a fifth for every window: no two windows have the same. */
        change.drift[axis] = (crd_grey_wave){.height = s->drift * deviation * 0.8, /* three waves of it: deviation 1 */
                                             .length = 2.0 * (double)size[axis],
                                             .phase = (double)axis / 3.0 + (double)(place % 5) / 5.0};
    }
    return change;
}
