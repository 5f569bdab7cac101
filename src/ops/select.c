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

static crd_ops complete[TABLES], complete_bf16;
static pthread_once_t completed = PTHREAD_ONCE_INIT;

static void fill(crd_ops *ops, const crd_ops *from)
{
#define FILL(slot)                                                                                                     \
    if (ops->slot == NULL) ops->slot = from->slot
    FILL(scratch_bytes);
    FILL(conv_forward);
    FILL(keep_bytes);
    FILL(conv_keep);
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
    FILL(softmax_probability);
    FILL(softmax_loss);
    FILL(summarise);
    FILL(entropy);
#undef FILL
}

static void complete_tables(void)
{
    for (int i = 0; i < TABLES; i++) {
        complete[i] = *tables[i];
        fill(&complete[i], &crd_ops_portable);
    }
#ifdef CRD_HAVE_X86
    complete_bf16 = crd_ops_avx512_bf16;
    fill(&complete_bf16, &complete[0]); /* of avx512 */
#endif
}

static bool automatic(const char *name)
{
    return name == NULL || strcmp(name, "auto") == 0;
}

crd_status crd_ops_select(const char *name, const crd_ops **out)
{
    pthread_once(&completed, complete_tables);
    for (int i = 0; i < TABLES; i++) {
        if (!automatic(name) && strcmp(name, complete[i].name) != 0) continue;
        if (crd_cpu_has(complete[i].level)) {
            *out = &complete[i];
            return CRD_OK;
        }
        if (!automatic(name))
            return crd_fail(CRD_ERR_UNSUPPORTED, "this CPU can't run the \"%s\" instructions; use --isa auto", name);
    }
    return crd_fail(CRD_ERR_ARGUMENT, "there is no instruction path \"%s\"; use auto, avx512, avx2 or portable", name);
}

crd_status crd_ops_select_bf16(const char *name, const crd_ops **out)
{
    const crd_ops *same;
    if (!automatic(name)) {
        CRD_PASS(crd_ops_select(name, &same)); /* is there such a path? */
        if (strcmp(name, "avx512") != 0) {
            return crd_fail(CRD_ERR_UNSUPPORTED,
                            "the instruction path \"%s\" computes in f32 only; bf16 needs --isa avx512", name);
        }
    }
    pthread_once(&completed, complete_tables);
    if (complete_bf16.version != 0 && crd_cpu_has(complete_bf16.level)) {
        *out = &complete_bf16;
        return CRD_OK;
    }
    return crd_fail(CRD_ERR_UNSUPPORTED,
                    "this CPU has no instructions for bf16 (AVX512_BF16); leave out --precision to compute in f32");
}
