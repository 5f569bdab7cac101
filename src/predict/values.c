#include "predict/values.h"

#include <string.h>

#include "base/memory.h"
#include "credence/number.h"

crd_status crd_parse_bbox(const char *name, const char *text, int64_t limits[6])
{
    const char *at = text;
    for (int i = 0; i < 6; i++) {
        const size_t length = strcspn(at, ":,");
        const char behind = i == 5 ? '\0' : i % 2 == 0 ? ':' : ',';
        if (!crd_parse_int(at, length, &limits[i]) || at[length] != behind) {
            return crd_fail(CRD_ERR_ARGUMENT, "%s must be z0:z1,y0:y1,x0:x1, not '%s'", name, text);
        }
        at += length + (i < 5);
    }
    return CRD_OK;
}

int64_t crd_pairs_room(const char *text)
{
    int64_t count = 1;
    for (; *text != '\0'; text++) count += *text == ',';
    return count;
}

static crd_status bad_pairs(const char *name, const char *text)
{
    return crd_fail(CRD_ERR_ARGUMENT,
                    "%s must be pairs of percentiles such as 33-67, low before high, in 0 .. 100, "
                    "not '%s'",
                    name, text);
}

crd_status crd_parse_pairs(const char *name, const char *text, int64_t room, crd_percent_pair *pairs, int64_t *count)
{
    const char *at = text;
    for (*count = 0; *count < room; at++) {
        const size_t length = strcspn(at, ","), dash = strcspn(at, "-");
        crd_percent_pair *p = &pairs[*count];
        if (dash >= length || !crd_parse_real(at, dash, &p->low) ||
            !crd_parse_real(at + dash + 1, length - dash - 1, &p->high) ||
            !(p->low >= 0.0 && p->low < p->high && p->high <= 100.0)) {
            return bad_pairs(name, text);
        }
        if (p->high <= 1.0) {
            return crd_fail(CRD_ERR_ARGUMENT,
                            "%s: percentiles go from 0 to 100, so %g-%g is next to nothing; did you mean %g-%g?", name,
                            p->low, p->high, 100.0 * p->low, 100.0 * p->high);
        }
        for (int64_t i = 0; i < *count; i++) {
            if (pairs[i].low != p->low || pairs[i].high != p->high) continue;
            return crd_fail(CRD_ERR_ARGUMENT, "%s: %g-%g is there twice", name, p->low, p->high);
        }
        ++*count;
        at += length;
        if (*at == '\0') return CRD_OK;
    }
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be one pair of percentiles such as 33-67, not '%s'", name, text);
}

crd_status crd_check_bbox(const char *name, const char *text)
{
    int64_t limits[6];
    return crd_parse_bbox(name, text, limits);
}

crd_status crd_check_pair(const char *name, const char *text)
{
    crd_percent_pair pair;
    int64_t count;
    return crd_parse_pairs(name, text, 1, &pair, &count);
}

crd_status crd_check_pairs(const char *name, const char *text)
{
    crd_status status = CRD_OK;
    const int64_t room = crd_pairs_room(text);
    crd_percent_pair *pairs = NULL;
    int64_t count;
    CRD_TRY(crd_alloc(room, sizeof *pairs, "pairs of percentiles", &pairs));
    CRD_TRY(crd_parse_pairs(name, text, room, pairs, &count));
done:
    crd_free(&pairs);
    return status;
}
