#include "ops/portable.h"

#include "backend/cpu/tables.h"

#include <pthread.h>
#include <string.h>

/* Best first. */
static const crd_ops *const tables[] = {
#ifdef CRD_HAVE_X86
    &crd_ops_avx512,
    &crd_ops_avx2,
#endif
    &crd_ops_portable,
};
enum { TABLES = sizeof tables / sizeof tables[0] };

static crd_ops complete[TABLES];
static pthread_once_t completed = PTHREAD_ONCE_INIT;

static void complete_tables(void)
{
    for (int i = 0; i < TABLES; i++) {
        crd_ops *ops = &complete[i];
        *ops = *tables[i];
#define FILL(slot)                                                                                                     \
    if (ops->slot == NULL) ops->slot = crd_ops_portable.slot
        FILL(scratch_bytes);
        FILL(conv_forward);
        FILL(conv_kernel_gradient);
        FILL(up_forward);
        FILL(up_data_gradient);
        FILL(up_kernel_gradient);
        FILL(pool_forward);
        FILL(pool_backward);
        FILL(gradient_sums);
        FILL(gradient_apply);
        FILL(border_sums);
        FILL(head_probability);
        FILL(head_loss);
        FILL(summarise);
#undef FILL
    }
}

crd_status crd_ops_select(const char *name, const crd_ops **out)
{
    pthread_once(&completed, complete_tables);
    const bool best = name == NULL || strcmp(name, "auto") == 0;
    for (int i = 0; i < TABLES; i++) {
        if (!best && strcmp(name, complete[i].name) != 0) continue;
        if (complete[i].available()) {
            *out = &complete[i];
            return CRD_OK;
        }
        if (!best)
            return crd_fail(CRD_ERR_UNSUPPORTED, "this CPU can't run the \"%s\" instructions; use --isa auto", name);
    }
    return crd_fail(CRD_ERR_ARGUMENT, "there is no instruction path \"%s\"; use auto, avx512, avx2 or portable", name);
}
