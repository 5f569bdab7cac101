#include "predict/settings_text.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/settings/row.h"
#include "net/net.h"

static crd_status bad_pairs(const char *name, const char *text)
{
    return crd_fail(CRD_ERR_ARGUMENT,
                    "%s must be pairs of percentiles such as 33-67, low before high, in 0 .. 100, "
                    "not '%s'",
                    name, text);
}

crd_status crd_pairs_check(const char *name, const char *text, const crd_pair_list *pairs, int64_t most)
{
    for (int64_t k = 0; k < pairs->count; k++) {
        const crd_pair *p = &pairs->items[k];
        char own[64];
        snprintf(own, sizeof own, "%g-%g", p->low, p->high);
        if (!(p->low >= 0.0 && p->low < p->high && p->high <= 100.0)) return bad_pairs(name, text != NULL ? text : own);
        if (p->high <= 1.0) {
            return crd_fail(CRD_ERR_ARGUMENT,
                            "%s: percentiles go from 0 to 100, so %g-%g is next to nothing; did you mean %g-%g?", name,
                            p->low, p->high, 100.0 * p->low, 100.0 * p->high);
        }
        for (int64_t i = 0; i < k; i++) {
            if (pairs->items[i].low != p->low || pairs->items[i].high != p->high) continue;
            return crd_fail(CRD_ERR_ARGUMENT, "%s: %g-%g is there twice", name, p->low, p->high);
        }
    }
    if (pairs->count <= most) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be one pair of percentiles such as 33-67, not '%s'", name,
                    text != NULL ? text : "several");
}

static crd_status check_text(const char *name, const char *text, int64_t most)
{
    crd_pair_list pairs = {NULL, 0};
    crd_status status = crd_pairs_parse(name, text, &pairs);
    if (status == CRD_ERR_ARGUMENT) return bad_pairs(name, text);
    if (status == CRD_OK) status = crd_pairs_check(name, text, &pairs, most);
    crd_free(&pairs.items);
    return status;
}

crd_status crd_check_eights(const char *name, const char *text)
{
    const int64_t step = crd_net_step(NULL);
    for (const char *at = text;; at++) {
        int64_t value;
        const size_t width = strcspn(at, ",");
        if (!crd_parse_int(at, width, &value) || value % step != 0) {
            return crd_fail(CRD_ERR_ARGUMENT, "%s must be a multiple of %lld%s, not %s", name, (long long)step,
                            strchr(text, ',') != NULL ? " along every axis" : "", text);
        }
        at += width;
        if (*at == '\0') return CRD_OK;
    }
}

crd_status crd_check_pair(const char *name, const char *text)
{
    return check_text(name, text, 1);
}

crd_status crd_check_pairs(const char *name, const char *text)
{
    return check_text(name, text, INT64_MAX);
}
