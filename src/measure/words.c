/* What people call a property. */
#include <stdio.h>
#include <string.h>

#include "credence/measure.h"

/* "along z" and the like come behind it; what is indented belongs to the one before. */
static const struct {
    const char *name, *words;
} words[] = {
    {"volume_fraction", "volume fraction"},
    {"specific_surface", "specific surface"},
    {"specific_surface_mesh", "  by marching cubes"},
    {"mean_curvature", "mean curvature"},
    {"euler_6", "Euler number, 6 neighbours"},
    {"euler_26", "Euler number, 26 neighbours"},
    {"euler_density_6", "Euler density, 6 neighbours"},
    {"euler_density_26", "Euler density, 26 neighbours"},
    {"components", "components"},
    {"largest_share", "share of the largest"},
    {"closed_share", "share of closed ones"},
    {"percolates", "percolates"},
    {"percolating_share", "share that percolates"},
    {"mean_intercept", "mean intercept"},
    {"thickness_mean", "local thickness"},
    {"thickness_std", "  deviation"},
    {"thickness_median", "  median"},
    {"thickness_max", "  largest"},
    {"d_rel", "D_rel"},
    {"tortuosity_factor", "tortuosity factor"},
    {"formation_factor", "formation factor"},
};

/* Properties between phases, whose names end with them: "interface_area_0-2". */
static const struct {
    const char *begin, *words;
} between[] = {
    {"interface_area_", "interface"}, {"triple_line_", "triple line"}, {"active_triple_line_", "active line"}};

const char *crd_property_words(const char *name, char *out, size_t size)
{
    const size_t whole = strlen(name);
    const bool along = whole > 2 && name[whole - 2] == '_' && strchr("zyx", name[whole - 1]) != NULL;
    const size_t length = along ? whole - 2 : whole;
    char end[16] = "";
    if (along) snprintf(end, sizeof end, " along %c", name[whole - 1]);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].name) != length || strncmp(words[i].name, name, length) != 0) continue;
        snprintf(out, size, "%s%s", words[i].words, end);
        return out;
    }
    for (size_t i = 0; i < sizeof between / sizeof between[0]; i++) {
        const size_t begin = strlen(between[i].begin);
        if (strncmp(between[i].begin, name, begin) != 0) continue;
        snprintf(out, size, "%s %.*s%s", between[i].words, (int)(length - begin), name + begin, end);
        return out;
    }
    return NULL;
}
